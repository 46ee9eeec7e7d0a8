"""The map of SharedMemory over the cycles of a run: every buffer is a box, cycles wide and bytes high."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from chipmodel.answers.result import Result
from chipmodel.geometry.interval import Interval
from chipmodel.model.live_sets import thinned
from reports.chart import Chart
from reports.colours import VERMILION
from reports.memory_chart import Category, MapBox, bytes_at, memory_chart
from reports.run.bars import MOST_BARS
from reports.run.figures import BUFFERS
from reports.run.lifetimes import alive_bytes, lifetimes
from reports.run.network import buffer_ops
from reports.run.rolling_rows import RowsBox, row_words, rows_boxes
from reports.words import percent, ratio, size

ROWS = Category("held-rows", "rows in them", VERMILION, named=False)
LABELS = {category.key: category.label for category in BUFFERS}


def memory_map(result: Result, most: int = MOST_BARS) -> Chart:
    """Every buffer as a box at its address, at most ``most``, with the curve of live bytes and capacity."""
    spans = lifetimes(result)
    boxes = _boxes(result, spans)
    small = len(boxes) - most
    if small > 0:
        boxes = sorted(boxes, key=lambda each: -len(each[1].at) * len(each[1].span))[:most]
    groups = {c: [box for kind, box in boxes if kind == c.key] for c in BUFFERS}
    offsets = result.solved.plan.offsets
    groups[ROWS] = [_rows_box(each, offsets[each.buffer]) for each in rows_boxes(result, most)]
    top = _top(result)
    levels = {"capacity": result.capacity} if top >= result.capacity else {}
    profile = thinned(alive_bytes(result, spans), most)
    drawn = memory_chart(groups, Interval(0, result.trace.cycles), top, levels, profile)
    using = buffer_ops(result.schedule)
    ops = tuple(tuple(using.get(box.name, ()) for box in each) for each in groups.values() if each)
    remarks = [_scale(result, top)]
    if small > 0:
        remarks.append(f"The {small:,} boxes with the fewest bytes times cycles are not drawn.")
    return replace(drawn, remark=" ".join(filter(None, remarks)), ops=ops)


def _boxes(result: Result, spans: Mapping[str, tuple[Interval, ...]]) -> list[tuple[str, MapBox]]:
    """The kind of each buffer with its box in each span of cycles."""
    offsets, specs = result.solved.plan.offsets, result.schedule.buffers
    boxes: list[tuple[str, MapBox]] = []
    for buffer in (each for each in result.problem.buffers if each.name in offsets):
        kind = specs[buffer.name].kind if buffer.name in specs else "tensor"
        at = Interval(offsets[buffer.name], offsets[buffer.name] + buffer.bytes)
        for span in spans.get(buffer.name, ()):
            life = f"alive from cycle {span.start:,} to {span.stop:,}"
            boxes.append((kind, MapBox(buffer.name, at, span, f"\n{LABELS[kind]}: {bytes_at(at)}\n{life}")))
    return boxes


def _rows_box(rows: RowsBox, offset: int) -> MapBox:
    """Rows inside of a rolling buffer, at their addresses for as long as they are needed."""
    at = Interval(offset + rows.at.start, offset + rows.at.stop)
    words = (
        f" of {rows.tensor}\nmade by {rows.step}\n"
        f"{bytes_at(at)}, needed from cycle {rows.span.start:,} to {rows.span.stop:,}"
    )
    return MapBox(f"rows {row_words(rows.rows)} of {rows.of_rows:,}{rows.columns}", at, rows.span, words)


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
