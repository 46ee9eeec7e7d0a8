"""Planners' names, shared bounds, gaps, scores: known answers by hand."""

from dataclasses import replace
from math import inf

import pytest
from hypothesis import given, strategies as st

from chipmodel.answers.study_results import (
    CYCLES,
    PEAK,
    StudyResults,
    contradictions,
    failures,
    planner_label,
    swept_values,
)
from chipmodel.answers.study_row import Point, Row
from chipmodel.model.time_bound import WITH_CASCADES, WITHOUT_CASCADES
from tests.reports.study_sample import designs, merged, merged_row, network, packing, small


def test_a_packings_best_bound_is_that_of_all_its_rows() -> None:
    study = small()
    gaps = {(row.point.workload[0], row.point.packer): PEAK.gap(row) for row in study.rows}
    assert gaps["a", "best-fit"] == pytest.approx(0.1)  # by its own bound of 90 it would be 22%
    assert gaps["c", "best-fit"] == pytest.approx(0.1)  # exact has no plan, but its bound of 300 holds
    assert gaps["c", "exact"] is None


def test_a_networks_peak_keeps_the_bound_of_its_own_schedule() -> None:
    """Another planner's schedule has other buffers: its bound does not hold for this one."""
    low = replace(network("n", 2000, packer="pool"), peak_bytes=100, peak_lower_bound_bytes=90)
    high = replace(network("n", 2000, packer="linear"), peak_bytes=300, peak_lower_bound_bytes=200)
    study = StudyResults("two", (low, high))
    assert [PEAK.bound(row) for row in study.rows] == [90, 200]
    assert all((gap := PEAK.gap(row)) is not None and gap >= 0 for row in study.rows)


def test_rows_that_packed_the_same_buffers_share_the_best_bound() -> None:
    low = replace(network("n", 2000, packer="pool"), peak_bytes=120, peak_lower_bound_bytes=90, problem="p")
    high = replace(
        network("n", 2000, packer="exact"), peak_bytes=100, peak_lower_bound_bytes=100, problem="p"
    )
    other = replace(
        network("n", 2000, packer="linear"), peak_bytes=80, peak_lower_bound_bytes=80, problem="q"
    )
    study = StudyResults("three", (low, high, other))
    assert [PEAK.bound(row) for row in study.rows] == [100, 100, 80]
    assert [row.status for row in study.rows] == ["feasible", "optimal", "optimal"]
    assert PEAK.gap(study.rows[0]) == pytest.approx(0.2)


def test_a_mergers_own_bound_tells_its_loss_from_its_packers() -> None:
    rows = merged().rows
    assert [row.merger_lower_bound_bytes for row in rows] == [100, 100, 150, 150, None]
    assert [row.merger_gap for row in rows] == [0, 0, 0.5, 0.5, None]
    assert [row.packer_gap for row in rows] == pytest.approx([0, 0.1, 0, 0.2, None])
    assert [row.status for row in rows] == ["optimal", *["feasible"] * 4]


def test_a_peak_below_its_mergers_bound_leaves_out_that_problem() -> None:
    rows = merged_row("exact", "none", 150, 90, 150), merged_row("pool", "none", 140, 90, None)
    assert [row.status for row in StudyResults("two", rows).rows] == ["failed"] * 2


def test_a_peak_below_a_bound_of_the_same_question_leaves_out_that_problem_alone() -> None:
    """What is optimal is beaten by nothing under its own heading: it would have two answers."""
    wrong = packing("a", "exact", 259_080, 259_080, "optimal"), packing("a", "large-first", 212_320, 200_000)
    others = packing("b", "exact", 90, 90, "optimal"), packing("b", "large-first", 100, 80)
    study = StudyResults("two", (*wrong, *others))
    assert [row.status for row in study.rows] == ["failed", "failed", "optimal", "feasible"]
    assert study.rows[2:] == StudyResults("one", others).rows
    ((error, rows),) = failures(study)
    assert len(rows) == 2
    assert "the peak of point " in error
    assert "212,320, is below a bound" in error
    assert "259,080" in error
    assert study.scores(PEAK)[0].gaps == (0.0,)


def test_a_row_that_beats_its_own_bound_is_known_for_it() -> None:
    (fault,) = contradictions([packing("a", "exact", 195_920, 195_968)]).values()
    assert "195,920, is below a bound, its own, 195,968. All rows of this problem" in fault
    assert "999, is below" in next(iter(contradictions([network("n", 999, 1000)]).values()))
    assert contradictions([packing("a", "exact", 5, 5)]) == {}


def test_cycles_share_the_bound_of_any_plan_on_one_chip() -> None:
    rows = (
        network("n", 2000, 1000),
        network("n", 2400, 1600, streamer="sync"),
        network("n", 9, 5, chip="other"),
    )
    study = StudyResults("three", rows)
    assert [CYCLES.bound(row) for row in study.rows] == [1600, 1600, 5]
    assert CYCLES.gap(study.rows[0]) == pytest.approx(0.25)


def test_bounds_for_other_plans_are_not_shared() -> None:
    """A plan with cascades may beat a bound for plans without them."""
    alone = network("n", 2000, 1600)
    cascades = replace(network("n", 1500, 1000, streamer="sync"), bound_space=WITH_CASCADES)
    study = StudyResults("two", (alone, cascades))
    assert [CYCLES.bound(row) for row in study.rows] == [1600, 1000]
    assert study.spaces == (WITHOUT_CASCADES, WITH_CASCADES)


def test_planners_are_compared_over_the_cases_that_all_of_them_answered() -> None:
    """Of the four packings exact has no plan for c, and naive failed on the last."""
    study = small()
    first, second, third = study.scores(PEAK)
    assert [s.planner for s in (first, second, third)] == ["exact", "best-fit", "naive"]
    assert (study.rankings["peak"].cases, study.rankings["peak"].possible) == (2, 4)
    assert [*first.gaps, *second.gaps, *third.gaps] == pytest.approx([0, 0, 0, 0.1, 1, 2])
    assert [(s.wins, s.ties, s.without) for s in (first, second, third)] == [(1, 1, 1), (0, 1, 0), (0, 0, 1)]
    assert second.quartiles == pytest.approx((0.025, 0.075))
    assert [third.within(gap) for gap in (0.5, 1.0, 2.0)] == [0, 0.5, 1]


def test_a_planner_with_a_plan_for_at_most_half_of_the_cases_is_not_ranked() -> None:
    rows = [packing(w, "p", 110, 100) for w in "abcd"] + [packing(w, "rare", 100, 100) for w in "ab"]
    found = StudyResults("s", tuple(rows)).rankings["peak"]
    assert ([s.planner for s in found.scores], found.cases, found.unranked) == (["p"], 4, ("rare",))


def test_the_median_ranks_before_the_number_of_plans_at_the_bound() -> None:
    rows = [packing(w, "steady", 110, 100) for w in "abc"]
    rows += [packing(w, "moody", peak, 100) for w, peak in zip("abc", (100, 150, 150), strict=True)]
    assert [s.planner for s in StudyResults("two", tuple(rows)).scores(PEAK)] == ["steady", "moody"]


def test_a_case_counts_the_median_of_several_seeds() -> None:
    rows = [packing("a", "search", peak, 100) for peak in (120, 150, 110)] + [packing("a", "p", 130, 100)]
    seeds = [replace(r, point=replace(r.point, seed=k), key=str(k)) for k, r in enumerate(rows[:3])]
    first, _ = StudyResults("two", (*seeds, rows[3])).scores(PEAK)
    assert first.planner == "search"
    assert first.median == pytest.approx(0.2)
    assert first.spread == pytest.approx(0.4)


def test_streamers_are_compared_on_a_network_and_packers_on_the_same_buffers() -> None:
    rows = [
        replace(
            network("n", cycles, 1000, packer=packer, streamer=streamer, buffers="same"), problem=streamer
        )
        for streamer, cycles in (("sync", 3000), ("ping-pong", 2000))
        for packer in ("pool", "naive")
    ]
    study = StudyResults("four", tuple(rows))
    assert [(s.planner, s.gaps) for s in study.scores(CYCLES)] == [("ping-pong", (1.0,)), ("sync", (2.0,))]
    assert [(s.planner, len(s.gaps)) for s in study.scores(PEAK)] == [("naive", 2), ("pool", 2)]


def test_planners_are_named_by_what_varies() -> None:
    point = Point("n", "chip", "pool", "conflict", "sync", 0)
    assert _names(point) == ["pool"]
    assert _names(point, replace(point, streamer="exact")) == ["sync", "exact"]
    assert _names(point, replace(point, packer="linear", streamer="exact")) == [
        "pool · sync",
        "linear · exact",
    ]
    # A packing has no streamer, and the rest of its name stays.
    csv = Point("a.csv", "", "pool", "", "", 0)
    assert _names(point, csv, replace(point, packer="linear")) == ["pool", "pool", "linear"]


def _names(*points: Point) -> list[str]:
    label = planner_label(points)
    return [label(Row(point, "k", "feasible", 1.0)) for point in points]


def test_streamers_are_compared_by_cycles_first() -> None:
    assert designs().metrics == (CYCLES, PEAK)
    assert small().metrics == (PEAK,)


def test_varied_fields_and_failures() -> None:
    assert swept_values(designs()) == {
        "psram.clock_mhz": ["100", "200"],
        "shared_memory.bytes": ["128KiB", "256KiB", "512KiB"],
    }
    ((error, rows),) = failures(small())
    assert error.startswith("wrong")
    assert len(rows) == 1


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 50), st.integers(1, 50)), min_size=1, max_size=40)
)
def test_no_gap_is_negative_and_shares_only_grow(found: list[tuple[int, int, int]]) -> None:
    """Whatever rows there are, as long as their bounds hold."""
    best = {w: min(peak for v, peak, _ in found if v == w) for w, _, _ in found}
    rows = [
        packing(f"{w}", f"p{k % 3}", peak, min(bound, best[w])) for k, (w, peak, bound) in enumerate(found)
    ]
    study = StudyResults("any", tuple(replace(row, key=str(k)) for k, row in enumerate(rows)))
    assert all((PEAK.gap(row) or 0) >= 0 for row in study.rows)
    for score in study.scores(PEAK):
        shares = [score.within(gap) for gap in (0, 0.1, 1, 10, inf)]
        assert shares == sorted(shares)
        assert shares[-1] == 1
