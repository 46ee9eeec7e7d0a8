"""Lowest fit with every kind of constraint.

Groups of colocated buffers are placed one by one, pinned ones first, each at its lowest legal offset that
collides with nothing. Where a group has no such offset, it is moved to the front and placement restarts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from math import lcm

from chipmodel.model.plan import Buffer, Plan, Problem
from chipmodel.verify.fast_offsets import check_fast
from solvers.core.bounds import rigid
from solvers.core.bounds_certified import contradiction, excluded
from solvers.core.conflicts import neighbours
from solvers.core.deadline import NO_DEADLINE, Deadline
from solvers.core.preprocess import highest_end, legal_offsets

RESTARTS = 30
"""Placements tried for each order, each with one more group moved to the front."""
MAX_BUFFERS = 5000
"""Largest problem tried: every pair is examined once."""
Key = Callable[[tuple[Buffer, ...]], tuple[int, ...]]
GROUP_ORDERS: tuple[Key, ...] = (
    lambda group: (-max(b.bytes for b in group),),
    lambda group: (-max(b.bytes * _length(b) for b in group),),
    lambda group: (-max(_length(b) for b in group), -max(b.bytes for b in group)),
    lambda group: (min((i.start for b in group for i in b.live), default=0),),
)


class _ConflictTable:
    """Groups of colocated buffers, their legal offsets and conflicts; the same for every order."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.groups = [tuple(problem.buffers[i] for i in group) for group in rigid(problem)]
        group_of = {b.name: g for g, group in enumerate(self.groups) for b in group}
        self.rivals: list[set[int]] = [set() for _ in self.groups]
        self.apart: list[set[int]] = [set() for _ in self.groups]
        group_at = [group_of[b.name] for b in problem.buffers]
        nearby = neighbours(problem, MAX_BUFFERS**2)
        assert nearby is not None, "so many pairs have room"
        for group, near in zip(group_at, nearby, strict=True):
            self.rivals[group].update({group_at[int(i)] for i in near} - {group})
        for pairs, table in ((problem.separated, self.rivals), (problem.apart, self.apart)):
            for one, other in pairs:
                if one in group_of and other in group_of and group_of[one] != group_of[other]:
                    table[group_of[one]].add(group_of[other])
                    table[group_of[other]].add(group_of[one])
        limit = highest_end(problem) if problem.capacity is None else problem.capacity
        self.ranges_of = [{b.name: _ranges(problem, b, limit) for b in group} for group in self.groups]


def constrained_fit(problem: Problem, deadline: Deadline = NO_DEADLINE) -> Plan | None:
    """Return the best plan of several orders that satisfies every constraint, or None for none until the
    ``deadline``."""
    if len(problem.buffers) > MAX_BUFFERS or contradiction(problem) is not None:
        return None
    table = _ConflictTable(problem)
    best: Plan | None = None
    for key in GROUP_ORDERS:
        plan = _with_restarts(table, key, deadline)
        if plan is None or check_fast(problem, plan):
            continue
        if best is None or plan.peak(problem) < best.peak(problem):
            best = plan
    return best


def in_order(problem: Problem, key: Callable[[Buffer], int], deadline: Deadline = NO_DEADLINE) -> Plan | None:
    """Return a plan that satisfies every constraint, groups placed by their first member's ``key``; or None.

    Where none is within the capacity, one without regard to it.
    """
    if contradiction(problem) is not None:
        return None
    for each in (problem, replace(problem, capacity=None))[: 1 if problem.capacity is None else 2]:
        plan = _with_restarts(_ConflictTable(each), lambda group: (key(group[0]),), deadline)
        if plan is not None and not check_fast(each, plan):
            return plan
    return None


def _with_restarts(table: _ConflictTable, key: Key, deadline: Deadline) -> Plan | None:
    order = sorted(
        range(len(table.groups)), key=lambda g: (not _pinned(table.groups[g]), *key(table.groups[g]))
    )
    for _ in range(RESTARTS):
        placed, stuck = _place(table, order, deadline)
        if stuck is None:
            return Plan({b.name: placed[g] for g, group in enumerate(table.groups) for b in group})
        if deadline.over:
            return None
        order.remove(stuck)
        order.insert(0, stuck)
    return None


def _place(
    table: _ConflictTable, order: Iterable[int], deadline: Deadline
) -> tuple[dict[int, int], int | None]:
    """Offsets by group, and the first group without one, if any, or that whose turn the deadline came in."""
    placed: dict[int, int] = {}
    for group in order:
        offset = None if deadline.over else _lowest(table, group, placed)
        if offset is None:
            return placed, group
        placed[group] = offset
    return placed, None


def _lowest(table: _ConflictTable, group: int, placed: dict[int, int]) -> int | None:
    """The lowest offset at which ``group`` collides with nothing that is placed."""
    members = table.groups[group]
    step = lcm(*(b.alignment for b in members))
    blocked = sorted(_blocked(table, group, placed))
    best: int | None = None
    for low, high in _common(table.ranges_of[group]):
        offset = -(-low // step) * step
        for start, stop in blocked:
            if start <= offset < stop:
                offset = -(-stop // step) * step
        if (
            offset <= high
            and (best is None or offset < best)
            and _memories_differ(table, group, offset, placed)
        ):
            best = offset
    return best


def _blocked(table: _ConflictTable, group: int, placed: dict[int, int]) -> Iterable[tuple[int, int]]:
    """Ranges of offsets ``[start, stop)`` at which a member would overlap a placed buffer."""
    for rival in table.rivals[group]:
        if rival not in placed:
            continue
        at = placed[rival]
        for a in table.groups[group]:
            for b in table.groups[rival]:
                if a.bytes and b.bytes and excluded(table.problem, a, b):
                    yield at - a.bytes + 1, at + b.bytes


def _memories_differ(table: _ConflictTable, group: int, offset: int, placed: dict[int, int]) -> bool:
    if not table.apart[group] or not table.problem.memories:
        return True
    pairs = {frozenset(pair) for pair in table.problem.apart}
    for other in table.apart[group] & placed.keys():
        for a in table.groups[group]:
            for b in table.groups[other]:
                same = _memory_at(table.ranges_of[group][a.name], offset) == _memory_at(
                    table.ranges_of[other][b.name], placed[other]
                )
                if same and frozenset((a.name, b.name)) in pairs:
                    return False
    return True


def _memory_at(ranges: list[tuple[int, int, int]], offset: int) -> int:
    return next(memory for low, high, memory in ranges if low <= offset <= high)


def _ranges(problem: Problem, buffer: Buffer, limit: int) -> list[tuple[int, int, int]]:
    found = legal_offsets(problem, buffer, limit)
    return sorted((low, high, memory) for memory, ranges in found.items() for low, high in ranges)


def _common(ranges_of: dict[str, list[tuple[int, int, int]]]) -> list[tuple[int, int]]:
    """The ranges of offsets that all members of a group may have."""
    common: list[tuple[int, int]] | None = None
    for ranges in ranges_of.values():
        own = [(low, high) for low, high, _ in ranges]
        if common is None:
            common = own
        else:
            cuts = ((max(a, c), min(b, d)) for a, b in common for c, d in own)
            common = sorted((low, high) for low, high in cuts if low <= high)
    return common or []


def _pinned(group: tuple[Buffer, ...]) -> bool:
    return any(b.pinned is not None for b in group)


def _length(buffer: Buffer) -> int:
    return sum(map(len, buffer.live))
