"""The timeline, and what all charts of the page share.

A wait has the colour of what it waits for, hatched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from chipmodel.answers.result import Result
from chipmodel.geometry.interval import Interval
from chipmodel.model.trace import Event
from chipmodel.records import dataclass
from reports.chart import LABEL_SIZE, Chart, Marks, Style, axis, bars, series, told
from reports.colours import BLUE, CAUSE_COLOURS, GREEN, GREY, ORANGE, PALE, PURPLE, SKY, VERMILION, faint
from reports.run.bars import MOST_BARS, Bar, bars_of, category
from reports.run.dependencies import Needs, needs
from reports.run.rolling_rows import CascadeRun, cascade_op_names, cascade_runs
from reports.words import CAUSES, KIB, dma_name, duration, npu_name, shortened

CYCLES: Mapping[str, Any] = {"title": {"text": "cycles"}, "tickformat": "~s"}
"""The horizontal axis of charts over time."""
LABELLED = 400
"""With more bars or boxes than this, none has its name inside: few would be readable, and all cost time.
Steps of cascades do not count and have none."""
CASCADE_ROW = "cascades"
"""The row of the timeline that has a bar for each cascade; of several cores each has a row."""
MOST_NAMED = 8
"""Ops of a cascade in a tooltip."""
ROW, FRAME = 46, 138
"""Pixels of a row of the timeline, and of the frame around all."""


@dataclass(frozen=True, slots=True)
class Category:
    """The name and the looks of one kind of event or buffer."""

    key: str
    label: str
    colour: str
    hatched: bool = False
    faint: bool = False


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
    events = len(result.trace.events)
    merged = len(shown) < events
    remark = (
        f"{events:,} events are drawn as {len(shown):,} bars: neighbours of one kind are merged into a bar "
        "with the sum of their cycles and bytes."
        if merged
        else ""
    )
    layout = layout_over(result.trace.cycles, rows)
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
                run.name,
                f"cascade of {len(run.plan.ops)} ops in {len(run.plan.steps):,} steps",
                _time(result, run.span),
                shortened(run.plan.ops, MOST_NAMED),
            )
        )
        for run in runs
    ]
    rows = [_cascade_row(result, run.core) for run in runs]
    return bar_trace(CASCADE, [run.span for run in runs], rows, 0.5, texts, [run.name for run in runs])


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


def marker(category: Category) -> dict[str, Any]:
    """Plotly's marker for the category; ``page.js`` replaces ``paper`` by the page's own colour."""
    style: dict[str, Any] = {"color": category.colour, "line": {"width": 0.5, "color": "paper"}}
    if category.hatched:
        hatch = {
            "shape": "/",
            "size": 6,
            "solidity": 0.3,
            "fillmode": "overlay",
            "fgcolor": category.colour,
            "fgopacity": 1,
        }
        style |= {"pattern": hatch, "color": faint(category.colour)}
    if category.faint:
        style["color"] = faint(category.colour)
    return style


def bar_trace(
    category: Category,
    spans: Sequence[Interval],
    rows: Sequence[object],
    width: float | Sequence[float],
    texts: Sequence[str],
    names: Sequence[str] | None = None,
) -> dict[str, Any]:
    """A bar over each of ``spans``, at its row, with a text that begins with its title."""
    extents = [(span.start, len(span)) for span in spans]
    ink = "#ffffff" if category.colour == BLUE else "#14181c"
    shown = {"name": category.label, **told(texts, titled=True)}
    return bars(extents, rows, width, marker(category), names, ink, **shown)


class MapBox(NamedTuple):
    """A box in a map of memory: its bytes, when it is there, and what is said below its name."""

    name: str
    at: Interval
    span: Interval
    words: str


def bytes_at(place: Interval) -> str:
    """``64 B at 128 to 192``."""
    return f"{len(place):,} B at {place.start:,} to {place.stop:,}"


def box_trace(category: Category, boxes: Sequence[MapBox], named: bool) -> dict[str, Any]:
    """Boxes of one category in a map of memory, with their names inside where they are ``named``."""
    rows = [(box.at.start + box.at.stop) / 2 / KIB for box in boxes]
    heights = [len(box.at) / KIB for box in boxes]
    names = [box.name for box in boxes] if named else None
    texts = [f"{box.name}{box.words}" for box in boxes]
    return bar_trace(category, [box.span for box in boxes], rows, heights, texts, names)


def level_trace(name: str, height: float, last: int, words: str, width: float = 2) -> dict[str, Any]:
    """A dashed line across the chart up to ``last``."""
    ends = [(0, height), (last, height)]
    return series(name, "lines", ends, [words] * 2, Style("ink", "dash"), line={"width": width})


def layout_over(last: int, y_axis: Mapping[str, Any], x_axis: Mapping[str, Any] = CYCLES) -> dict[str, Any]:
    """The layout of a chart of bars over the run up to ``last``."""
    return {
        "showlegend": True,
        "uniformtext": {"minsize": LABEL_SIZE, "mode": "hide"},
        "xaxis": {"range": [0, last], "zeroline": False, **x_axis},
        "yaxis": y_axis,
    }


def memory_axis(top: float) -> dict[str, Any]:
    """The vertical axis of a map of memory up to ``top`` bytes."""
    return axis("address (KiB)", range=[0, top / KIB])
