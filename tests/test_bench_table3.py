"""The shape of S2's Table 3: which workloads gain by ping-pong, and which do not."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from bench.table3 import CHIP, SHAPES, Row, measure, table
from chipmodel.chip.chip_file import load_chip

BY_NAME = {shape.name: shape for shape in SHAPES}


@cache
def row(name: str) -> Row:
    return measure(BY_NAME[name], load_chip(CHIP))


def test_shapes_with_large_weights_gain_most_and_compute_bound_ones_almost_nothing() -> None:
    assert -0.30 < row("FaceAlign").change < -0.20
    assert -0.25 < row("wake word, asleep").change < -0.10
    assert -0.25 < row("wake word, awake").change < -0.10
    assert -0.20 < row("FaceDetect").change < -0.10
    assert -0.05 < row("BodyDetect").change < 0
    assert row("FaceAlign").change < row("FaceDetect").change < row("BodyDetect").change


def test_the_branches_of_fusiondetect_gain_as_faces_and_bodies_do() -> None:
    face, body = row("FusionDetect, face").change, row("FusionDetect, body").change
    assert -0.18 < face < -0.10
    assert body == pytest.approx(row("BodyDetect").change, abs=0.005)
    assert BY_NAME["FusionDetect, face"].times is not None
    assert face < body


def test_a_tiny_graph_loses_where_two_buffers_start_more_transfers() -> None:
    assert 0 < row("tiny").change < 0.10
    assert measure(replace(BY_NAME["tiny"], memory=None), load_chip(CHIP)).change <= 0


@pytest.mark.parametrize("name", ["FaceAlign", "FaceDetect", "FusionDetect, face"])
def test_peaks_are_the_published_ones_to_the_byte(name: str) -> None:
    """S2's Table 1 (large tensors first), and Table 2 for FusionDetect."""
    measured = row(name)
    assert measured.peak == measured.shape.peak
    assert measured.tensors == pytest.approx(measured.shape.tensors, rel=0.015)


def test_the_published_changes_are_those_that_the_paper_prints() -> None:
    printed = {"FaceAlign": 28.97, "FaceDetect": 12.78, "BodyDetect": 0.62, "wake word, awake": 23.93}
    for name, percent in printed.items():
        published = row(name).published
        assert published is not None
        assert -100 * published == pytest.approx(percent, abs=0.01)


def test_the_table_has_a_row_and_a_line_for_each_shape() -> None:
    lines = table(load_chip(CHIP))
    assert len(lines) == 2 + len(SHAPES) + 1 + len(SHAPES)
    assert lines[0].count("|") == lines[2].count("|") == lines[9].count("|")
    for shape, line in zip(SHAPES, lines[2:], strict=False):
        assert line.startswith(f"| {shape.name} |")
