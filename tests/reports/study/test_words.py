"""The answer in sentences, for rows made by hand."""

from dataclasses import replace

from chipmodel.answers.study_results import StudyResults
from reports.study.methods import methods, threats
from reports.study.words import answer, scope
from tests.reports.study_sample import designs, network, packing, small


def test_the_answer_of_a_small_study() -> None:
    assert scope(small()) == "12 points: 4 workloads by 3 packers."
    assert answer(small()) == [
        "12 of 13 points have an answer so far.",
        "By peak, over the 2 cases that all 3 planners answered, exact is at the bound, the best of all on "
        "2 of 2; best-fit 5.0% (p = 1.000); naive 150.0% (p = 1.000).",
        "1 point failed; the errors are below.",
    ]


def test_the_answer_of_a_design_study_begins_with_the_memory() -> None:
    words = answer(designs())
    assert words[0] == (
        "The smallest memory within 5% of the best latency: 512 KiB for zoo:one; 256 KiB for zoo:two."
    )
    assert words[1] == (
        "By cycles, over the 10 cases that both planners answered, ping-pong has a median gap of 324.0% "
        "(quartiles 300.0% and 700.0%), the best of all on 10 of 10; sync 536.0% (p = 0.002)."
    )
    assert words[2] == "By peak, large-first is at the bound on 20 cases."


def test_bounds_of_older_rows_hold_for_plans_of_an_unknown_kind() -> None:
    rows = tuple(replace(row, bound_space=None) for row in designs().rows)
    assert "which holds for plans of a kind that its row does not name." in " ".join(
        methods(StudyResults("old", rows))
    )


def test_equal_medians_are_told_apart_by_the_cases_at_the_bound() -> None:
    rows = [packing(f"{n}.csv", "exact", 100, 100) for n in range(3)]
    rows += [packing(f"{n}.csv", "naive", 110 if n == 2 else 100, 100) for n in range(3)]
    assert answer(StudyResults("tied", tuple(rows))) == [
        "By peak, over the 3 cases that both planners answered, exact is at the bound, the best of all "
        "on 3 of 3; naive 0.0%, at the bound on 2 (p = 1.000)."
    ]


def test_threats_name_cases_of_one_network_and_plans_that_do_not_fit() -> None:
    found = designs()
    large = replace(found.rows[-1], status="does not fit", total_cycles=None, lower_bound_cycles=None)
    words = threats(replace(found, rows=(*found.rows[:-2], *(replace(large, key=key) for key in ("a", "b")))))
    assert words[:2] == [
        "The 9 cases by cycles are of 2 networks, and those of one network are alike: independent cases "
        "would have larger p-values.",
        "2 plans do not fit their chip, and count by peak alone: 2 of large-first.",
    ]
    assert not any("alike" in each or "fit" in each for each in threats(small()))


def test_answers_without_comparisons_plans_and_rows() -> None:
    rows = (packing("a", "pool", 15, 10), packing("b", "pool", 22, 20))
    assert answer(StudyResults("one", rows)) == ["By peak, pool has a median gap of 30.0% on 2 cases."]
    assert answer(StudyResults("none", (network("a", None), network("b", None)), points=2)) == []
    assert answer(StudyResults("empty", (), points=5)) == ["No point has an answer yet."]
