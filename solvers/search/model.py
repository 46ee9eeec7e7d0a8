"""A problem as the search sees it: items, sections of time, and the offsets that each item may have.

An **item** is a buffer, or a group of colocated buffers: everything that has one offset. A **section** is
a stretch of time in which the same buffers are alive; one whose live set lies within its neighbour's says
nothing of its own and is left out. An item has a height in each of its sections: the size of its largest
buffer that is alive there. Two items conflict where they share a section. What is not about time is put
in the same terms: a separated pair has a section of its own, and so has an item that is never alive.

Pins, memories and capacity become the *ranges* of offsets that an item may have. An item that must be
apart from others has one *variant* for each memory, every other item a single one.

All numbers are divided by ``unit``, a common divisor of everything that an offset of a plan pushed down
as far as it goes is made of: sizes, pins, starts of memories, and alignments that do not divide those.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd, lcm

from chipmodel.model.interval import merged
from chipmodel.model.plan import Buffer, Plan, Problem

HUGE = 1 << 60
"""No number of the search may reach it, so that no sum of two overflows."""
MOST_ITEMS = 4000
"""Beyond it the table of conflicts would take too much memory and time."""


class Unsuited(Exception):
    """The search cannot take this problem: it says why, and proves nothing."""


class Contradiction(Exception):
    """The constraints alone, before any search, rule out every plan; ``buffers`` are those that clash."""

    def __init__(self, why: str, buffers: Sequence[str]) -> None:
        super().__init__(why)
        self.buffers = tuple(buffers)


@dataclass(frozen=True, slots=True)
class Group:
    """Colocated buffers, or one buffer alone."""

    members: tuple[Buffer, ...]
    sections: tuple[tuple[int, int], ...]
    """(section, height in bytes), by section."""
    align: int
    variants: tuple[tuple[int, tuple[tuple[int, int], ...]], ...]
    """(memory or -1, ranges of offsets without regard to capacity)."""
    apart: tuple[int, ...]
    restricted: bool
    """Whether offsets that the problem allows were left out (buffers of no bytes at a memory's edge)."""

    @property
    def size(self) -> int:
        return max(b.bytes for b in self.members)

    @property
    def loose(self) -> bool:
        """Whether it is as high in all its sections, and free to be anywhere within the capacity."""
        even = all(height == self.size for _, height in self.sections)
        return even and self.align == 1 and self.variants == ((-1, ((0, HUGE),)),) and not self.apart


@dataclass(frozen=True, slots=True)
class Model:
    """A problem ready to be searched at any capacity."""

    groups: tuple[Group, ...]
    sections: int
    unit: int
    most: int
    """No plan pushed down as far as it goes is higher, in bytes."""

    @property
    def complete(self) -> bool:
        """Whether the search's "infeasible" holds for the problem."""
        return not any(group.restricted for group in self.groups)

    def loads(self) -> list[int]:
        """The sum of heights in each section, in bytes."""
        loads = [0] * self.sections
        for group in self.groups:
            for section, height in group.sections:
                loads[section] += height
        return loads

    def bound(self) -> int:
        """The greatest of these sums: no plan is lower."""
        return max(self.loads(), default=0)

    def crowd(self) -> tuple[str, ...]:
        """The buffers of the section with the greatest sum."""
        loads = self.loads()
        fullest = loads.index(max(loads))
        inside = (group for group in self.groups if any(s == fullest for s, _ in group.sections))
        return tuple(buffer.name for group in inside for buffer in group.members)


def model_of(problem: Problem) -> Model:
    """The model of ``problem``. Raises Contradiction, or Unsuited where it is too large."""
    if len(problem.buffers) > MOST_ITEMS:
        raise Unsuited(f"more than {MOST_ITEMS} buffers")
    owner, members = _groups(problem)
    live = _live_sets(problem)
    pairs = _pairs(problem, owner, members)
    sections = [*live, *[{a, b} for a, b in pairs]]
    of_buffer: dict[int, list[int]] = {}
    for number, names in enumerate(sections):
        for index in names:
            of_buffer.setdefault(index, []).append(number)
    count = len(sections)
    groups: list[Group] = []
    apart = _apart(problem, owner)
    for number, group in enumerate(members):
        heights: dict[int, int] = {}
        for index in group:
            for section in of_buffer.get(index, ()):
                heights[section] = max(heights.get(section, 0), problem.buffers[index].bytes)
        if not heights:
            heights[count] = max(problem.buffers[index].bytes for index in group)
            count += 1
        buffers = tuple(problem.buffers[index] for index in group)
        groups.append(_group(problem, buffers, heights, tuple(sorted(apart.get(number, ())))))
    unit = _unit(groups)
    most = _most(groups)
    if most // unit >= HUGE:
        raise Unsuited("sizes too large for 64-bit sums")
    return Model(tuple(groups), count, unit, most)


def _groups(problem: Problem) -> tuple[list[int], list[list[int]]]:
    """The group of each buffer, and the buffers of each group."""
    index = {b.name: i for i, b in enumerate(problem.buffers)}
    parent = list(range(len(problem.buffers)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for group in problem.colocated:
        for a, b in pairwise(group):
            parent[root(index[b])] = root(index[a])
    owner: list[int] = []
    members: list[list[int]] = []
    number: dict[int, int] = {}
    for i in range(len(parent)):
        if root(i) not in number:
            number[root(i)] = len(members)
            members.append([])
        owner.append(number[root(i)])
        members[owner[i]].append(i)
    _check_groups(problem, members)
    return owner, members


def _check_groups(problem: Problem, members: list[list[int]]) -> None:
    """Members that only a third colocates may be neither alive together, nor separated, nor apart."""
    groups = [set(group) for group in problem.colocated]
    separated = {frozenset(pair) for pair in problem.separated}
    apart = {frozenset(pair) for pair in problem.apart} if problem.memories else set[frozenset[str]]()
    for group in members:
        for at, i in enumerate(group):
            for j in group[:at]:
                a, b = problem.buffers[i], problem.buffers[j]
                pair = frozenset((a.name, b.name))
                if any(pair <= names for names in groups) or not (a.bytes and b.bytes):
                    continue
                if a.conflicts(b) or pair in separated or pair in apart:
                    raise Contradiction("colocated through others, yet in conflict", (a.name, b.name))


def _live_sets(problem: Problem) -> list[set[int]]:
    """The buffers alive in each section of time, in order, without those within a neighbour's."""
    starts: dict[int, list[int]] = {}
    stops: dict[int, list[int]] = {}
    for i, buffer in enumerate(problem.buffers):
        if buffer.bytes:
            for span in merged(buffer.live):
                starts.setdefault(span.start, []).append(i)
                stops.setdefault(span.stop, []).append(i)
    live: set[int] = set()
    result: list[set[int]] = []
    grown = False
    for time in sorted({*starts, *stops}):
        if time in stops:
            if grown:
                result.append(set(live))
            grown = False
            live.difference_update(stops[time])
        if time in starts:
            grown = True
            live.update(starts[time])
    return result


def _pairs(problem: Problem, owner: list[int], members: list[list[int]]) -> list[tuple[int, int]]:
    """Separated buffers that lifetimes and groups do not decide already."""
    index = {b.name: i for i, b in enumerate(problem.buffers)}
    result: list[tuple[int, int]] = []
    for one, other in problem.separated:
        a, b = index[one], index[other]
        first, second = problem.buffers[a], problem.buffers[b]
        if owner[a] != owner[b] and first.bytes and second.bytes and not first.conflicts(second):
            result.append((a, b))
    return result


def _apart(problem: Problem, owner: list[int]) -> dict[int, set[int]]:
    result: dict[int, set[int]] = {}
    if not problem.memories:
        return result
    index = {b.name: i for i, b in enumerate(problem.buffers)}
    for one, other in problem.apart:
        a, b = owner[index[one]], owner[index[other]]
        if a != b:
            result.setdefault(a, set()).add(b)
            result.setdefault(b, set()).add(a)
    return result


def _group(
    problem: Problem, members: tuple[Buffer, ...], heights: dict[int, int], apart: tuple[int, ...]
) -> Group:
    align = lcm(*(b.alignment for b in members))
    pins = {b.pinned for b in members if b.pinned is not None}
    names = tuple(b.name for b in members)
    if len(pins) > 1:
        raise Contradiction("colocated, yet pinned to several offsets", names)
    restricted = False
    by_memory: list[tuple[int, tuple[int, int]]] = []
    variants: tuple[tuple[int, tuple[tuple[int, int], ...]], ...]
    if problem.memories:
        for k in sorted(range(len(problem.memories)), key=lambda k: problem.memories[k].start):
            low, high, cut = _range(problem, members, k)
            restricted |= cut
            if low <= high:
                by_memory.append((k, (low, high)))
    else:
        by_memory.append((-1, (0, HUGE)))
    pin = next(iter(pins), None)
    if pin is not None:
        if pin % align:
            raise Contradiction(f"pinned to {pin}, which is not aligned to {align}", names)
        by_memory = [(k, (pin, pin)) for k, (low, high) in by_memory if low <= pin <= high]
    if not by_memory and not restricted:
        raise Contradiction("no memory holds it", names)
    if apart:
        variants = tuple((k, (span,)) for k, span in by_memory)
    else:
        variants = ((-1, tuple(span for _, span in by_memory)),)
    sections = tuple(sorted(heights.items()))
    return Group(members, sections, align, variants, apart, restricted)


def _range(problem: Problem, members: Iterable[Buffer], k: int) -> tuple[int, int, bool]:
    """The offsets, inclusive, at which all of ``members`` lie in memory ``k``; whether some were left out.

    A buffer of no bytes at the edge between two memories belongs to the one named first: rather than
    to reason about it the edges are left out for such a buffer.
    """
    memory = problem.memories[k]
    low, high, cut = memory.start, memory.stop, False
    for buffer in members:
        if buffer.memories and memory.name not in buffer.memories:
            return 0, -1, cut
        high = min(high, memory.stop - buffer.bytes)
        others = (m for m in problem.memories if m.name != memory.name)
        if not buffer.bytes and any(m.stop == memory.start or m.start == memory.stop for m in others):
            low, high, cut = max(low, memory.start + 1), min(high, memory.stop - 1), True
    return low, high, cut


def _unit(groups: Sequence[Group]) -> int:
    unit = 0
    for group in groups:
        unit = gcd(unit, *(height for _, height in group.sections), *(b.bytes for b in group.members))
        for _, ranges in group.variants:
            unit = gcd(unit, *(low for low, _ in ranges))
    odd = True
    while odd:
        odd = False
        for align in {group.align for group in groups}:
            if not unit or (unit % align and align % unit):
                unit, odd = gcd(unit, align), True
    return unit or 1


def _most(groups: Sequence[Group]) -> int:
    """A height that no plan pushed down as far as it goes exceeds."""
    starts = [low for group in groups for _, ranges in group.variants for low, _ in ranges]
    return max(starts, default=0) + sum(group.size + group.align for group in groups)


def plan_of(problem: Problem, model: Model, offsets: Sequence[int]) -> Plan:
    """The plan in which each item is at its offset, in units."""
    found: dict[str, int] = {}
    for group, offset in zip(model.groups, offsets, strict=True):
        for buffer in group.members:
            found[buffer.name] = int(offset) * model.unit
    return Plan({b.name: found[b.name] for b in problem.buffers})
