"""The shape of Table 3 of Wang et al. 2025: which workloads gain by ping-pong, and which do not."""

from typing import Any

import pytest

from tests.bench.command import printed, rows

MODULE = "bench.control_flow_table"


def row(name: str, *options: str) -> dict[str, Any]:
    return next(each for each in rows(MODULE, *options) if each["name"] == name)


def change(name: str, *options: str) -> float:
    return float(row(name, *options)["change"])


@pytest.mark.slow
def test_shapes_with_large_weights_gain_most_and_compute_bound_ones_almost_nothing() -> None:
    assert -0.30 < change("FaceAlign") < -0.20
    assert -0.25 < change("wake word, asleep") < -0.10
    assert -0.25 < change("wake word, awake") < -0.10
    assert -0.20 < change("FaceDetect") < -0.10
    assert -0.05 < change("BodyDetect") < 0
    assert change("FaceAlign") < change("FaceDetect") < change("BodyDetect")


@pytest.mark.slow
def test_the_branches_of_fusiondetect_gain_as_faces_and_bodies_do() -> None:
    face, body = change("FusionDetect, face"), change("FusionDetect, body")
    assert -0.18 < face < -0.10
    assert body == pytest.approx(change("BodyDetect"), abs=0.005)
    assert row("FusionDetect, face")["published_change"] is not None
    assert face < body


@pytest.mark.slow
def test_a_tiny_graph_loses_where_two_buffers_start_more_transfers() -> None:
    assert 0 < change("tiny") < 0.10
    assert change("tiny", "--whole-memory") <= 0


@pytest.mark.parametrize("name", ["FaceAlign", "FaceDetect"])
def test_peaks_without_branches_are_the_published_ones_to_the_byte(name: str) -> None:
    """Table 1, large tensors first."""
    measured = row(name)
    assert measured["peak"] == measured["published_peak"]
    assert measured["tensors"] == pytest.approx(measured["published_tensors"], rel=0.015)


def test_the_published_changes_are_those_that_the_paper_prints() -> None:
    paper = {"FaceAlign": 28.97, "FaceDetect": 12.78, "BodyDetect": 0.62, "wake word, awake": 23.93}
    for name, percent in paper.items():
        assert -100 * row(name)["published_change"] == pytest.approx(percent, abs=0.01)


@pytest.mark.slow
def test_the_table_has_a_row_and_a_line_for_each_shape() -> None:
    lines, names = printed(MODULE).splitlines(), [each["name"] for each in rows(MODULE)]
    assert len(lines) == 2 + len(names) + 1 + len(names)
    assert lines[0].count("|") == lines[2].count("|") == lines[9].count("|")
    for name, line in zip(names, lines[2:], strict=False):
        assert line.startswith(f"| {name} |")
