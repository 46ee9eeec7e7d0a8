"""A study in sentences, as an evaluation section, and on the terminal."""

import re
from dataclasses import replace

from chipmodel.answers.study_results import StudyResults
from reports.study.markdown import study_markdown
from reports.study.methods import threats
from reports.study.page import charts_of
from reports.study.tables import page
from reports.study.words import answer, scope
from tests.reports.console import printed
from tests.reports.study_sample import EVIL, designs, merged, network, packing, small


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
        "2 plans do not fit their chip, and count by peak alone.",
    ]
    assert not any("alike" in each or "fit" in each for each in threats(small()))


def test_answers_without_comparisons_plans_and_rows() -> None:
    rows = (packing("a", "pool", 15, 10), packing("b", "pool", 22, 20))
    assert answer(StudyResults("one", rows)) == ["By peak, pool has a median gap of 30.0% on 2 cases."]
    assert answer(StudyResults("none", (network("a", None), network("b", None)), points=2)) == []
    assert answer(StudyResults("empty", (), points=5)) == ["No point has an answer yet."]


def cells(text: str, first: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.startswith(f"| {first} "))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_question_methods_result_and_threats_in_this_order() -> None:
    text = study_markdown(small())
    heads = re.findall(r"^##? (.*)$", text, re.MULTILINE)
    assert heads == ["Who packs \\<best\\>?", "Cases and methods", "Result", "Threats to validity"]
    assert "* 1 point failed.\n" in text
    assert text == study_markdown(small())


def test_planners_and_unsettled_cases_are_tables() -> None:
    """By hand, as in the test of the terminal: of four packings, the best plan of c is 330 B, bound 300 B."""
    text = study_markdown(small())
    assert cells(text, "best-fit")[:4] == ["best-fit", "5.0%", "2.5% to 7.5%", "10.0%"]
    assert "3 of 4 cases have a plan at the bound." in text
    assert cells(text, "c.csv") == ["c.csv", "10.0%", "best-fit"]
    assert cells(text, "wrong")[:2] == ["wrong", "1"]


def test_designs_and_mergers_have_their_columns() -> None:
    assert "What each step of a field brings" in study_markdown(designs())
    assert cells(study_markdown(merged()), "exact · none")[-3:] == ["50.0%", "0.0%", "1"]


def test_figures_are_linked_where_they_are() -> None:
    names = tuple(f"{name}.svg" for name in charts_of(small()))
    text = study_markdown(small(), names, "plots/")
    assert re.findall(r"^!\[.*\]\((.*)\)$", text, re.MULTILINE) == [f"plots/{name}" for name in names]


def test_a_name_is_no_markup() -> None:
    assert EVIL not in study_markdown(small())


def lines_of(study: StudyResults) -> dict[str, list[str]]:
    return {words[0]: words[1:] for line in printed(page(study)).splitlines() if (words := line.split())}


def test_planners_with_their_gaps() -> None:
    lines = lines_of(small())
    assert lines["exact"] == ["0.0%", "0.0%", "1", "+", "1", "tied", "500.0", "ms"]
    assert lines["best-fit"] == ["5.0%", "10.0%", "0", "+", "1", "tied", "1.000", "500.0", "ms"]
    assert lines["naive"] == ["150.0%", "200.0%", "0", "1.000", "500.0", "ms"]
    assert lines["wrong"] == ["1", EVIL, "naive"]


def test_a_study_that_varies_memory_has_a_table_of_memories() -> None:
    lines = lines_of(designs())
    assert lines["zoo:one"] == ["512", "KiB", "10.000", "10.000", "256", "KiB"]
    assert lines["zoo:two"] == ["256", "KiB", "20.400", "20.000", "128", "KiB"]
    assert lines["ping-pong"] == ["324.0%", "1500.0%", "10", "10.0", "ms"]
