"""A problem as the compiled search sees it: items, sections of time, and the offsets each item may have.

An **item** is a buffer, or a group of colocated buffers: everything that has one offset. A **section** is
an interval of time during which the set of live buffers does not change; a section whose live set is part of
its neighbour's is left out, as it adds no constraint. An item has a height in each of its sections: the size
of its largest buffer alive there. Two items conflict if they share a section. Constraints that are not about
time are expressed in the same way: a separated pair has a section of its own, and so has an item that is
never alive.

Pins, memories and capacity become the *ranges* of offsets that an item may have. An item that must be in
another memory than others has one *variant* for each memory, every other item a single one.

All numbers are divided by ``unit``, which divides all offsets in a plan whose buffers lie as low as possible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import lcm

from chipmodel.model.plan import Buffer, Plan, Problem
from chipmodel.records import dataclass
from solvers.core.bounds import rigid
from solvers.core.live_sets import live_sets
from solvers.core.preprocess import offset_unit

HUGE = 1 << 60
"""Limit of all numbers in the search: the sum of any two fits in 64 bits."""
MAX_BUFFERS = 4000
"""Largest problem that is searched: the table of conflicts grows with the square (16 MB of booleans here)."""


class NotSearchable(Exception):
    """The problem is not for the search, for the reason given; this proves nothing."""


class ConstraintClash(Exception):
    """The constraints alone rule out every plan, before any search; ``buffers`` are those involved."""

    def __init__(self, why: str, buffers: Sequence[str]) -> None:
        super().__init__(why)
        self.buffers = tuple(buffers)


@dataclass(frozen=True, slots=True)
class SearchItem:
    """A buffer, or a group of colocated buffers: everything that has one offset."""

    members: tuple[Buffer, ...]
    sections: tuple[tuple[int, int], ...]
    """(section, height in bytes), by section."""
    align: int
    variants: tuple[tuple[int, tuple[tuple[int, int], ...]], ...]
    """(index of the memory or -1, inclusive ranges of offsets regardless of the capacity)."""
    apart: tuple[int, ...]
    """Items that must be in another memory."""
    restricted: bool
    """Whether offsets that the problem allows were left out (empty buffers at a memory's edge)."""

    @property
    def size(self) -> int:
        return max(b.bytes for b in self.members)

    @property
    def loose(self) -> bool:
        """Whether it has one height in all its sections, and may be anywhere within the capacity."""
        even = all(height == self.size for _, height in self.sections)
        return even and self.align == 1 and self.variants == ((-1, ((0, HUGE),)),) and not self.apart


@dataclass(frozen=True, slots=True)
class SearchModel:
    """A problem ready to be searched at any capacity."""

    items: tuple[SearchItem, ...]
    sections: int
    unit: int
    most: int
    """An upper bound, in bytes, of the peak of a plan whose buffers lie as low as possible."""

    @property
    def complete(self) -> bool:
        """Whether an exhausted search proves the problem itself infeasible."""
        return not any(item.restricted for item in self.items)

    def loads(self) -> list[int]:
        """The sum of heights in each section, in bytes."""
        loads = [0] * self.sections
        for item in self.items:
            for section, height in item.sections:
                loads[section] += height
        return loads

    def bound(self) -> int:
        """The largest of ``loads``: no plan has a lower peak."""
        return max(self.loads(), default=0)

    def fullest_section(self) -> tuple[str, ...]:
        """Names of the buffers in the section with the largest load."""
        loads = self.loads()
        fullest = loads.index(max(loads))
        inside = (item for item in self.items if any(s == fullest for s, _ in item.sections))
        return tuple(buffer.name for item in inside for buffer in item.members)


def search_model(problem: Problem) -> SearchModel:
    """Return the search's model of ``problem``. Raises ConstraintClash, NotSearchable if too large."""
    if len(problem.buffers) > MAX_BUFFERS:
        raise NotSearchable(f"more than {MAX_BUFFERS} buffers")
    members = rigid(problem)
    _check_groups(problem, members)
    owner = {index: number for number, group in enumerate(members) for index in group}
    pairs = _separated_pairs(problem, owner)
    sections = [*live_sets(problem.buffers), *[{a, b} for a, b in pairs]]
    of_buffer: dict[int, list[int]] = {}
    for number, names in enumerate(sections):
        for index in names:
            of_buffer.setdefault(index, []).append(number)
    count = len(sections)
    items: list[SearchItem] = []
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
        items.append(_item(problem, buffers, heights, tuple(sorted(apart.get(number, ())))))
    unit = offset_unit(problem)
    most = _highest_end(items)
    if most // unit >= HUGE:
        raise NotSearchable("sizes too large for 64-bit sums")
    return SearchModel(tuple(items), count, unit, most)


def _check_groups(problem: Problem, members: list[tuple[int, ...]]) -> None:
    """Raise ConstraintClash where colocated members are alive together, separated or apart."""
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
                    raise ConstraintClash("colocated through others, yet in conflict", (a.name, b.name))


def _separated_pairs(problem: Problem, owner: Mapping[int, int]) -> list[tuple[int, int]]:
    """Separated buffers that are neither colocated nor alive together."""
    index = {b.name: i for i, b in enumerate(problem.buffers)}
    result: list[tuple[int, int]] = []
    for one, other in problem.separated:
        a, b = index[one], index[other]
        first, second = problem.buffers[a], problem.buffers[b]
        if owner[a] != owner[b] and first.bytes and second.bytes and not first.conflicts(second):
            result.append((a, b))
    return result


def _apart(problem: Problem, owner: Mapping[int, int]) -> dict[int, set[int]]:
    """The items that must be in another memory than each item."""
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


def _item(
    problem: Problem, members: tuple[Buffer, ...], heights: dict[int, int], apart: tuple[int, ...]
) -> SearchItem:
    align = lcm(*(b.alignment for b in members))
    pins = {b.pinned for b in members if b.pinned is not None}
    names = tuple(b.name for b in members)
    if len(pins) > 1:
        raise ConstraintClash("colocated, yet pinned to several offsets", names)
    restricted = False
    by_memory: list[tuple[int, tuple[int, int]]] = []
    variants: tuple[tuple[int, tuple[tuple[int, int], ...]], ...]
    if problem.memories:
        for k in sorted(range(len(problem.memories)), key=lambda k: problem.memories[k].start):
            low, high, cut = _offsets_in_memory(problem, members, k)
            restricted |= cut
            if low <= high:
                by_memory.append((k, (low, high)))
    else:
        by_memory.append((-1, (0, HUGE)))
    pin = next(iter(pins), None)
    if pin is not None:
        if pin % align:
            raise ConstraintClash(f"pinned to {pin}, which is not aligned to {align}", names)
        by_memory = [(k, (pin, pin)) for k, (low, high) in by_memory if low <= pin <= high]
    if not by_memory and not restricted:
        raise ConstraintClash("no memory holds it", names)
    if apart:
        variants = tuple((k, (span,)) for k, span in by_memory)
    else:
        variants = ((-1, tuple(span for _, span in by_memory)),)
    sections = tuple(sorted(heights.items()))
    return SearchItem(members, sections, align, variants, apart, restricted)


def _offsets_in_memory(problem: Problem, members: Iterable[Buffer], k: int) -> tuple[int, int, bool]:
    """The lowest and highest offset at which all ``members`` lie in memory ``k``; whether some were left out.

    An empty buffer at the edge between two memories belongs to the one named first. To keep this out of the
    search, such a buffer is not given the edges.
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


def _highest_end(items: Sequence[SearchItem]) -> int:
    """An upper bound of the peak of a plan whose buffers lie as low as possible."""
    starts = [low for item in items for _, ranges in item.variants for low, _ in ranges]
    return max(starts, default=0) + sum(item.size + item.align for item in items)


def plan_of(problem: Problem, model: SearchModel, offsets: Sequence[int]) -> Plan:
    """Return the plan with each item at its offset, given in units."""
    found: dict[str, int] = {}
    for item, offset in zip(model.items, offsets, strict=True):
        for buffer in item.members:
            found[buffer.name] = int(offset) * model.unit
    return Plan({b.name: found[b.name] for b in problem.buffers})
