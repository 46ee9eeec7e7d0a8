"""The numbers of a chip by what they matter: in words, as a table, as JSON values and as a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chipmodel.answers.sensitivity import SensitivityAnswer, VariedField, VariedRun
from reports.page_parts import PageChart, PageTable, TablePage
from reports.svg_chart import ChartLine
from reports.template import render_part
from reports.words import percent, signed_percent

if TYPE_CHECKING:
    from markupsafe import Markup

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
LABEL = 58
"""Pixels for a change at the end of a bar."""


@dataclass(frozen=True, slots=True)
class TornadoShape:
    """Pixels of a chart: its width, the names to the left of the bars, a row, and a bar below its name."""

    kind: str
    """The class in the style sheet."""
    width: int
    left: int
    row: int
    below: int = 0

    @property
    def middle(self) -> float:
        """Where the time does not change."""
        return (self.left + self.width) / 2


SHAPES = TornadoShape("wide", 860, 290, 26), TornadoShape("narrow", 360, 0, 46, 20)
"""For wide screens and for narrow ones, on which a name has a line of its own."""


@dataclass(frozen=True, slots=True)
class TornadoBar:
    """The change of time by one value of a number: a bar from the middle line."""

    kind: str
    """``less`` or ``more``: whether the number is smaller or larger."""
    x: float
    width: float
    text_x: float
    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class TornadoRow:
    """A number of the chip with its bars."""

    name: str
    y: int
    bars: tuple[TornadoBar, ...]


def page(answer: SensitivityAnswer) -> TablePage:
    """The numbers that matter with a tornado chart, and the others."""
    chart = PageChart(
        "tornado",
        "Change of time by each number of the chip",
        f"Each number alone is made smaller and larger by {percent(answer.step)}, and the workload is "
        "planned again. Bars to the right mean more time, bars to the left less.",
        "",
        [_drawn(answer, shape) for shape in SHAPES] if field_rows(answer) else [],
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


def _drawn(answer: SensitivityAnswer, shape: TornadoShape) -> Markup:
    from markupsafe import Markup

    return Markup(render_part("tornado.html.j2", {"shape": shape, "rows": tornado(answer, shape)}))


def tornado(answer: SensitivityAnswer, shape: TornadoShape) -> tuple[TornadoRow, ...]:
    """The first ``MOST_BARS`` numbers that change the time, the one that changes it most on top."""
    found = [
        (each.field, each.changes(answer.milliseconds))
        for each in answer.fields
        if each.span(answer.milliseconds) > 0
    ]
    largest = max((abs(c or 0.0) for _, changes in found for c in changes), default=1.0)
    scale = (shape.width - shape.middle - LABEL) / largest
    return tuple(
        TornadoRow(name, shape.row * number - shape.below, tuple(_bars(changes, scale, shape.middle)))
        for number, (name, changes) in enumerate(found[:MOST_BARS], 1)
    )


def _bars(changes: tuple[float | None, float | None], scale: float, middle: float) -> list[TornadoBar]:
    """A bar for each value that changes the time; two on one side share the row, the longer one behind."""
    kinds = [(kind, c) for kind, c in zip(("less", "more"), changes, strict=True) if c]
    kinds.sort(key=lambda item: -abs(item[1]))
    return [_bar(kind, change, scale, middle, kinds) for kind, change in kinds]


def _bar(kind: str, change: float, scale: float, middle: float, kinds: list[tuple[str, float]]) -> TornadoBar:
    length = round(abs(change) * scale, 1)
    start = middle if change > 0 else middle - length
    end = start + length + 5 if change > 0 else start - 5
    hidden = any(abs(other) > abs(change) and other * change > 0 for _, other in kinds)
    anchor, text = "start" if change > 0 else "end", "" if hidden else signed_percent(change)
    return TornadoBar(kind, round(start, 1), length, round(end, 1), anchor, text)
