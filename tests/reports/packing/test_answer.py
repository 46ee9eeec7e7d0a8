"""The answer to a packing problem: JSON, words, terminal, and the page as text."""

from dataclasses import replace

import pytest

from chipmodel.answers.packing import PackingAnswer
from chipmodel.files.document import document
from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Memory, Plan, Problem
from reports.packing import grounds, headline, page
from reports.table_page import render_tables
from reports.terminal_page import print_tables
from tests.reports.console import on_console
from tests.reports.pages import read

EVIL = "b<script>alert('x')</script>&amp;"
BUFFERS = (
    Buffer("in", 40_000, (Interval(0, 5),), pinned=0),
    Buffer(EVIL, 30_000, (Interval(3, 9), Interval(12, 15))),
    Buffer("y", 30_000, (Interval(9, 12),), 16),
    Buffer("[bold]alias[/]", 20_000, (Interval(10, 12),)),
)
MEMORIES = (Memory("fast", 0, 65_536), Memory("slow", 65_536, 200_000))
PROBLEM = Problem(BUFFERS, 200_000, MEMORIES, (("y", "[bold]alias[/]"),))
PLAN = Plan({"in": 0, EVIL: 65_536, "y": 0, "[bold]alias[/]": 0})
ANSWER = PackingAnswer("p.csv", PROBLEM, "exact", "feasible", PLAN, 70_000, 0.25)
OPTIMAL = PackingAnswer(
    "p.csv", replace(PROBLEM, capacity=None), "exact", "optimal", PLAN, 95_536, 0.25, "a live set"
)
INFEASIBLE = PackingAnswer(
    "p.csv",
    replace(PROBLEM, capacity=60_000),
    "exact",
    "infeasible",
    None,
    70_000,
    0.1,
    explanation=("in", EVIL),
)
UNKNOWN = replace(ANSWER, problem=replace(PROBLEM, capacity=80_000), status="unknown")
EMPTY = PackingAnswer("none.csv", Problem(()), "exact", "optimal", Plan({}), 0, 0.0)


def printed(answer: PackingAnswer, width: int = 80) -> str:
    return on_console(lambda console: print_tables(page(answer), console), width)


def test_without_a_plan_there_is_no_peak_and_no_gap() -> None:
    answer = document(INFEASIBLE)
    assert (answer["peak_bytes"], answer["gap"], answer["offsets"], answer["fits"]) == (
        None,
        None,
        None,
        False,
    )
    assert answer["explanation"] == ["in", EVIL]
    assert document(EMPTY)["gap"] == 0
    assert document(EMPTY)["largest_live_set"] is None


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            ANSWER,
            "4 buffers fit in 95,536 B (93.3 KiB), 47.8% of 200,000 B (195.3 KiB); a plan with 24.9 KiB",
        ),
        (OPTIMAL, "4 buffers fit in 95,536 B (93.3 KiB); no plan needs less."),
        (INFEASIBLE, "2 of them with 70,000 B (68.4 KiB) are alive at once"),
        (replace(INFEASIBLE, problem=replace(PROBLEM, capacity=90_000)), "fits 90,000 B (87.9 KiB)."),
        (replace(INFEASIBLE, problem=replace(PROBLEM, capacity=None)), "keeps all constraints"),
        (UNKNOWN, "it is not proven that there is none. The best one found needs 95,536 B (93.3 KiB)"),
        (replace(UNKNOWN, plan=None), "it is not proven that there is none."),
        (EMPTY, "0 buffers fit in 0 B; no plan needs less."),
    ],
)
def test_the_answer_in_words(answer: PackingAnswer, words: str) -> None:
    assert words in headline(answer)
    assert f"Status {answer.status}, by packer exact: {grounds(answer)}." in " ".join(printed(answer).split())


def test_the_summary_is_narrow_and_takes_names_as_they_are() -> None:
    for answer in (ANSWER, OPTIMAL, INFEASIBLE, UNKNOWN, EMPTY):
        text = printed(answer)
        assert max(map(len, text.splitlines())) <= 80
    assert "[bold]alias[/]" in printed(replace(ANSWER, problem=Problem(BUFFERS[3:])))
    assert "Cannot be placed together: 2 buffers" in printed(INFEASIBLE)
    assert "40,000   [0, 5)" in printed(INFEASIBLE)


def test_names_are_text_and_never_markup() -> None:
    for answer in (ANSWER, INFEASIBLE):
        reader = read(render_tables(page(answer)))
        assert [tag for tag, _ in reader.tags].count("script") == 4
        assert EVIL in "".join(reader.text)


def test_every_constraint_and_reason_is_named() -> None:
    text = "".join(read(render_tables(page(ANSWER))).text)
    for words in (
        "1 pinned",
        "1 colocated group",
        "65,536 to 200,000 B",
        "a plan that passes the check",
        "slow",
    ):
        assert words in text
    assert "a live set" in "".join(read(render_tables(page(OPTIMAL))).text)


def many(n: int) -> PackingAnswer:
    buffers = tuple(Buffer(f"tensor{i}/out", 64 * (i % 97 + 1), (Interval(i, i + 9),)) for i in range(n))
    plan = Plan({b.name: (i % 9) * 6_208 for i, b in enumerate(buffers)})
    return PackingAnswer("many.csv", Problem(buffers), "x", "feasible", plan, 1, 0.1)
