"""The answer in sentences, for rows made by hand."""

from __future__ import annotations

from dataclasses import replace

from chipmodel.answers.study_results import StudyResults
from chipmodel.answers.study_row import Row
from reports.study.words import answer, listed, scope
from tests.reports.study_sample import designs, network, packing, small


def test_the_answer_of_a_small_study() -> None:
    assert scope(small()) == "12 points: 4 workloads by 3 packers."
    assert answer(small()) == [
        "12 of 13 points have an answer so far.",
        "exact is proven optimal on 3 of 4; the best of the other 2, best-fit, is within 10.0% of the bound "
        "in the median, 25.0% at worst.",
        "1 point failed; the errors are below.",
    ]


def test_the_answer_of_a_design_study_begins_with_the_memory() -> None:
    words = answer(designs())
    assert words[0] == (
        "The smallest memory within 5% of the best latency: 512 KiB for zoo:one; 256 KiB for zoo:two."
    )
    # Of twelve points each two have no plan; the median of the rest and these.
    assert words[1] == (
        "By cycles, ping-pong is 520.0% above the bound for plans without cascades (median); the next, sync, "
        "830.0%."
    )
    assert words[2].startswith("By peak, ping-pong and sync are each proven optimal on 10 of 12")


def test_equally_good_planners_are_named_together_with_the_fastest() -> None:
    rows = tuple(
        replace(packing("a", packer, 10, 10, "optimal"), seconds=seconds)
        for packer, seconds in (("exact", 2.0), ("search", 0.004))
    )
    words = (
        "exact and search are each proven optimal on 1 of 1 (search is the fastest: 4.0 ms in the median)."
    )
    assert answer(StudyResults("two", rows)) in (
        [words],
        [words.replace("exact and search", "search and exact")],
    )


def test_answers_without_proofs_plans_and_rows() -> None:
    rows = (packing("a", "pool", 15, 10), packing("b", "pool", 22, 20))
    assert answer(StudyResults("one", rows)) == [
        "None is proven optimal; the closest, pool, is within 30.0% of the bound in the median, 50.0% "
        "at worst."
    ]
    none = (network("a", None), network("b", None), network("c", 2000))
    (_, cycles) = answer(StudyResults("three", none))
    assert cycles == "By cycles, no planner has a plan for most points."
    assert answer(StudyResults("empty", (), points=5)) == ["No point has an answer yet."]


def test_medians_that_read_the_same_are_one() -> None:
    rows: list[Row] = []
    for k, streamer in enumerate(("sync", "ping-pong", "exact", "prefetch-k")):
        rows.append(network("a", 1_000_010 + k, 1_000_000, streamer=streamer))
    rows.append(network("a", 1_500_000, 1_000_000, streamer="weight-pipeline"))
    words = answer(StudyResults("five", tuple(rows)))[0]
    assert words == (
        "By cycles, 4 of 5 planners are <0.1% above the bound for plans without cascades (median); the next, "
        "weight-pipeline, 50.0%."
    )


def test_lists_of_names_stay_short() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c", "d"]) == "a, b, c and d"
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 others"
