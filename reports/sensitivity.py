"""The numbers of a chip by what they matter: in words, as a table, as JSON values and as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from chipmodel.answers.sensitivity import SensitivityAnswer, VariedField, VariedRun
from reports.page_parts import PageChart, PageTable, TablePage
from reports.svg_chart import LETTER, ChartAxis, ChartBox, ChartLine, SvgChart
from reports.words import percent, signed_percent

FORMAT = "chipmodel-sensitivity/1"
"""The version of the JSON document; a key that changes its meaning makes it another."""
NAMED = 3
"""Numbers that the sentence names."""
HEADS = ("number", ">value", ">less", ">time", ">more", ">time")


def document(answer: SensitivityAnswer) -> dict[str, Any]:
    """``answer`` as JSON values."""
    return {
        "format": FORMAT,
        "workload": answer.program,
        "chip": answer.chip,
        "step": answer.step,
        "milliseconds": answer.milliseconds,
        "fields": [field_values(each) for each in answer.fields],
        "zero": list(answer.zero),
    }


def field_values(each: VariedField) -> dict[str, Any]:
    """One number of the chip, with both of its runs."""
    found: dict[str, Any] = {"field": each.field, "value": each.value}
    for kind, run in (("less", each.less), ("more", each.more)):
        found |= {
            f"{kind}_value": run.value,
            f"{kind}_milliseconds": run.milliseconds,
            f"{kind}_reason": run.reason,
        }
    return found


def headline(answer: SensitivityAnswer) -> str:
    """The numbers that matter most, and how many do not matter at all."""
    moving = [each for each in answer.fields if each.span(answer.milliseconds) > 0]
    what = f"{answer.milliseconds:,.3f} ms"
    if not moving:
        return f"{what}, which no number that was varied changes."
    most = ", ".join(f"{each.field} ({_both(each, answer)})" for each in moving[:NAMED])
    rest = f"; {len(answer.idle)} of {len(answer.fields)} do not matter" if answer.idle else ""
    return f"{what}. By {percent(answer.step)} less or more, what matters most is {most}{rest}."


def _both(each: VariedField, answer: SensitivityAnswer) -> str:
    return ", ".join(signed_percent(change) or "no run" for change in each.changes(answer.milliseconds))


def field_rows(answer: SensitivityAnswer) -> list[tuple[str, ...]]:
    """The numbers that matter, under ``HEADS``."""
    return [
        (each.field, each.value, *_cells(each.less, less), *_cells(each.more, more))
        for each in answer.fields
        if each.span(answer.milliseconds) > 0
        for less, more in [each.changes(answer.milliseconds)]
    ]


def _cells(run: VariedRun, change: float | None) -> tuple[str, str]:
    return run.value, signed_percent(change) or "no run"


def refused_rows(answer: SensitivityAnswer) -> list[tuple[str, str, str]]:
    """The values that leave no run: number, value, reason."""
    runs = [(each.field, run) for each in answer.fields for run in (each.less, each.more)]
    return [(name, run.value, run.reason) for name, run in runs if run.milliseconds is None]


MOST_BARS = 20
"""Numbers in the chart."""
SHAPES = (("wide", 860), ("narrow", 370))
"""For wide screens and for narrow ones, in pixels."""
ROW, FRAME = 26, 78
"""Pixels of a number, and of the frame around all."""
HALF = 0.35
"""Half of a bar's height, as a share of its row."""


def page(answer: SensitivityAnswer) -> TablePage:
    """The numbers that matter with a tornado chart, and the others."""
    chart = PageChart(
        "tornado",
        "Change of time by each number of the chip",
        f"Each number alone is made smaller and larger by {percent(answer.step)}, and the workload is "
        "planned again. Bars to the right mean more time, bars to the left less.",
        "Change of time by each number of the chip.",
        [tornado(answer, *shape) for shape in SHAPES] if field_rows(answer) else [],
        (ChartLine("the number is smaller", "less"), ChartLine("the number is larger", "more")),
    )
    idle = [f"Without effect: {', '.join(answer.idle)}."] if answer.idle else []
    zero = [f"0, and not varied: {', '.join(answer.zero)}."] if answer.zero else []
    tables = (
        PageTable("numbers", "Numbers", HEADS, field_rows(answer), remark="\n".join(idle + zero)),
        PageTable("refused", "Values without a run", ("number", ">value", "why"), refused_rows(answer)),
    )
    on, told = f"on {answer.chip}", (headline(answer),)
    return TablePage("sensitivity", answer.program, on, told, (), tables, (chart,))


def tornado(answer: SensitivityAnswer, kind: str, width: int) -> SvgChart:
    """The first ``MOST_BARS`` numbers that change the time, the one that changes it most on top."""
    found = [each for each in answer.fields if each.span(answer.milliseconds) > 0][:MOST_BARS]
    largest, rows = found[0].span(answer.milliseconds), len(found)
    changes = tuple((change, signed_percent(change)) for change in (-largest, 0.0, largest))
    names = tuple((rows - number - 0.5, each.field) for number, each in enumerate(found))
    left = LETTER * (2 + max(len(each.field) for each in found))
    x = ChartAxis("change of time", (-1.1 * largest, 1.1 * largest), changes, log=False)
    y, boxes = ChartAxis("number", (0, rows), names, log=False), tuple(_bars(answer, found))
    return SvgChart(kind, width, FRAME + ROW * rows, x, y, (), left=left, boxes=boxes)


def _bars(answer: SensitivityAnswer, found: Sequence[VariedField]) -> Iterator[ChartBox]:
    """A bar for each value that changes the time; two on one side share the row, the longer one behind."""
    for number, each in enumerate(found):
        kinds = zip(("less", "more"), (each.less, each.more), each.changes(answer.milliseconds), strict=True)
        at = len(found) - number - 0.5
        for kind, run, change in sorted(kinds, key=lambda bar: -abs(bar[2] or 0.0)):
            if change:
                low, high = (min(0.0, change), at - HALF), (max(0.0, change), at + HALF)
                title = f"{each.field} {run.value}: {signed_percent(change)}"
                yield ChartBox(low, high, kind, "", "", title, number)
