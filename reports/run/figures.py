"""The timeline, and the kinds of events and buffers.

A wait has the colour of what it waits for, hatched.
"""

from __future__ import annotations

from typing import Any

from chipmodel.answers.result import Result
from chipmodel.geometry.interval import Interval
from chipmodel.model.trace import Event
from reports.chart import Chart, Marks
from reports.colours import BLUE, CAUSE_COLOURS, GREEN, GREY, ORANGE, PALE, PURPLE, SKY, VERMILION
from reports.memory_chart import LABELLED, Category, bar_trace, layout_over
from reports.run.bars import MOST_BARS, Bar, bars_of, category
from reports.run.dependencies import Needs, needs
from reports.run.rolling_rows import CascadeRun, cascade_op_names, cascade_runs
from reports.words import CAUSES, dma_name, duration, npu_name, shortened

CASCADE_ROW = "cascades"
"""The row of the timeline that has a bar for each cascade; of several cores each has a row."""
MOST_NAMED = 8
"""Ops of a cascade in a tooltip."""
ROW, FRAME = 46, 138
"""Pixels of a row of the timeline, and of the frame around all."""


EVENTS = (
    Category("compute", "compute", BLUE),
    Category("load weights", "load weights", ORANGE),
    Category("load tensor", "load tensor", GREEN),
    Category("store tensor", "store tensor", PURPLE),
    Category("move", "move between memories off chip", VERMILION),
    *(
        Category(cause, CAUSES[cause], CAUSE_COLOURS.get(cause, GREY), True)
        for cause in ("weights", "input", "output", "core", "bank", "arbitration", "refresh", "cpu", "order")
    ),
    Category("nothing issued", CAUSES["nothing issued"], GREY, faint=True),
    Category("finished", CAUSES["finished"], PALE, faint=True),
)
MOST_NEEDED = 6
"""Names of dependencies in a tooltip."""
BUFFERS = (
    Category("tensor", "tensors", GREEN),
    Category("weights", "weights", ORANGE),
    Category("stripe", "stripes", SKY),
    Category("rows", "rolling buffers", VERMILION, True),
    Category("scratch", "scratch", GREY),
)
CASCADE = Category("cascade", "cascades", VERMILION)


def timeline(result: Result, most: int = MOST_BARS) -> Chart:
    """The timeline: a row for each NPU and DMA channel over cycles, with at most ``most`` bars."""
    shown = bars_of(result, most)
    groups = {c: [b for b in shown if category(b.event) == c.key] for c in EVENTS}
    categories = [c for c in EVENTS if groups[c]]
    runs, crowded = cascade_runs(result), cascade_op_names(result)
    labelled = sum(b.event.op not in crowded for b in shown) <= LABELLED
    of_category = [groups[c] for c in categories]
    needed = needs(result)
    traces = [
        _event_trace(result, c, members, labelled, needed, crowded)
        for c, members in zip(categories, of_category, strict=True)
    ]
    ops: list[tuple[tuple[str, ...], ...]] = [
        tuple((b.event.op,) if b.event.op else () for b in members) for members in of_category
    ]
    if runs:
        traces.append(_cascade_trace(result, runs))
        ops.append(tuple(run.plan.ops for run in runs))
    names = [
        *(dma_name(result, c) for c in reversed(range(result.trace.channels))),
        *(npu_name(result, c) for c in reversed(range(result.trace.cores))),
        *(_cascade_row(result, core) for core in sorted({run.core for run in runs}, reverse=True)),
    ]
    rows: dict[str, Any] = {"categoryorder": "array", "categoryarray": names, "fixedrange": True}
    if len(names) > 2:
        rows["range"] = [-0.5, len(names) - 0.5]
    remark, events = "", len(result.trace.events)
    if len(shown) < events:
        drawn = f"{events:,} events are drawn as {len(shown):,} bars"
        remark = (
            f"{drawn}: neighbours of one kind are merged into a bar with the sum of their cycles and bytes."
        )
    layout = layout_over(Interval(0, result.trace.cycles), rows)
    return Chart(traces, layout, FRAME + ROW * len(names), remark, _needs(of_category, needed), tuple(ops))


def _needs(of_category: list[list[Bar]], needed: Needs) -> Marks[int]:
    """What ``Chart.needs`` has; bars of several events have none."""
    places = {
        b.index: (trace, point)
        for trace, members in enumerate(of_category)
        for point, b in enumerate(members)
        if b.events == 1
    }

    def of(bar: Bar) -> tuple[int, ...]:
        others = needed[bar.index] if bar.events == 1 else ()
        return tuple(number for other in others if other in places for number in places[other])

    return tuple(tuple(of(bar) for bar in members) for members in of_category)


def _cascade_row(result: Result, core: int) -> str:
    """The row of the cascades of a core."""
    return CASCADE_ROW if result.trace.cores == 1 else f"{CASCADE_ROW} {core}"


def _cascade_trace(result: Result, runs: tuple[CascadeRun, ...]) -> dict[str, Any]:
    """A bar for each run of each cascade, above the NPUs, with the ops inside on hover."""
    texts = [
        "\n".join(
            (
                run.plan.name,
                f"cascade of {len(run.plan.ops)} ops in {len(run.plan.steps):,} steps",
                _time(result, run.span),
                shortened(run.plan.ops, MOST_NAMED),
            )
        )
        for run in runs
    ]
    rows = [_cascade_row(result, run.core) for run in runs]
    return bar_trace(CASCADE, [run.span for run in runs], rows, 0.5, texts, [run.plan.name for run in runs])


def _event_trace(
    result: Result,
    category: Category,
    shown: list[Bar],
    labelled: bool,
    needed: Needs,
    crowded: frozenset[str],
) -> dict[str, Any]:
    many = result.trace.cores > 1
    texts = [
        f"{_title(result, b)}\n{category.label}{_detail(b, many)}\n{_time(result, b.span)}"
        + _needed(result, b, needed)
        for b in shown
    ]
    named = labelled and not (category.hatched or category.faint)
    names = ["" if b.event.op in crowded else b.event.name for b in shown] if named else None
    rows = [_row(result, b.event) for b in shown]
    return bar_trace(category, [b.span for b in shown], rows, 0.78, texts, names)


def _time(result: Result, span: Interval) -> str:
    lasts = f"{len(span):,} cycles, {duration(result.chip, len(span))}"
    return f"{lasts}\nfrom {span.start:,} to {span.stop:,}"


def _row(result: Result, event: Event) -> str:
    return npu_name(result, event.core) if event.unit == "npu" else dma_name(result, event.channel)


def _title(result: Result, bar: Bar) -> str:
    event = bar.event
    if bar.events > 1:
        return f"{bar.events:,} events, the first: {event.name or event.op}"
    return event.name or event.op or _row(result, event)


def _needed(result: Result, bar: Bar, needed: Needs) -> str:
    """A line with the names of the events that a step or transfer depends on."""
    others = needed[bar.index] if bar.events == 1 and not bar.event.cause else ()
    names = list(dict.fromkeys(result.trace.events[other].name for other in others))
    return f"\ndepends on {shortened(names, MOST_NEEDED)}" if names else ""


def _detail(bar: Bar, many: bool) -> str:
    event = bar.event
    of = f" for {event.op}" if event.op and event.op != event.name else ""
    if many and event.unit == "dma" and event.cause not in ("nothing issued", "order", "finished"):
        of += f" of core {event.core}"
    held = f", stalled for {bar.held:,} of its cycles" if bar.held else ""
    return of + (f", {bar.bytes:,} B" if bar.bytes else "") + held
