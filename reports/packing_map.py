"""The map of a packing: every buffer over its lifetime at its offset, and the bytes that are alive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chipmodel.answers.packing import PackingAnswer
from chipmodel.geometry.interval import Interval, merged
from chipmodel.model.live_sets import thinned
from reports.chart import NO_CHART, Chart
from reports.colours import ORANGE, SKY, VERMILION
from reports.memory_chart import Category, MapBox, bytes_at, memory_chart
from reports.words import count

KINDS = {
    "free": Category("free", "buffers", SKY),
    "pinned": Category("pinned", "pinned", ORANGE),
    "unplaceable": Category("unplaceable", "cannot be placed together", VERMILION),
}
MOST_BOXES = 4_000
"""Boxes that are drawn, the largest of all: more take a browser seconds."""
MOST_POINTS = 5_000
"""Points of the curve of live bytes."""
NEAR = 2.5
"""A capacity above so many times the peak would leave most of the map empty."""

TIME: Mapping[str, Any] = {"title": {"text": "time"}, "tickformat": ",d"}


def packing_map(answer: PackingAnswer) -> Chart:
    """The map, without boxes where there is no plan; without anything where nothing is ever alive."""
    curve = thinned(answer.curve, MOST_POINTS)
    if len(curve) < 2:
        return NO_CHART
    start, stop = curve[0][0], max(curve[-1][0], curve[0][0] + 1)
    crest = max(answer.peak or 0, answer.lower_bound, *(total for _, total in curve), 1)
    capacity = answer.problem.capacity
    levels = {"bound": answer.lower_bound} | ({} if answer.peak is None else {"peak": answer.peak})
    levels |= {"capacity": capacity} if capacity is not None and capacity <= NEAR * crest else {}
    levels |= {memory.name: memory.stop for memory in answer.problem.memories}
    top = max(crest, *levels.values()) * 51 // 50
    return memory_chart(_boxes(answer), Interval(start, stop), top, levels, curve, TIME)


def _boxes(answer: PackingAnswer) -> dict[Category, list[MapBox]]:
    """The boxes of all buffers with bytes, by kind: the largest first, since aliases lie on each other."""
    groups: dict[Category, list[MapBox]] = {kind: [] for kind in KINDS.values()}
    if answer.plan is None:
        return groups
    offsets, unplaceable = answer.plan.offsets, set(answer.explanation)
    boxes = [(b, span) for b in answer.problem.buffers for span in merged(b.live) if b.bytes]
    boxes.sort(key=lambda box: -box[0].bytes * len(box[1]))
    for b, span in sorted(boxes[:MOST_BOXES], key=lambda box: -box[0].bytes):
        kind = "unplaceable" if b.name in unplaceable else "free" if b.pinned is None else "pinned"
        at = Interval(offsets[b.name], offsets[b.name] + b.bytes)
        life = f"alive during [{count(span.start)}, {count(span.stop)})"
        groups[KINDS[kind]].append(MapBox(b.name, at, span, f"\n{bytes_at(at)}\n{life}"))
    return groups
