"""The numbers of a chip by what they matter: in words, as a table, as JSON values and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chipmodel.answers.sensitivity import SensitivityAnswer, VariedField, VariedRun
from reports.chart import Chart, axis, told
from reports.colours import BLUE, GREY
from reports.page_parts import PageChart, PageTable, TablePage
from reports.words import percent, signed_percent

NAMED = 3
"""Numbers that the sentence names."""
HEADS = ("number", ">value", ">less", ">time", ">more", ">time")


def headline(answer: SensitivityAnswer) -> str:
    """The numbers that matter most, and how many do not matter at all."""
    moving = [field for field in answer.fields if field.span(answer.milliseconds) > 0]
    what = f"{answer.milliseconds:,.3f} ms"
    early = (
        f" {answer.cut_short} of {len(answer.fields)} numbers were not varied to the end."
        if answer.cut_short
        else ""
    )
    if not moving:
        return f"{what}.{early}" if early else f"{what}, which no number that was varied changes."
    most = ", ".join(f"{each.field} ({_both(each, answer)})" for each in moving[:NAMED])
    rest = f"; {len(answer.idle)} of {len(answer.fields)} do not matter" if answer.idle else ""
    return f"{what}. By {percent(answer.step)} less or more, what matters most is {most}{rest}.{early}"


def _both(each: VariedField, answer: SensitivityAnswer) -> str:
    return ", ".join(signed_percent(change) or "no run" for change in each.changes(answer.milliseconds))


def field_rows(answer: SensitivityAnswer) -> list[tuple[str, ...]]:
    """The numbers that matter, under ``HEADS``."""
    return [
        (field.field, field.value, *_cells(field.less, less), *_cells(field.more, more))
        for field in answer.fields
        if field.span(answer.milliseconds) > 0
        for less, more in [field.changes(answer.milliseconds)]
    ]


def _cells(run: VariedRun, change: float | None) -> tuple[str, str]:
    return run.value, signed_percent(change) or "no run"


def refused_rows(answer: SensitivityAnswer) -> list[tuple[str, str, str]]:
    """The values that leave no run: number, value, reason."""
    runs = [(field.field, run) for field in answer.fields for run in (field.less, field.more)]
    return [(name, run.value, run.reason) for name, run in runs if run.milliseconds is None]


MOST_BARS = 20
"""Numbers in the chart."""
COLOURS = {"less": GREY, "more": BLUE}
"""Colours of the bars of a smaller and of a larger number."""
ROW, FRAME = 26, 110
"""Pixels of a number, and of the frame around all."""


def page(answer: SensitivityAnswer) -> TablePage:
    """The numbers that matter with a tornado chart, and the others."""
    chart = PageChart(
        "tornado",
        "Change of time by each number of the chip",
        f"Each number alone is made smaller and larger by {percent(answer.step)}, and the workload is "
        "planned again. Bars to the right mean more time, bars to the left less.",
        tornado(answer),
    )
    idle = [f"Without effect: {', '.join(answer.idle)}."] if answer.idle else []
    zero = [f"0, and not varied: {', '.join(answer.zero)}."] if answer.zero else []
    tables = (
        PageTable("numbers", "Numbers", HEADS, field_rows(answer), remark="\n".join(idle + zero)),
        PageTable("refused", "Values without a run", ("number", ">value", "why"), refused_rows(answer)),
    )
    on, told = f"on {answer.chip}", (headline(answer),)
    return TablePage("sensitivity", answer.workload, on, told, tables, (chart,))


def tornado(answer: SensitivityAnswer) -> Chart:
    """The first ``MOST_BARS`` numbers that change the time, the one that changes it most on top."""
    moving = [field for field in answer.fields if field.span(answer.milliseconds) > 0][:MOST_BARS]
    traces = [_bars(answer, moving, kind) for kind in COLOURS if moving]
    names = axis("", type="category", categoryarray=[each.field for each in reversed(moving)])
    changes = axis("change of time", tickformat="+.3~%")
    layout = {"xaxis": changes, "yaxis": names, "showlegend": True, "barmode": "group", "bargap": 0.25}
    return Chart(traces, layout, FRAME + ROW * len(moving))


def _bars(answer: SensitivityAnswer, varied: Sequence[VariedField], kind: str) -> dict[str, Any]:
    """A bar for each number whose smaller, or larger, value changes the time."""
    at = list(COLOURS).index(kind)
    runs = ((each, (each.less, each.more)[at], each.changes(answer.milliseconds)[at]) for each in varied)
    drawn = [(each, run, change) for each, run, change in runs if change]
    return {
        "type": "bar",
        "orientation": "h",
        "name": "the number is smaller" if kind == "less" else "the number is larger",
        "y": [each.field for each, _, _ in drawn],
        "x": [change for _, _, change in drawn],
        "marker": {"color": COLOURS[kind]},
        **told([f"{each.field} {run.value}: {signed_percent(change)}" for each, run, change in drawn]),
    }
