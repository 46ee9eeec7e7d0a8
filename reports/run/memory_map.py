"""The map of SharedMemory over the cycles of a run: every buffer is a box, cycles wide and bytes high."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from chipmodel.answers.result import Result
from chipmodel.geometry.interval import Interval, hull
from chipmodel.model.live_sets import thinned
from chipmodel.records import dataclass
from reports.colours import VERMILION
from reports.run.bars import MOST_BARS
from reports.run.figures import (
    BUFFERS,
    LABELLED,
    Category,
    RunChart,
    box_trace,
    figure,
    hover,
    level_trace,
    scatter,
)
from reports.run.lifetimes import alive_bytes, lifetimes
from reports.run.network import buffer_ops
from reports.run.rolling_rows import RowsBox, row_words, rows_boxes
from reports.words import KIB, percent, ratio, size

ROWS = Category("held-rows", "rows in them", VERMILION)


@dataclass(frozen=True, slots=True)
class BufferBox:
    """A buffer during one span of cycles."""

    name: str
    kind: str
    offset: int
    bytes: int
    span: Interval


def memory_map(result: Result, most: int = MOST_BARS) -> RunChart:
    """Every buffer as a box at its address, at most ``most``, with the curve of live bytes and capacity."""
    spans = lifetimes(result)
    boxes = _boxes(result, spans)
    hulls = len(boxes) > most
    if hulls:
        boxes = _boxes(result, {name: (hull(times),) for name, times in spans.items() if times})
    small = len(boxes) - most
    if small > 0:
        boxes = sorted(boxes, key=lambda b: -b.bytes * len(b.span))[:most]
    legend = tuple(c for c in BUFFERS if any(b.kind == c.key for b in boxes))
    labelled = len(boxes) <= LABELLED
    of_kind = [[b for b in boxes if b.kind == c.key] for c in legend]
    traces = [_box_trace(c, each, labelled) for c, each in zip(legend, of_kind, strict=True)]
    using = buffer_ops(result.schedule)
    ops = [tuple(using.get(b.name, ()) for b in each) for each in of_kind]
    rows = rows_boxes(result, most)
    if rows:
        traces.append(_rows_trace(result, rows))
        legend = (*legend, ROWS)
    profile = thinned(alive_bytes(result, spans), most)
    top = _top(result)
    lines = [Category("alive", "live bytes", "ink")]
    traces.append(_profile_trace(profile))
    if top >= result.capacity:
        lines.append(Category("capacity", f"capacity {size(result.capacity)}", "ink", hatched=True))
        words = f"capacity {result.capacity:,} B"
        traces.append(level_trace("capacity", result.capacity / KIB, result.trace.cycles, words, 2.5))
    axis: dict[str, object] = {
        "title": {"text": "address (KiB)"},
        "range": [0, top / KIB],
        "zeroline": False,
        "rangemode": "tozero",
    }
    remarks = [_scale(result, top)]
    if hulls:
        remarks.append(
            "Every buffer is one box from its first to its last use, over all iterations of loops."
        )
    if small > 0:
        remarks.append(f"The {small:,} buffers with the fewest bytes times cycles are not drawn.")
    return RunChart(
        figure(traces, result.trace.cycles, axis),
        (*legend, *lines),
        len(boxes),
        " ".join(r for r in remarks if r),
        ops=tuple(ops),
    )


def _boxes(result: Result, spans: Mapping[str, tuple[Interval, ...]]) -> list[BufferBox]:
    offsets = result.solved.plan.offsets
    specs = result.schedule.buffers
    return [
        BufferBox(b.name, specs[b.name].kind if b.name in specs else "tensor", offsets[b.name], b.bytes, span)
        for b in result.problem.buffers
        if b.name in offsets
        for span in spans.get(b.name, ())
    ]


def _box_trace(category: Category, boxes: list[BufferBox], labelled: bool) -> dict[str, object]:
    lines = (
        "<b>%{customdata[0]}</b>",
        f"{category.label}: %{{customdata[1]:,}} B at %{{customdata[2]:,}} to %{{customdata[3]:,}}",
        "alive from cycle %{base:,} to %{customdata[4]:,}",
    )
    places = [Interval(b.offset, b.offset + b.bytes) for b in boxes]
    tooltips = [[escape(b.name), b.bytes, b.offset, b.offset + b.bytes, b.span.stop] for b in boxes]
    names = [b.name for b in boxes] if labelled else None
    return box_trace(category, places, [b.span for b in boxes], tooltips, lines, names)


def _rows_trace(result: Result, rows: tuple[RowsBox, ...]) -> dict[str, object]:
    """The rows inside of rolling buffers, at their addresses for as long as they are needed."""
    lines = (
        "<b>rows %{customdata[0]} of %{customdata[1]:,}%{customdata[8]}</b> of %{customdata[2]}",
        "made by %{customdata[3]}; the buffer then holds rows %{customdata[4]}",
        "%{customdata[5]:,} B at %{customdata[6]:,}, needed from cycle %{base:,} to %{customdata[7]:,}",
    )
    offsets = result.solved.plan.offsets
    places = [Interval(offsets[b.buffer] + b.at.start, offsets[b.buffer] + b.at.stop) for b in rows]
    tooltips = [
        [
            *(row_words(b.rows), b.of_rows, escape(b.tensor), escape(b.step), row_words(b.held)),
            *(len(b.at), place.start, b.span.stop, b.columns),
        ]
        for b, place in zip(rows, places, strict=True)
    ]
    return box_trace(ROWS, places, [b.span for b in rows], tooltips, lines)


def _profile_trace(profile: list[tuple[int, int]]) -> dict[str, object]:
    return scatter(
        "lines",
        [cycle for cycle, _ in profile],
        [total / KIB for _, total in profile],
        hover("%{customdata:,} B live from cycle %{x:,}"),
        name="live bytes",
        customdata=[total for _, total in profile],
        line={"shape": "hv", "width": 1.5, "color": "ink"},
    )


def _top(result: Result) -> int:
    """The highest address shown: above the capacity, unless most of the chart would be empty."""
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
