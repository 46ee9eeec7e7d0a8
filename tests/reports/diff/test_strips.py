"""The chart of two runs: as long as their time, complete, and small however many ops there are."""

from dataclasses import replace
from fractions import Fraction

from reports.diff.difference import compare_results
from reports.diff.page import MARGIN, Strips, strips
from reports.result_file import SavedResult
from tests.reports.diff.test_difference import answer

MHZ = Fraction(1, 1000)
"""A cycle is a millisecond."""
A = answer({"c1": {"compute": 60, "weights": 20}, "c2": {"compute": 20}}, mhz=MHZ)
B = answer({"c1": {"compute": 40}, "c2": {"compute": 50, "input": 30}, "c3": {"weights": 80}}, mhz=MHZ)


def chart(a: SavedResult, b: SavedResult, width: int = 2 * MARGIN + 200) -> Strips:
    return strips(compare_results(a, b), "wide", width)


def test_bars_follow_one_another_at_one_scale_and_waits_are_low() -> None:
    found = chart(A, B).bars  # a pixel a millisecond
    above, below = found[:3], found[3:]
    assert [(bar.x - MARGIN, bar.width) for bar in above] == [(0, 60), (60, 20), (80, 20)]
    assert [(bar.x - MARGIN, bar.width) for bar in below] == [(0, 40), (40, 50), (90, 30), (120, 80)]
    assert [2 * bar.height // above[0].height for bar in found] == [2, 1, 2, 2, 2, 1, 1]
    assert len({bar.y + bar.height for bar in above}) == len({bar.y + bar.height for bar in below}) == 1
    assert below[2].title == "c2: 30 cycles waiting for an input"


def test_bands_lead_from_an_op_to_itself_with_its_number_in_the_table() -> None:
    diff = compare_results(A, B)
    assert [op.op for op in diff.ops] == ["c3", "c2", "c1"]
    bands = {band.title.partition(":")[0]: band for band in chart(A, B).bands}
    assert {name: (band.kind, band.number) for name, band in bands.items()} == {
        "c2": ("more", "2"),
        "c1": ("less", "3"),
    }
    corners = [float(corner.partition(",")[0]) - MARGIN for corner in bands["c2"].corners.split()]
    assert corners == [80, 100, 120, 40]


def test_each_core_has_a_lane_and_nothing_is_followed_across_cores() -> None:
    two = replace(A, cores=2, core_of={"c1": 0, "c2": 1})
    found = chart(A, two)
    assert [bar.x - MARGIN for bar in found.bars[3:]] == [0, 120, 0]  # two pixels a millisecond
    assert len({bar.y + bar.height for bar in found.bars[3:]}) == 2
    assert found.bands == ()
