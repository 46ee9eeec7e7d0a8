"""Lower bounds on the peak of any plan, by a sweep over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise

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


@dataclass(frozen=True, slots=True)
class _Span:
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
            for interval in merged(buffer.live):
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
    """The largest sum of whole bytes less the largest padding, and the first position that has it: only the
    topmost buffer needs no padding."""
    spans.sort(key=lambda s: (s.start, s.stop))
    most, where, total = 0, spans[0].start, 0
    ends: list[tuple[int, int]] = []
    paddings: list[tuple[int, int]] = []
    for number, span in enumerate(spans):
        while ends and ends[0][0] <= span.start:
            total -= heappop(ends)[1]
        total += span.whole
        heappush(ends, (span.stop, span.whole))
        heappush(paddings, (-span.padding, span.stop))
        if number + 1 < len(spans) and spans[number + 1].start == span.start:
            continue
        while paddings[0][1] <= span.start:
            heappop(paddings)
        if total + paddings[0][0] > most:
            most, where = total + paddings[0][0], span.start
    return most, where
