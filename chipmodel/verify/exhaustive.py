"""Try every plan of a few buffers: slow, obvious, and independent of the planners.

In any plan buffers can be moved down one by one until each lies at the bottom of its memory, at its pin, or
at the end of another buffer, rounded up to its alignment; that never raises the peak. So it is enough to try
such plans, and to place the buffers of each by ascending offset.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import lcm

from chipmodel.model.plan import Buffer, Memory, Plan, Problem

MAX_PARTIAL_PLANS = 200_000
"""Partial plans that are tried: one to two seconds."""


class TooManyPlans(Exception):
    """There are more partial plans than the caller allows."""


@dataclass(frozen=True, slots=True)
class _RigidGroup:
    """Buffers that have the same offset."""

    members: tuple[Buffer, ...]

    @property
    def alignment(self) -> int:
        return lcm(*(b.alignment for b in self.members))

    @property
    def pins(self) -> tuple[int, ...]:
        return tuple(b.pinned for b in self.members if b.pinned is not None)


@dataclass
class _ExhaustiveSearch:
    problem: Problem
    limit: int | None
    partial_plans: int
    """How many may still be tried."""
    placed: list[tuple[Buffer, int]] = field(default_factory=list[tuple[Buffer, int]])

    def run(self, remaining: list[_RigidGroup], lowest: int) -> bool:
        """Place ``remaining`` at ``lowest`` or above; whether that is possible."""
        if not remaining:
            return True
        for index, group in enumerate(remaining):
            rest = remaining[:index] + remaining[index + 1 :]
            for offset in sorted({o for o in self._candidates(group) if o >= lowest}):
                self.partial_plans -= 1
                if self.partial_plans < 0:
                    raise TooManyPlans
                if not self.legal(group, offset):
                    continue
                self.placed += [(b, offset) for b in group.members]
                if self.run(rest, offset):
                    return True
                del self.placed[len(self.placed) - len(group.members) :]
        return False

    def _candidates(self, group: _RigidGroup) -> Iterator[int]:
        yield 0
        for memory in self.problem.memories:
            yield _round_up(max(0, memory.start), group.alignment)
        for other, offset in self.placed:
            yield _round_up(offset + other.bytes, group.alignment)

    def legal(self, group: _RigidGroup, offset: int) -> bool:
        return all(self._legal_alone(b, offset) for b in group.members) and all(
            self.legal_pair(b, offset, other, at) for b in group.members for other, at in self.placed
        )

    def _legal_alone(self, buffer: Buffer, offset: int) -> bool:
        if offset < 0 or offset % buffer.alignment or buffer.pinned not in (None, offset):
            return False
        if self.limit is not None and offset + buffer.bytes > self.limit:
            return False
        if not self.problem.memories:
            return True
        memory = _memory_of(self.problem, buffer, offset)
        return memory is not None and (not buffer.memories or memory.name in buffer.memories)

    def legal_pair(self, a: Buffer, a_offset: int, b: Buffer, b_offset: int) -> bool:
        if aliased(self.problem, a, b):
            return a_offset == b_offset
        apart = bool(self.problem.memories) and _names_pair(self.problem.apart, a, b)
        if apart and _memory_of(self.problem, a, a_offset) == _memory_of(self.problem, b, b_offset):
            return False
        share = max(a_offset, b_offset) < min(a_offset + a.bytes, b_offset + b.bytes)
        return not (share and may_not_share(self.problem, a, b))


def exhaust(problem: Problem, limit: int | None, partial_plans: int = MAX_PARTIAL_PLANS) -> Plan | None:
    """Find a plan with a peak of at most ``limit`` bytes (None: any peak); None where there is none.

    Ignores the problem's own capacity, and buffers of no bytes, which share no byte with any. Raises
    TooManyPlans after ``partial_plans``.
    """
    if limit is not None and limit < 0:
        return None
    solid = [b for b in problem.buffers if b.bytes]
    groups = [_RigidGroup(members) for members in rigid_groups(solid, problem.colocated)]
    search = _ExhaustiveSearch(problem, limit, partial_plans)
    for group in groups:
        own = _ExhaustiveSearch(problem, limit, 0)
        for member in group.members:
            if any(not own.legal_pair(member, 0, b, 0) for b, _ in own.placed):
                return None
            own.placed.append((member, 0))
    pinned = [g for g in groups if g.pins]
    for group in pinned:
        if not search.legal(group, group.pins[0]):
            return None
        search.placed += [(b, group.pins[0]) for b in group.members]
    free = [g for g in groups if not g.pins]
    return Plan({b.name: o for b, o in search.placed}) if search.run(free, 0) else None


def rigid_groups(buffers: Iterable[Buffer], colocated: Iterable[tuple[str, ...]]) -> list[tuple[Buffer, ...]]:
    """Partition ``buffers`` into those that must have the same offset, each group in the given order."""
    listed = list(buffers)
    groups: list[set[str]] = [{b.name} for b in listed]
    for names in colocated:
        touched = [group for group in groups if group & set(names)]
        if touched:
            groups = [group for group in groups if group not in touched] + [set[str]().union(*touched)]
    index = {b.name: i for i, b in enumerate(listed)}
    return [tuple(listed[i] for i in sorted(index[name] for name in group)) for group in groups]


def aliased(problem: Problem, a: Buffer, b: Buffer) -> bool:
    """Whether both are colocated, so that they may share bytes at any time."""
    return any(a.name in group and b.name in group for group in problem.colocated)


def may_not_share(problem: Problem, a: Buffer, b: Buffer) -> bool:
    """Whether two buffers may share no byte at any offset."""
    if aliased(problem, a, b):
        return False
    return a.conflicts(b) or _names_pair(problem.separated, a, b)


def may_not_be_together(problem: Problem, a: Buffer, b: Buffer) -> bool:
    """Whether two buffers may not lie in one memory."""
    return not aliased(problem, a, b) and _names_pair(problem.apart, a, b)


def _names_pair(pairs: tuple[tuple[str, str], ...], a: Buffer, b: Buffer) -> bool:
    return (a.name, b.name) in pairs or (b.name, a.name) in pairs


def _memory_of(problem: Problem, buffer: Buffer, offset: int) -> Memory | None:
    for memory in problem.memories:
        if memory.start <= offset and offset + buffer.bytes <= memory.stop:
            return memory
    return None


def _round_up(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment
