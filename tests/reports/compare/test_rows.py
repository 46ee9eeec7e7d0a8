"""A comparison of planners: its figures, as JSON, on the terminal and as a page."""

from dataclasses import replace
from typing import cast

import pytest

from chipmodel.answers.comparison import PackerRow, PlannerComparison, StreamerRow
from chipmodel.files.document import document
from chipmodel.geometry.interval import Interval
from chipmodel.model.live_sets import unused_bytes
from chipmodel.model.plan import Buffer, Plan, Problem
from reports.compare import headline, page as page_of
from reports.table_page import render_tables
from tests.reports.console import printed

PROBLEM = Problem(
    (
        Buffer("a", 10, (Interval(0, 2),)),
        Buffer("b", 30, (Interval(1, 3),)),
        Buffer("c", 20, (Interval(2, 5),)),
    )
)
COMPARISON = PlannerComparison(
    source="a <b> & c",
    chip="luna-arcs",
    problem=PROBLEM,
    capacity=55,
    streamer="ping-pong",
    packer="large-first",
    packed=(
        PackerRow("naive", 60, 50, "feasible", 0.00001, unused=10),
        PackerRow("none", None, 50, "unknown", 2.5),
        PackerRow("exact", 50, 50, "optimal", 0.5, unused=0, nodes=7, trajectory=((0.1, 60), (0.4, 50))),
        PackerRow("pool", refused="keeps no constraints"),
    ),
    streamed=(
        StreamerRow("sync", 200, 80, 200, 0.5, 40, 300, True, True, 0.1),
        StreamerRow("ping-pong", 100, 80, 200, 0.25, 60, 300, False, True, 0.1),
        StreamerRow("other", refused="op 'x' does not fit"),
    ),
)


def test_fragmentation_by_hand() -> None:
    # c ends at 60 and lives over [2, 5); of that time most is alive at 2: b and c, 50 bytes.
    assert unused_bytes(PROBLEM, Plan({"a": 0, "b": 10, "c": 40})) == 10
    # b ends at 40: at 2 it is alive with c, and all of 50 bytes would be taken but for the hole.
    assert unused_bytes(PROBLEM, Plan({"a": 20, "b": 20 + 10, "c": 0})) == 10
    assert unused_bytes(PROBLEM, Plan({"a": 30, "b": 0, "c": 30})) == 0
    # a ends at 100 and dies before c comes: at 1 there are a and b.
    assert unused_bytes(PROBLEM, Plan({"a": 90, "b": 0, "c": 30})) == 60
    assert unused_bytes(Problem(()), Plan({})) == 0


def test_rows_are_judged_by_the_bound_and_the_capacities_that_they_share() -> None:
    judged = {row.packer: (row.gap, row.fragmentation, row.fits) for row in COMPARISON.packed}
    assert judged == {
        "naive": (0.2, pytest.approx(1 / 6), False),
        "none": (None, None, False),
        "exact": (0, 0, True),
        "pool": (None, None, False),
    }
    assert [row.gap for row in COMPARISON.streamed] == [1.5, 0.25, None]
    refused = document(COMPARISON)["packers"][3]
    assert {key: refused[key] for key in ("status", "lower_bound_bytes")} == {
        "status": None,
        "lower_bound_bytes": None,
    }


def test_the_headline() -> None:
    assert (
        headline(COMPARISON)
        == "3 buffers in the schedule of streamer ping-pong; the lowest peak is 50 B, proven optimal."
    )
    open_gap = PlannerComparison("x", "", PROBLEM, None, packed=(PackerRow("naive", 60, 50),))
    assert headline(open_gap).endswith("the lowest peak is 60 B, 20.0% above the proven lower bound.")


def test_the_terminal_ranks_by_peak_and_gives_reasons_for_refusals() -> None:
    text = printed(page_of(COMPARISON))
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert "Proven lower bound 50 B, capacity 55 B." in text
    firsts = [line.split()[0] for line in lines if line.startswith(" ") and line.split()]
    ranked = [name for name in firsts if name in ("naive", "none", "exact", "pool")]
    assert ranked == ["exact", "naive", "none", "pool"]
    row = next(line for line in lines if line.split()[:1] == ["naive"])
    assert row.split() == ["naive", "60", "50", "20.0%", "16.7%", "10", "µs", "no"]
    row = next(line for line in lines if line.split()[:1] == ["ping-pong"])
    assert row.split() == ["ping-pong", "100", "25.0%", "0.250", "50.0%", "100.0", "ms", "no"]
    assert "keeps no constraints" in " ".join(text.split())


def test_a_packer_that_searches_is_a_curve_that_steps_down() -> None:
    (chart,) = page_of(COMPARISON).charts
    curves = {trace["name"]: trace for trace in chart.chart.traces}
    assert list(zip(curves["exact"]["x"], curves["exact"]["y"], strict=True)) == [
        (0.1, 0.2), (0.4, 0.0), (COMPARISON.packed[2].seconds, 0.0)
    ]  # fmt: skip
    assert curves["exact"]["line"]["shape"] == "hv"
    assert len(curves["naive"]["x"]) == 1
    assert "pool" not in curves  # it was refused


def test_energy_has_a_column_where_a_chip_file_says_it() -> None:
    assert "µJ" not in printed(page_of(COMPARISON))
    sync, *others = COMPARISON.streamed
    known = replace(COMPARISON, streamed=(replace(sync, microjoules=1234.5), *others))
    shown = printed(page_of(known))
    assert "µJ" in shown
    assert "1,234.50" in shown
    assert ">1,234.50<" in render_tables(page_of(known))
    streamers = cast("list[dict[str, object]]", document(known)["streamers"])
    assert [each.get("microjoules") for each in streamers] == [1234.5, None, None]
