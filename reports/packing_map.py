"""The map of a packing: every buffer over its lifetime at its offset, and the bytes that are alive."""

from __future__ import annotations

from collections.abc import Iterator
from math import log2
from typing import Any

from chipmodel.answers.packing import PackingAnswer
from chipmodel.geometry.interval import Interval, merged
from chipmodel.model.live_sets import thinned
from chipmodel.model.plan import Buffer
from reports.chart import NO_CHART, Chart, Style, axis, bars, labelled, series, told
from reports.colours import BLUE, VERMILION
from reports.words import count, ratio, size

MapBox = tuple[Buffer, Interval]
"""A buffer, and one of its lifetimes."""
RAMP = ("#fde0a5", "#fbc571", "#f6a75a", "#e58a54", "#cb7053", "#ab5c55")
"""Colours from the smallest buffers to the largest, on each of which black is readable."""
EDGES = {"": ("paper", 0.5), "pinned": ("ink", 1.5), "unplaceable": (VERMILION, 2)}
"""Colour and width of a box's edge by its kind."""
LEVELS = {"bound": BLUE, "capacity": VERMILION}
"""Colours of lines across the map; others have the page's own."""
MOST_BOXES = 4_000
"""Boxes that are drawn, the largest of all: more take a browser seconds."""
MOST_NAMED = 400
"""With more boxes than this none has its name inside."""
MOST_POINTS = 5_000
"""Points of the curve of live bytes."""
NEAR = 2.5
"""A capacity above so many times the peak would leave most of the map empty."""


def packing_map(answer: PackingAnswer) -> Chart:
    """The map, without boxes where there is no plan; without anything where nothing is ever alive."""
    curve = thinned(answer.curve, MOST_POINTS)
    if len(curve) < 2:
        return NO_CHART
    start, stop = curve[0][0], max(curve[-1][0], curve[0][0] + 1)
    crest = max(answer.peak or 0, answer.lower_bound, *(total for _, total in curve), 1)
    capacity = answer.problem.capacity
    levels = [("bound", answer.lower_bound), *([] if answer.peak is None else [("peak", answer.peak)])]
    levels += [("capacity", capacity)] if capacity is not None and capacity <= NEAR * crest else []
    levels += [(memory.name, memory.stop) for memory in answer.problem.memories]
    top = max(crest, *(at for _, at in levels))
    traces = [
        *_boxes(answer),
        series(
            "live bytes",
            "lines",
            curve,
            [f"{count(total)} B alive at {count(at)}" for at, total in curve],
            Style("ink"),
            line={"shape": "hv", "width": 1.5},
        ),
        *(_level(name, at, (start, stop)) for name, at in levels),
    ]
    x = axis("time", range=[start, stop], tickformat=",d")
    y = axis("bytes", range=[0, top * 1.02], **labelled(_sizes(top)))
    return Chart(traces, {"xaxis": x, "yaxis": y, "showlegend": True}, 560)


def _level(name: str, at: int, ends: tuple[int, int]) -> dict[str, Any]:
    style = Style(LEVELS.get(name, "ink"), "dash")
    return series(f"{name} {size(at)}", "lines", [(end, at) for end in ends], (), style, line={"width": 1.5})


def _sizes(top: int) -> dict[float, str]:
    """Some eight multiples of a power of two, in words."""
    step = 1 << max(0, (top // 8).bit_length())
    return {at: size(at) for at in range(0, top + 1, step)}


def _boxes(answer: PackingAnswer) -> Iterator[dict[str, Any]]:
    """The boxes of all buffers with bytes, by kind: the largest first, since aliases lie on each other."""
    if answer.plan is None:
        return
    offsets, unplaceable = answer.plan.offsets, set(answer.explanation)
    boxes = [(b, span) for b in answer.problem.buffers for span in merged(b.live) if b.bytes]
    boxes.sort(key=lambda box: -box[0].bytes * len(box[1]))
    kinds: dict[str, list[MapBox]] = {kind: [] for kind in EDGES}
    for box in sorted(boxes[:MOST_BOXES], key=lambda box: -box[0].bytes):
        pinned = "" if box[0].pinned is None else "pinned"
        kinds["unplaceable" if box[0].name in unplaceable else pinned].append(box)
    sizes = [log2(b.bytes) for b, _ in boxes] or [0.0]
    for kind, members in kinds.items():
        edge, width = EDGES[kind]
        lows = [offsets[b.name] for b, _ in members]
        shares = [ratio(log2(b.bytes) - min(sizes), max(sizes) - min(sizes)) for b, _ in members]
        colours = [RAMP[round(share * (len(RAMP) - 1))] for share in shares]
        marker = {"color": colours, "line": {"color": edge, "width": width}}
        if members:
            yield bars(
                [(span.start, len(span)) for _, span in members],
                [low + b.bytes / 2 for (b, _), low in zip(members, lows, strict=True)],
                [b.bytes for b, _ in members],
                marker,
                [b.name for b, _ in members] if len(boxes) <= MOST_NAMED else None,
                showlegend=False,
                **told([_title(b, low, span) for (b, span), low in zip(members, lows, strict=True)]),
            )


def _title(buffer: Buffer, low: int, span: Interval) -> str:
    pinned = "" if buffer.pinned is None else "\npinned"
    return (
        f"{buffer.name}\n{count(buffer.bytes)} B at {count(low)} to {count(low + buffer.bytes)}\n"
        f"alive during [{count(span.start)}, {count(span.stop)}){pinned}"
    )
