"""The shape of Table 3 of Wang et al. 2025: which workloads gain by ping-pong, and which do not."""

from typing import Any

import pytest

from tests.bench.command import rows

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
