"""Who is alive when: the curve of live bytes, its highest point, and how tight it is around each buffer."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from chipmodel.model.interval import Interval, merged
from chipmodel.model.plan import Buffer, Plan, Problem

Profile = list[tuple[int, int]]
"""``(time, bytes alive from then on)``, ascending, at every change; ends with 0 bytes."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """The buffers alive during ``[start, stop)``, the largest first, and the bytes that they need."""

    start: int
    stop: int
    bytes: int
    buffers: tuple[Buffer, ...]


def profile(problem: Problem) -> Profile:
    """The bytes that must be somewhere at each time; colocated buffers need only the largest of them."""
    changes: Counter[int] = Counter()
    for span, size in _demands(problem):
        changes[span.start] += size
        changes[span.stop] -= size
    total = 0
    curve: Profile = []
    for time in sorted(t for t, change in changes.items() if change):
        total += changes[time]
        curve.append((time, total))
    return curve


def _demands(problem: Problem) -> Iterator[tuple[Interval, int]]:
    group_of = {name: index for index, group in enumerate(problem.colocated) for name in group}
    groups: dict[int, list[Buffer]] = {}
    for buffer in problem.buffers:
        if buffer.name in group_of:
            groups.setdefault(group_of[buffer.name], []).append(buffer)
        else:
            for span in merged(buffer.live):
                yield span, buffer.bytes
    for members in groups.values():
        yield from _together(members)


def _together(members: Sequence[Buffer]) -> Iterator[tuple[Interval, int]]:
    """A group of aliases as stretches that each need the bytes of the largest member alive."""
    spans = [(span, b.bytes) for b in members for span in merged(b.live)]
    cuts = sorted({time for span, _ in spans for time in (span.start, span.stop)})
    for start, stop in pairwise(cuts):
        most = max((size for span, size in spans if start in span), default=0)
        if most:
            yield Interval(start, stop), most


def largest(problem: Problem, curve: Profile) -> Crowd | None:
    """The first live set with the most bytes; none where no buffer is alive with any."""
    if not curve:
        return None
    index = max(range(len(curve)), key=lambda i: curve[i][1])
    start, most = curve[index]
    alive = [b for b in problem.buffers if b.bytes and any(start in span for span in b.live)]
    alive.sort(key=lambda b: -b.bytes)
    return Crowd(start, curve[index + 1][0], most, tuple(alive))


def pressures(problem: Problem, curve: Profile) -> list[int]:
    """For each buffer the most bytes that are alive at any time of its life, itself included."""
    times = [time for time, _ in curve]
    levels = [[total for _, total in curve]]
    while len(levels[-1]) > 1 and (1 << len(levels)) <= len(times):
        last, half = levels[-1], 1 << (len(levels) - 1)
        levels.append([max(a, b) for a, b in zip(last, last[half:], strict=False)])
    return [
        max((_most(times, levels, span) for span in b.live if len(span)), default=0) for b in problem.buffers
    ]


def _most(times: list[int], levels: list[list[int]], span: Interval) -> int:
    first, last = max(0, bisect_right(times, span.start) - 1), bisect_left(times, span.stop)
    if last <= first:
        return 0
    level = (last - first).bit_length() - 1
    row = levels[level]
    return max(row[first], row[last - (1 << level)])


def unused_bytes(problem: Problem, plan: Plan) -> int:
    """Bytes below the peak that no live buffer takes, at the position with the most live bytes of those
    at which a buffer that ends at the peak is alive. 0 where all waste is outside of these lives."""
    peak = plan.peak(problem)
    most = pressures(problem, profile(problem))
    tops = [
        most[i] for i, b in enumerate(problem.buffers) if b.bytes and plan.offsets[b.name] + b.bytes == peak
    ]
    return max(0, peak - max(tops, default=peak))
