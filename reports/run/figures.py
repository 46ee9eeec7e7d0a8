"""The timeline as a plain plotly dict, and what all charts of the page share.

A wait has the colour of what it waits for, hatched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from chipmodel.answers.result import Result
from chipmodel.geometry.interval import Interval
from chipmodel.model.trace import Event
from chipmodel.records import dataclass
from reports.colours import BLUE, CAUSE_COLOURS, GREEN, GREY, ORANGE, PALE, PURPLE, SKY, VERMILION, faint
from reports.run.bars import MOST_BARS, Bar, bars, category
from reports.run.dependencies import Needs, needs
from reports.run.rolling_rows import CascadeRun, cascade_op_names, cascade_runs
from reports.words import CAUSES, KIB, dma_name, duration, npu_name, shortened


def hover(*lines: str) -> str:
    """The template of a tooltip with these lines."""
    return "<br>".join(lines) + "<extra></extra>"


def scatter(
    mode: str, x: Sequence[float | None], y: Sequence[object], tooltip: str = "", **more: object
) -> dict[str, object]:
    """Points, lines or both; without a tooltip they say nothing to a reader who points at them."""
    told = {"hovertemplate": tooltip} if tooltip else {"hoverinfo": "skip"}
    return {"type": "scatter", "mode": mode, "x": x, "y": y, **told, **more}


LABEL_SIZE = 11
"""Pixels of the names inside of bars and boxes."""
CYCLES: Mapping[str, object] = {"title": {"text": "cycles"}, "tickformat": "~s"}
"""The horizontal axis of charts over time."""
LABELLED = 400
"""With more bars or boxes than this, none has its name inside: few would be readable, and all cost time.
Steps of cascades do not count and have none."""
CASCADE_ROW = "cascades"
"""The row of the timeline that has a bar for each cascade; of several cores each has a row."""
MOST_NAMED = 8
"""Ops of a cascade in a tooltip."""


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


@dataclass(frozen=True, slots=True)
class RunChart:
    """A plotly figure, its legend, and a remark for the reader."""

    figure: dict[str, object]
    legend: tuple[Category, ...]
    """Entries in the order of the figure's first traces."""
    marks: int
    remark: str = ""
    needs: tuple[tuple[tuple[int, ...], ...], ...] = ()
    """For each mark, by trace and point, the marks that it depends on: trace, point, trace, point, ...; empty
    where that is not known."""
    ops: tuple[tuple[tuple[str, ...], ...], ...] = ()
    """For each mark, by trace and point, its ops, the one that it leads to first; of further traces none."""


def timeline(result: Result, most: int = MOST_BARS) -> RunChart:
    """The timeline: a row for each NPU and DMA channel over cycles, with at most ``most`` bars."""
    shown = bars(result, most)
    groups = {c: [b for b in shown if category(b.event) == c.key] for c in EVENTS}
    legend = tuple(c for c in EVENTS if groups[c])
    runs, crowded = cascade_runs(result), cascade_op_names(result)
    labelled = sum(b.event.op not in crowded for b in shown) <= LABELLED
    of_category = [groups[c] for c in legend]
    needed = needs(result)
    traces = [
        _event_trace(result, c, members, labelled, needed, crowded)
        for c, members in zip(legend, of_category, strict=True)
    ]
    ops: list[tuple[tuple[str, ...], ...]] = [
        tuple((b.event.op,) if b.event.op else () for b in members) for members in of_category
    ]
    if runs:
        traces.append(_cascade_trace(result, runs))
        ops.append(tuple(run.plan.ops for run in runs))
        legend = (*legend, CASCADE)
    names = [
        *(dma_name(result, c) for c in reversed(range(result.trace.channels))),
        *(npu_name(result, c) for c in reversed(range(result.trace.cores))),
        *(_cascade_row(result, core) for core in sorted({run.core for run in runs}, reverse=True)),
    ]
    rows: dict[str, object] = {"categoryorder": "array", "categoryarray": names, "fixedrange": True}
    if len(names) > 2:
        rows["range"] = [-0.5, len(names) - 0.5]
    drawn = figure(traces, result.trace.cycles, rows)
    events = len(result.trace.events)
    merged = len(shown) < events
    remark = (
        f"{events:,} events are drawn as {len(shown):,} bars: neighbours of one kind are merged into a bar "
        "with the sum of their cycles and bytes."
        if merged
        else ""
    )
    return RunChart(drawn, legend, len(shown), remark, _needs(of_category, needed), tuple(ops))


def _needs(of_category: list[list[Bar]], needed: Needs) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """What ``RunChart.needs`` has; bars of several events have none."""
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


def _cascade_trace(result: Result, runs: tuple[CascadeRun, ...]) -> dict[str, object]:
    """A bar for each run of each cascade, above the NPUs, with the ops inside on hover."""
    tooltips = [
        [
            escape(run.name),
            f" of {len(run.plan.ops)} ops in {len(run.plan.steps):,} steps",
            len(run.span),
            duration(result.chip, len(run.span)),
            run.span.stop,
            f"<br>{escape(shortened(run.plan.ops, MOST_NAMED))}",
        ]
        for run in runs
    ]
    rows = [_cascade_row(result, run.core) for run in runs]
    lines = event_lines("cascade", "%{customdata[5]}")
    names = [run.name for run in runs]
    return bar_trace(CASCADE, [run.span for run in runs], rows, 0.5, tooltips, lines, names)


def _event_trace(
    result: Result,
    category: Category,
    shown: list[Bar],
    labelled: bool,
    needed: Needs,
    crowded: frozenset[str],
) -> dict[str, object]:
    tooltips = [
        [
            _title(result, b),
            _detail(b, result.trace.cores > 1),
            len(b.span),
            duration(result.chip, len(b.span)),
            b.span.stop,
            _needed(result, b, needed),
        ]
        for b in shown
    ]
    named = labelled and not (category.hatched or category.faint)
    names = ["" if b.event.op in crowded else b.event.name for b in shown] if named else None
    spans, rows = [b.span for b in shown], [_row(result, b.event) for b in shown]
    lines = event_lines(category.label, "%{customdata[5]}")
    return bar_trace(category, spans, rows, 0.78, tooltips, lines, names)


def _row(result: Result, event: Event) -> str:
    return npu_name(result, event.core) if event.unit == "npu" else dma_name(result, event.channel)


def _title(result: Result, bar: Bar) -> str:
    event = bar.event
    if bar.events > 1:
        return f"{bar.events:,} events, the first: {escape(event.name or event.op)}"
    return escape(event.name or event.op or _row(result, event))


def _needed(result: Result, bar: Bar, needed: Needs) -> str:
    """A line with the names of the events that a step or transfer depends on."""
    others = needed[bar.index] if bar.events == 1 and not bar.event.cause else ()
    names = list(dict.fromkeys(escape(result.trace.events[other].name) for other in others))
    return f"<br>depends on {shortened(names, MOST_NEEDED)}" if names else ""


def _detail(bar: Bar, many: bool) -> str:
    event = bar.event
    of = f" for {escape(event.op)}" if event.op and event.op != event.name else ""
    if many and event.unit == "dma" and event.cause not in ("nothing issued", "order", "finished"):
        of += f" of core {event.core}"
    held = f", stalled for {bar.held:,} of its cycles" if bar.held else ""
    return of + (f", {bar.bytes:,} B" if bar.bytes else "") + held


def marker(category: Category) -> dict[str, object]:
    """Plotly's marker for the category; ``page.js`` replaces ``paper`` by the page's own colour."""
    style: dict[str, object] = {"color": category.colour, "line": {"width": 0.5, "color": "paper"}}
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
    tooltips: Sequence[Sequence[object]],
    lines: Sequence[str],
    names: Sequence[str] | None = None,
) -> dict[str, object]:
    """A bar over each of ``spans``, at its row. ``lines`` of the tooltip take their values from ``tooltips``;
    ``names`` are inside of the bars that are large enough."""
    inside = {
        "text": [escape(name) for name in names or ()],
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "textfont": {"color": "#ffffff" if category.colour == BLUE else "#14181c", "size": LABEL_SIZE},
    }
    return {
        "type": "bar",
        "orientation": "h",
        "name": category.label,
        "y": rows,
        "x": [len(span) for span in spans],
        "base": [span.start for span in spans],
        "width": width,
        "marker": marker(category),
        "customdata": tooltips,
        "hovertemplate": hover(*lines),
        **(inside if names is not None else {}),
    }


def event_lines(label: str, more: str = "") -> tuple[str, ...]:
    """Lines of a tooltip: title, detail, cycles, time and end."""
    return (
        "<b>%{customdata[0]}</b>",
        f"{label}%{{customdata[1]}}",
        "%{customdata[2]:,} cycles, %{customdata[3]}",
        f"from %{{base:,}} to %{{customdata[4]:,}}{more}",
    )


def box_trace(
    category: Category,
    places: Sequence[Interval],
    spans: Sequence[Interval],
    tooltips: Sequence[Sequence[object]],
    lines: Sequence[str],
    names: Sequence[str] | None = None,
) -> dict[str, object]:
    """Boxes in a map of memory: at ``places``, which are bytes, during ``spans``."""
    rows = [(place.start + place.stop) / 2 / KIB for place in places]
    return bar_trace(category, spans, rows, [len(p) / KIB for p in places], tooltips, lines, names)


def level_trace(name: str, height: float, last: int, words: str, width: float = 2) -> dict[str, object]:
    """A dashed line across the chart up to ``last``."""
    line = {"width": width, "color": "ink", "dash": "dash"}
    return scatter("lines", [0, last], [height, height], hover(words), name=name, line=line)


def figure(
    traces: list[dict[str, object]],
    last: int,
    y_axis: Mapping[str, object],
    x_axis: Mapping[str, object] = CYCLES,
    **more: object,
) -> dict[str, object]:
    """A figure of bars over the run up to ``last``; ``more`` is of its layout."""
    layout = {
        "barmode": "overlay",
        "bargap": 0,
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": "zoom",
        "uniformtext": {"minsize": LABEL_SIZE, "mode": "hide"},
        "xaxis": {"range": [0, last], "zeroline": False, **x_axis},
        "yaxis": y_axis,
        **more,
    }
    return {"data": traces, "layout": layout}
