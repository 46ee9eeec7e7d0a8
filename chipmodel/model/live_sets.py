"""Which buffers of a packing problem are alive when: the curve of live bytes and what follows from it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import ClassVar

from chipmodel.geometry.interval import Interval, merged
from chipmodel.model.plan import Buffer, Plan, Problem
from chipmodel.records import dataclass

LiveBytesCurve = list[tuple[int, int]]
"""``(time, bytes alive from then on)``, ascending, at every change; ends with 0 bytes."""


@dataclass(frozen=True, slots=True)
class AliveBuffers:
    """The buffers alive during ``[start, stop)``, the largest first, and the bytes that they need."""

    start: int
    stop: int
    bytes: int
    buffers: tuple[Buffer, ...]
    KEYS: ClassVar = ("start", "stop", "bytes", "buffers=names")

    @property
    def names(self) -> list[str]:
        """The names of the buffers."""
        return [buffer.name for buffer in self.buffers]


def live_bytes_curve(problem: Problem) -> LiveBytesCurve:
    """Sum the bytes alive at each time; a group of colocated buffers counts as its largest live member."""
    changes: dict[int, int] = defaultdict(int)
    for span, size in _live_spans(problem):
        changes[span.start] += size
        changes[span.stop] -= size
    total = 0
    curve: LiveBytesCurve = []
    for time in sorted(t for t, change in changes.items() if change):
        total += changes[time]
        curve.append((time, total))
    return curve


def _live_spans(problem: Problem) -> Iterator[tuple[Interval, int]]:
    """Intervals and the bytes that are needed throughout each."""
    group_of = {name: index for index, group in enumerate(problem.colocated) for name in group}
    groups: dict[int, list[Buffer]] = {}
    for buffer in problem.buffers:
        if buffer.name in group_of:
            groups.setdefault(group_of[buffer.name], []).append(buffer)
        else:
            for span in buffer.live if len(buffer.live) == 1 else merged(buffer.live):
                yield span, buffer.bytes
    for members in groups.values():
        yield from _group_spans(members)


def _group_spans(members: Sequence[Buffer]) -> Iterator[tuple[Interval, int]]:
    """Intervals of a colocated group, each with the bytes of its largest live member."""
    spans = [(span, b.bytes) for b in members for span in merged(b.live)]
    cuts = sorted({time for span, _ in spans for time in (span.start, span.stop)})
    for start, stop in pairwise(cuts):
        if most := max((size for span, size in spans if start in span), default=0):
            yield Interval(start, stop), most


def thinned(curve: LiveBytesCurve, most: int) -> LiveBytesCurve:
    """Reduce ``curve`` to about ``most`` points: the highest of every run of neighbours, and the last."""
    run = -(-len(curve) // most)
    if run <= 1:
        return curve
    return [
        *((curve[i][0], max(t for _, t in curve[i : i + run])) for i in range(0, len(curve), run)),
        curve[-1],
    ]


def largest_alive(problem: Problem, curve: LiveBytesCurve) -> AliveBuffers | None:
    """The first live set with the most bytes; None where no buffer with any bytes is alive."""
    if not curve:
        return None
    index = max(range(len(curve)), key=lambda i: curve[i][1])
    start, most = curve[index]
    alive = [b for b in problem.buffers if b.bytes and any(start in span for span in b.live)]
    alive.sort(key=lambda b: -b.bytes)
    return AliveBuffers(start, curve[index + 1][0], most, tuple(alive))


def highest_live_bytes(problem: Problem, curve: LiveBytesCurve) -> list[int]:
    """For each buffer the highest point of ``curve`` during its lifetime, itself included."""
    times = [time for time, _ in curve]
    levels = [[total for _, total in curve]]
    while len(levels[-1]) > 1 and (1 << len(levels)) <= len(times):
        last, half = levels[-1], 1 << (len(levels) - 1)
        levels.append([max(a, b) for a, b in zip(last, last[half:], strict=False)])
    return [
        max((_range_maximum(times, levels, span) for span in b.live if len(span)), default=0)
        for b in problem.buffers
    ]


def _range_maximum(times: list[int], levels: list[list[int]], span: Interval) -> int:
    """The maximum over ``span`` by a sparse table: ``levels[k][i]`` is that of ``2**k`` points from ``i``."""
    first, last = max(0, bisect_right(times, span.start) - 1), bisect_left(times, span.stop)
    if last <= first:
        return 0
    level = (last - first).bit_length() - 1
    row = levels[level]
    return max(row[first], row[last - (1 << level)])


def unused_bytes(problem: Problem, plan: Plan) -> int:
    """External fragmentation of a plan at its peak: bytes below the peak that no live buffer takes.

    Measured while a buffer that ends highest is alive, at the position with the most live bytes; 0 where all
    waste is outside of these lifetimes.
    """
    top = plan.top(problem)
    most = highest_live_bytes(problem, live_bytes_curve(problem))
    tops = [
        most[i] for i, b in enumerate(problem.buffers) if b.bytes and plan.offsets[b.name] + b.bytes == top
    ]
    return max(0, plan.peak(problem) - max(tops, default=top))


def external_fragmentation(free_blocks: Iterable[int]) -> int:
    """The bytes of all free blocks of a memory except the largest, at one moment.

    The memory has a size here, and the free block at its top counts; ``unused_bytes`` is the waste of a whole
    plan. It is the numerator of the common index ``1 - largest free block / all free bytes``. Source of the
    term: Wilson, Johnstone, Neely and Boles, "Dynamic Storage Allocation: A Survey and Critical Review", IWMM
    1995.
    """
    blocks = tuple(free_blocks)
    return sum(blocks) - max(blocks, default=0)
