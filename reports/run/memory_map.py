"""The map of SharedMemory over the cycles of a run: every buffer is a box, cycles wide and bytes high."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chipmodel.answers.result import Result
from chipmodel.geometry.interval import Interval, hull
from chipmodel.model.live_sets import thinned
from chipmodel.records import dataclass
from reports.chart import Style, series
from reports.colours import VERMILION
from reports.run.bars import MOST_BARS
from reports.run.figures import (
    BUFFERS,
    LABELLED,
    Category,
    MapBox,
    RunChart,
    box_trace,
    bytes_at,
    figure,
    level_trace,
    memory_axis,
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
    traces = [
        box_trace(c, [_map_box(c, box) for box in each], labelled)
        for c, each in zip(legend, of_kind, strict=True)
    ]
    using = buffer_ops(result.schedule)
    ops = [tuple(using.get(b.name, ()) for b in each) for each in of_kind]
    rows = rows_boxes(result, most)
    if rows:
        offsets = result.solved.plan.offsets
        traces.append(box_trace(ROWS, [_rows_box(each, offsets[each.buffer]) for each in rows], False))
        legend = (*legend, ROWS)
    profile = thinned(alive_bytes(result, spans), most)
    top = _top(result)
    lines = [Category("alive", "live bytes", "ink")]
    traces.append(_profile_trace(profile))
    if top >= result.capacity:
        lines.append(Category("capacity", f"capacity {size(result.capacity)}", "ink", hatched=True))
        words = f"capacity {result.capacity:,} B"
        traces.append(level_trace("capacity", result.capacity / KIB, result.trace.cycles, words, 2.5))
    remarks = [_scale(result, top)]
    if hulls:
        remarks.append(
            "Every buffer is one box from its first to its last use, over all iterations of loops."
        )
    if small > 0:
        remarks.append(f"The {small:,} buffers with the fewest bytes times cycles are not drawn.")
    return RunChart(
        figure(traces, result.trace.cycles, memory_axis(top)),
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


def _map_box(category: Category, box: BufferBox) -> MapBox:
    at = Interval(box.offset, box.offset + box.bytes)
    life = f"alive from cycle {box.span.start:,} to {box.span.stop:,}"
    return MapBox(box.name, at, box.span, f"\n{category.label}: {bytes_at(at)}\n{life}")


def _rows_box(rows: RowsBox, offset: int) -> MapBox:
    """Rows inside of a rolling buffer, at their addresses for as long as they are needed."""
    at = Interval(offset + rows.at.start, offset + rows.at.stop)
    words = (
        f" of {rows.tensor}\nmade by {rows.step}\n"
        f"{bytes_at(at)}, needed from cycle {rows.span.start:,} to {rows.span.stop:,}"
    )
    return MapBox(f"rows {row_words(rows.rows)} of {rows.of_rows:,}{rows.columns}", at, rows.span, words)


def _profile_trace(profile: list[tuple[int, int]]) -> dict[str, Any]:
    return series(
        "live bytes",
        "lines",
        [(cycle, total / KIB) for cycle, total in profile],
        [f"{total:,} B live from cycle {cycle:,}" for cycle, total in profile],
        Style("ink"),
        line={"shape": "hv", "width": 1.5},
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
