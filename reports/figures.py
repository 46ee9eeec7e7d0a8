"""The page's two charts as plain plotly dicts, and the colours that they share.

Colours are those of Okabe and Ito, "Color Universal Design" (2008), which stay apart for every common
kind of colour vision. A wait has the colour of what it waits for, hatched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from chipmodel.interval import Interval, hull
from chipmodel.result import Result
from reports.bars import MOST_BARS, Bar, bars
from reports.lifetimes import alive_bytes, lifetimes
from reports.words import CAUSES, KIB, dma_name, duration, npu_name, percent, ratio, size

BLUE, ORANGE, GREEN, PURPLE, SKY = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9"
VERMILION = "#D55E00"
GREY, PALE = "#8A919A", "#B8BEC6"
LABEL_SIZE = 11
LABELLED = 400
"""With more marks than this, names inside of marks would cost more time than they tell."""


@dataclass(frozen=True, slots=True)
class Category:
    """How one kind of event or buffer is drawn and called."""

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
    Category("weights", CAUSES["weights"], ORANGE, True),
    Category("input", CAUSES["input"], GREEN, True),
    Category("output", CAUSES["output"], PURPLE, True),
    Category("core", CAUSES["core"], VERMILION, True),
    Category("bank", CAUSES["bank"], SKY, True),
    Category("arbitration", CAUSES["arbitration"], GREY, True),
    Category("refresh", CAUSES["refresh"], GREY, True),
    Category("cpu", CAUSES["cpu"], GREY, True),
    Category("order", CAUSES["order"], GREY, True),
    Category("nothing issued", CAUSES["nothing issued"], GREY, faint=True),
    Category("finished", CAUSES["finished"], PALE, faint=True),
)
BUFFERS = (
    Category("tensor", "tensors", GREEN),
    Category("weights", "weights", ORANGE),
    Category("stripe", "stripes", SKY),
)


@dataclass(frozen=True, slots=True)
class Chart:
    """A plotly figure, its legend, and what a reader should know about it."""

    figure: dict[str, object]
    legend: tuple[Category, ...]
    """In the order of the first traces of the figure."""
    marks: int
    remark: str = ""


def timeline(result: Result, most: int = MOST_BARS) -> Chart:
    """NPU (of each core) and DMA as rows over cycles; at most ``most`` bars."""
    shown = bars(result, most)
    legend = tuple(c for c in EVENTS if any(b.category == c.key for b in shown))
    labelled = len(shown) <= LABELLED
    traces = [_event_trace(result, c, [b for b in shown if b.category == c.key], labelled) for c in legend]
    names = [
        *(dma_name(result, c) for c in reversed(range(result.trace.channels))),
        *(npu_name(result, c) for c in reversed(range(result.trace.cores))),
    ]
    rows: dict[str, object] = {"categoryorder": "array", "categoryarray": names, "fixedrange": True}
    if len(names) > 2:
        rows["range"] = [-0.5, len(names) - 0.5]
    figure = _figure(traces, result.trace.cycles, rows)
    events = len(result.trace.events)
    merged = len(shown) < events
    remark = (
        f"{events:,} events are drawn as {len(shown):,} bars: neighbours of one kind are merged, "
        "their cycles and bytes added up."
        if merged
        else ""
    )
    return Chart(figure, legend, len(shown), remark)


def _event_trace(result: Result, category: Category, shown: list[Bar], labelled: bool) -> dict[str, object]:
    lines = [
        "<b>%{customdata[0]}</b>",
        f"{category.label}%{{customdata[1]}}",
        "%{customdata[2]:,} cycles, %{customdata[3]}",
        "from %{base:,} to %{customdata[4]:,}",
    ]
    return {
        "type": "bar",
        "orientation": "h",
        "name": category.label,
        "y": [_row(result, b) for b in shown],
        "x": [b.stop - b.start for b in shown],
        "base": [b.start for b in shown],
        "width": 0.78,
        "marker": _marker(category),
        "customdata": [
            [
                _title(result, b),
                _detail(b, result.trace.cores > 1),
                b.stop - b.start,
                duration(result.chip, b.stop - b.start),
                b.stop,
            ]
            for b in shown
        ],
        "hovertemplate": "<br>".join(lines) + "<extra></extra>",
        **(_labels(category, [b.name for b in shown]) if labelled and _solid(category) else {}),
    }


def _row(result: Result, bar: Bar) -> str:
    return npu_name(result, bar.core) if bar.unit == "npu" else dma_name(result, bar.channel)


def _title(result: Result, bar: Bar) -> str:
    if bar.events > 1:
        return f"{bar.events:,} events, the first: {escape(bar.name or bar.op)}"
    return escape(bar.name or bar.op or _row(result, bar))


def _detail(bar: Bar, many: bool) -> str:
    of = f" for {escape(bar.op)}" if bar.op and bar.op != bar.name else ""
    if many and bar.unit == "dma" and not bar.category.startswith(("nothing", "order", "finished")):
        of += f" of core {bar.core}"
    held = f", of which it stood still for {bar.held:,} cycles" if bar.held else ""
    return of + (f", {bar.bytes:,} B" if bar.bytes else "") + held


@dataclass(frozen=True, slots=True)
class Box:
    """A buffer over one stretch of cycles."""

    name: str
    kind: str
    offset: int
    bytes: int
    span: Interval


def memory_map(result: Result, most: int = MOST_BARS) -> Chart:
    """Every buffer as a box of cycles by addresses, with the bytes alive and the capacity."""
    spans = lifetimes(result)
    boxes = _boxes(result, spans)
    hulls = len(boxes) > most
    if hulls:
        boxes = _boxes(result, {name: (hull(times),) for name, times in spans.items() if times})
    legend = tuple(c for c in BUFFERS if any(b.kind == c.key for b in boxes))
    labelled = len(boxes) <= LABELLED
    traces = [_box_trace(c, [b for b in boxes if b.kind == c.key], labelled) for c in legend]
    profile = _thinned(alive_bytes(result, spans), most)
    top = _top(result)
    lines = [Category("alive", "bytes alive", "ink")]
    traces.append(_profile_trace(profile))
    if top >= result.capacity:
        lines.append(Category("capacity", f"capacity {size(result.capacity)}", "ink", hatched=True))
        traces.append(_capacity_trace(result))
    axis: dict[str, object] = {
        "title": {"text": "address (KiB)"},
        "range": [0, top / KIB],
        "zeroline": False,
        "rangemode": "tozero",
    }
    remarks = [_scale(result, top)]
    if hulls:
        remarks.append("Every buffer is one box from its first to its last use, trips of loops included.")
    return Chart(
        _figure(traces, result.trace.cycles, axis),
        (*legend, *lines),
        len(boxes),
        " ".join(r for r in remarks if r),
    )


def _boxes(result: Result, spans: Mapping[str, tuple[Interval, ...]]) -> list[Box]:
    offsets = result.solved.plan.offsets
    specs = result.schedule.buffers
    return [
        Box(b.name, specs[b.name].kind if b.name in specs else "tensor", offsets[b.name], b.bytes, span)
        for b in result.problem.buffers
        if b.name in offsets
        for span in spans.get(b.name, ())
    ]


def _box_trace(category: Category, boxes: list[Box], labelled: bool) -> dict[str, object]:
    lines = [
        "<b>%{customdata[0]}</b>",
        f"{category.label}: %{{customdata[1]:,}} B at %{{customdata[2]:,}} to %{{customdata[3]:,}}",
        "alive from cycle %{base:,} to %{customdata[4]:,}",
    ]
    return {
        "type": "bar",
        "orientation": "h",
        "name": category.label,
        "y": [(b.offset + b.bytes / 2) / KIB for b in boxes],
        "width": [b.bytes / KIB for b in boxes],
        "x": [len(b.span) for b in boxes],
        "base": [b.span.start for b in boxes],
        "marker": _marker(category),
        "customdata": [[escape(b.name), b.bytes, b.offset, b.offset + b.bytes, b.span.stop] for b in boxes],
        "hovertemplate": "<br>".join(lines) + "<extra></extra>",
        **(_labels(category, [b.name for b in boxes]) if labelled else {}),
    }


def _profile_trace(profile: list[tuple[int, int]]) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "bytes alive",
        "x": [cycle for cycle, _ in profile],
        "y": [total / KIB for _, total in profile],
        "customdata": [total for _, total in profile],
        "line": {"shape": "hv", "width": 1.5, "color": "ink"},
        "hovertemplate": "%{customdata:,} B alive from cycle %{x:,}<extra></extra>",
    }


def _capacity_trace(result: Result) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "capacity",
        "x": [0, result.trace.cycles],
        "y": [result.capacity / KIB] * 2,
        "line": {"width": 2.5, "color": "ink", "dash": "dash"},
        "hovertemplate": f"capacity {result.capacity:,} B<extra></extra>",
    }


def _top(result: Result) -> int:
    """The highest address shown at first: the capacity, unless most of the chart would be empty."""
    highest = result.solved.peak
    if 0 < highest < result.capacity // 3:
        return highest * 5 // 4
    return max(highest, result.capacity) * 21 // 20


def _scale(result: Result, top: int) -> str:
    if top >= result.capacity:
        return ""
    used = percent(ratio(result.solved.peak, result.capacity))
    return (
        f"The plan uses {used} of SharedMemory: its capacity of {size(result.capacity)} lies above the chart."
    )


def _thinned(profile: list[tuple[int, int]], most: int) -> list[tuple[int, int]]:
    """The same with at most about ``most`` points: the highest of every run of neighbours."""
    run = -(-len(profile) // most)
    if run <= 1:
        return profile
    return [(profile[i][0], max(t for _, t in profile[i : i + run])) for i in range(0, len(profile), run)]


def _marker(category: Category) -> dict[str, object]:
    marker: dict[str, object] = {"color": category.colour, "line": {"width": 0.5, "color": "paper"}}
    if category.hatched:
        hatch = {
            "shape": "/",
            "size": 6,
            "solidity": 0.3,
            "fillmode": "overlay",
            "fgcolor": category.colour,
            "fgopacity": 1,
        }
        marker |= {"pattern": hatch, "color": _faint(category.colour)}
    if category.faint:
        marker["color"] = _faint(category.colour)
    return marker


def _solid(category: Category) -> bool:
    return not (category.hatched or category.faint)


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"


def _labels(category: Category, names: Sequence[str]) -> dict[str, object]:
    return {
        "text": [escape(name) for name in names],
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "textfont": {"color": "#ffffff" if category.colour == BLUE else "#14181c", "size": LABEL_SIZE},
    }


def _figure(traces: list[dict[str, object]], cycles: int, y_axis: dict[str, object]) -> dict[str, object]:
    layout = {
        "barmode": "overlay",
        "bargap": 0,
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": "zoom",
        "uniformtext": {"minsize": LABEL_SIZE, "mode": "hide"},
        "xaxis": {"title": {"text": "cycles"}, "range": [0, cycles], "tickformat": "~s", "zeroline": False},
        "yaxis": y_axis,
    }
    return {"data": traces, "layout": layout}
