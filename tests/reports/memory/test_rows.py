"""The smallest SharedMemory of a program: as JSON, on the terminal and as a page."""

import re
from dataclasses import replace

from chipmodel.answers.memory import MemoryAnswer, MemoryPlan, MemoryPoint
from chipmodel.geometry.interval import Interval
from chipmodel.model.schedule import CascadePlan
from reports.memory import headline, page as page_of, smallest_rows
from reports.table_page import render_tables
from tests.reports.console import printed

ALONE = MemoryPlan(8192, 900, 8000, False, "sync", 500)
SPILLED = MemoryPlan(4096, 2000, 4096, True, "sync", 500)
OPS = CascadePlan("a..b", ("a", "b<i>"), True, steps=Interval(0, 3), heights=(1, 2), inside=())
CASCADED = MemoryPlan(4096, 1000, 4096, False, "prefetch-greedy", 600, (OPS,))
ANSWER = MemoryAnswer(
    "net",
    "chip",
    500,
    None,
    16384,
    3584,
    ALONE,
    CASCADED,
    (MemoryPoint(4096, SPILLED, CASCADED), MemoryPoint(8192, ALONE, ALONE)),
)
PLANS = "No plan of the listed ways that moves inputs and outputs alone needs less than"


def _printed(answer: MemoryAnswer) -> str:
    return printed(page_of(answer))


def test_the_headline_compares_both_sizes() -> None:
    assert headline(ANSWER) == (
        "It runs in 4.0 KiB of SharedMemory with cascades, 50.0% less than the 8.0 KiB layer by layer. "
        f"{PLANS} 3.5 KiB."
    )
    alone = replace(ANSWER, with_cascades=ALONE, lower_bound_bytes=8192)
    assert headline(alone) == (
        f"It runs in 8.0 KiB of SharedMemory, and cascades do not help. {PLANS} 8.0 KiB."
    )
    assert "alone and computes at most 1.5 times the MACs needs" in headline(replace(ANSWER, recompute=1.5))


def test_a_bound_that_is_not_known_is_none() -> None:
    unknown = replace(ANSWER, lower_bound_bytes=0)
    assert "is not known: without the compiled kernel" in headline(unknown)
    assert smallest_rows(unknown)[-1][-1] == "gap unknown"


def test_the_lower_bound_is_a_row_with_the_gap_of_the_smallest_plan() -> None:
    assert smallest_rows(ANSWER)[-1] == ("lower bound", "3,584", "3.5 KiB", "", "gap 14.3%")


def test_the_terminal_shows_what_moves_and_what_is_saved() -> None:
    text = _printed(ANSWER)
    assert re.search(r"4,096 +2,000\* +1,000 +50\.0%", text)
    assert re.search(r"a \.\. b<i> +2 +1 2", text)
    assert "* moves other tensors than inputs and outputs to Psram and back" in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_plan_in_slices_is_called_so() -> None:
    sliced = replace(CASCADED, cascades=(), channel_slices={"wide": 4})
    answer = replace(ANSWER, with_cascades=sliced, front=(MemoryPoint(4096, SPILLED, sliced),))
    text, page = _printed(answer), render_tables(page_of(answer))
    assert re.search(r"with slices +4,096", text)
    assert re.search(r"4,096 +2,000\* +1,000\+ +50\.0%", text)
    assert "+ runs wide tensors in slices" in text
    assert "+ runs wide tensors in slices" in page
    assert "+ runs" not in _printed(ANSWER) + render_tables(page_of(ANSWER))


def test_a_size_without_a_plan_says_so() -> None:
    point = MemoryPoint(4096, None, CASCADED)
    assert "does not fit" in _printed(replace(ANSWER, front=(point,)))


def test_the_chart_has_a_mark_for_every_plan_hollow_where_tensors_move() -> None:
    (chart,) = page_of(ANSWER).charts
    cascaded, alone = chart.chart.traces
    assert (cascaded["x"], cascaded["y"]) == ([4096, 8192], [1000, 900])
    assert (alone["x"], alone["y"]) == ([4096, 8192], [2000, 900])
    assert alone["marker"]["symbol"] == ["square-open", "square"]
    assert "Hollow marks move tensors" in chart.hint
    page = render_tables(page_of(ANSWER))
    assert "b&lt;i&gt;" in page
    (none,) = page_of(replace(ANSWER, front=())).charts
    assert not none.chart.traces
    assert render_tables(page_of(replace(ANSWER, front=()))).count("<script") == 1
