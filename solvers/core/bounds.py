"""Lower bounds on the peak of any plan, by a sweep over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import accumulate, pairwise
from typing import NamedTuple

from chipmodel.geometry.groups import joined
from chipmodel.geometry.interval import Interval, merged
from chipmodel.model.certificate import LiveSet
from chipmodel.model.plan import Buffer, Problem


def contention(problem: Problem) -> int:
    """Return the largest sum of live bytes at any position: no plan's peak can be below it.

    Of colocated buffers, which may share bytes, only the largest that is alive counts.
    """
    return largest_live_set(problem).bytes


def largest_live_set(problem: Problem, unit: int = 1) -> LiveSet:
    """Return the live set that takes the most bytes, of the buffers whose alignment is a multiple of
    ``unit``.

    They all start at multiples of ``unit``, so every one but the topmost takes whole units.
    """
    spans = list(_spans(problem, unit))
    if not spans:
        return LiveSet(0, 0, (), unit)
    size, position = _heaviest(spans)
    names = [span.name for span in spans if span.start <= position < span.stop]
    return LiveSet(size, position, tuple(names), unit)


def rigid_groups(problem: Problem) -> tuple[tuple[int, ...], ...]:
    """Return groups of buffers (by index, ascending) that must share one offset: colocated groups, joined
    where they have a buffer in common. Only groups of two or more."""
    return tuple(group for group in rigid(problem) if len(group) > 1) if problem.colocated else ()


def rigid(problem: Problem) -> list[tuple[int, ...]]:
    """Return all buffers (by index) in groups that must share one offset, ordered by their first member."""
    if not problem.colocated:
        return [(index,) for index in range(len(problem.buffers))]
    index = {b.name: i for i, b in enumerate(problem.buffers)}
    groups = ([index[name] for name in group if name in index] for group in problem.colocated)
    return joined(len(index), groups)


class _Span(NamedTuple):
    start: int
    stop: int
    whole: int
    """Bytes rounded up to the unit."""
    padding: int
    """Bytes added by that."""
    name: str


def _spans(problem: Problem, unit: int) -> Iterator[_Span]:
    """When each buffer is alive; of a rigid group, at any time, only its largest live member."""
    groups = rigid_groups(problem)
    grouped = {i for group in groups for i in group}
    for i, buffer in enumerate(problem.buffers):
        if i not in grouped and buffer.bytes and not buffer.alignment % unit:
            for interval in buffer.live if len(buffer.live) == 1 else merged(buffer.live):
                if interval.start < interval.stop:
                    yield _span(interval, buffer, unit)
    for group in groups:
        members = [problem.buffers[i] for i in group]
        yield from _group_spans([b for b in members if b.bytes and not b.alignment % unit], unit)


def _group_spans(members: Sequence[Buffer], unit: int) -> Iterator[_Span]:
    edges = sorted({edge for b in members for i in b.live if len(i) for edge in (i.start, i.stop)})
    by_size = sorted(members, key=lambda b: -b.bytes)
    for start, stop in pairwise(edges):
        largest = next((b for b in by_size if any(start in i for i in b.live)), None)
        if largest is not None:
            yield _span(Interval(start, stop), largest, unit)


def _span(interval: Interval, buffer: Buffer, unit: int) -> _Span:
    whole = -(-buffer.bytes // unit) * unit
    return _Span(interval.start, interval.stop, whole, whole - buffer.bytes, buffer.name)


def _heaviest(spans: list[_Span]) -> tuple[int, int]:
    """The largest sum of bytes less the largest padding, which the topmost needs not, and where it is."""
    spans.sort()
    changes: dict[int, int] = defaultdict(int)
    for start, stop, whole, _, _ in spans:
        changes[start] += whole
        changes[stop] -= whole
    times = sorted(changes)
    alive = dict(zip(times, accumulate(changes[time] for time in times), strict=True))
    if not any(span.padding for span in spans):
        where = max(alive, key=alive.__getitem__)
        return alive[where], where
    most, where = 0, spans[0].start
    paddings: list[tuple[int, int]] = []
    for span, after in zip(spans, [*spans[1:], None], strict=True):
        heappush(paddings, (-span.padding, span.stop))
        if after is not None and after.start == span.start:
            continue
        while paddings[0][1] <= span.start:
            heappop(paddings)
        if alive[span.start] + paddings[0][0] > most:
            most, where = alive[span.start] + paddings[0][0], span.start
    return most, where
