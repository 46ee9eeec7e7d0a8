"""The map of a packing: every buffer as a box over time and bytes, below it the sum of all live bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import log2

from chipmodel.answers.packing import PackingAnswer
from chipmodel.geometry.interval import Interval, merged
from chipmodel.model.live_sets import thinned
from chipmodel.model.plan import Buffer
from reports.svg_chart import ChartAxis, ChartBox, ChartLine, SvgChart, stepped
from reports.words import count, percent, ratio, size

WIDTH, HEIGHT, LEFT, RIGHT = 1160, 520, 76, 190
"""Pixels of the map and of its margins."""
RAMP = ("#fde0a5", "#fbc571", "#f6a75a", "#e58a54", "#cb7053", "#ab5c55")
"""Colours from the smallest buffers to the largest, on each of which black is readable."""
MOST_BOXES = 4_000
"""Boxes that are drawn, the largest of all: more take a browser seconds."""
MOST_POINTS = 5_000
"""Points of the curve of live bytes."""
NEAR = 2.5
"""A capacity above so many times the peak would leave most of the map empty."""


def packing_map(answer: PackingAnswer, pressures: Sequence[int]) -> SvgChart | None:
    """The map, without boxes where there is no plan; None where nothing is ever alive."""
    curve = thinned(answer.curve, MOST_POINTS)
    if len(curve) < 2:
        return None
    start, stop = curve[0][0], max(curve[-1][0], curve[0][0] + 1)
    crest = max(answer.peak or 0, answer.lower_bound, *(total for _, total in curve), 1)
    capacity = answer.problem.capacity
    levels = [("bound", answer.lower_bound), *([] if answer.peak is None else [("peak", answer.peak)])]
    levels += [("capacity", capacity)] if capacity is not None and capacity <= NEAR * crest else []
    levels += [(memory.name, memory.stop) for memory in answer.problem.memories]
    lines = (
        ChartLine("", "alive", path=stepped(curve)),
        *(ChartLine(f"{name} {size(at)}", name, path=((start, at), (stop, at))) for name, at in levels),
    )
    top = max(crest, *(at for _, at in levels))
    return SvgChart(
        "map",
        WIDTH,
        HEIGHT,
        ChartAxis("time", (start, stop), _labels(start, stop, 10, count), log=False),
        ChartAxis("bytes", (0, top), _labels(0, top, 2, size), log=False),
        lines,
        left=LEFT,
        right=RIGHT,
        boxes=tuple(_boxes(answer, pressures)),
    )


def _labels(low: int, high: int, base: int, text: Callable[[int], str]) -> tuple[tuple[float, str], ...]:
    """Some eight multiples of a round number: a power of two, or 1, 2 or 5 times one of ten."""
    least = max(1.0, (high - low) / 8)
    digits = (1,) if base == 2 else (1, 2, 5)
    step = next(s for power in range(64) for digit in digits if (s := digit * base**power) >= least)
    return tuple((at, text(at)) for at in range(-(-low // step) * step, high + 1, step))


def _boxes(answer: PackingAnswer, pressures: Sequence[int]) -> Iterator[ChartBox]:
    """The boxes of all buffers that have bytes, the largest first: aliases lie on each other."""
    if answer.plan is None:
        return
    offsets, most = answer.plan.offsets, max(pressures, default=1)
    buffers = answer.problem.buffers
    found = [(i, b, span) for i, b in enumerate(buffers) for span in merged(b.live) if b.bytes]
    found.sort(key=lambda box: -box[1].bytes * len(box[2]))
    sizes = [log2(b.bytes) for _, b, _ in found] or [0.0]
    unplaceable = set(answer.explanation)
    for row, buffer, span in sorted(found[:MOST_BOXES], key=lambda box: -box[1].bytes):
        share = ratio(log2(buffer.bytes) - min(sizes), max(sizes) - min(sizes))
        low = offsets[buffer.name]
        kind = "unplaceable" if buffer.name in unplaceable else "" if buffer.pinned is None else "pinned"
        yield ChartBox(
            (span.start, low),
            (span.stop, low + buffer.bytes),
            kind,
            RAMP[round(share * (len(RAMP) - 1))],
            buffer.name,
            _title(buffer, low, span, ratio(pressures[row], most)),
            row,
        )


def _title(buffer: Buffer, low: int, span: Interval, pressure: float) -> str:
    pinned = "" if buffer.pinned is None else "\npinned"
    return (
        f"{buffer.name}\n{count(buffer.bytes)} B at {count(low)} to {count(low + buffer.bytes)}\n"
        f"alive during [{count(span.start)}, {count(span.stop)})\nmemory pressure {percent(pressure)}{pinned}"
    )
