"""A study as an evaluation section: its parts in their order, known figures, names that are no markup."""

import re

from reports.study.markdown import study_markdown
from reports.study.page import figures
from tests.reports.study_sample import EVIL, designs, merged, small


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
    assert cells(text, "wrong") == ["wrong", "1"]


def test_designs_and_mergers_have_their_columns() -> None:
    assert "What each step of a field brings" in study_markdown(designs())
    assert cells(study_markdown(merged()), "exact · none")[-3:] == ["50.0%", "0.0%", "1"]


def test_figures_are_linked_where_they_are() -> None:
    names = tuple(figures(small()))
    text = study_markdown(small(), names, "plots/")
    assert re.findall(r"^!\[.*\]\((.*)\)$", text, re.MULTILINE) == [f"plots/{name}" for name in names]


def test_a_name_is_no_markup() -> None:
    assert EVIL not in study_markdown(small())
