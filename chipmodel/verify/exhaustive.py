"""Every plan of a few buffers, tried one after another: slow, obvious, and independent of the planners.

Any plan can be slid down, buffer by buffer, until each rests on the bottom of its memory, at its pin, or
(its offset rounded up to its alignment) on the end of another buffer; that never raises the peak. So it
is enough to try such plans, and to place the buffers of each by ascending offset.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import lcm

from chipmodel.model.plan import Buffer, Memory, Plan, Problem

STEPS = 200_000
"""Partial plans that are tried at most: about a second or two."""


class TooManyPlans(Exception):
    """There were more partial plans than the caller allowed."""


@dataclass(frozen=True, slots=True)
class _Rigid:
    """Buffers with one offset; they move as one."""

    members: tuple[Buffer, ...]

    @property
    def alignment(self) -> int:
        return lcm(*(b.alignment for b in self.members))

    @property
    def pins(self) -> tuple[int, ...]:
        return tuple(b.pinned for b in self.members if b.pinned is not None)


@dataclass
class _Search:
    problem: Problem
    limit: int | None
    steps: int
    placed: list[tuple[Buffer, int]] = field(default_factory=list[tuple[Buffer, int]])

    def run(self, remaining: list[_Rigid], floor: int) -> bool:
        if not remaining:
            return True
        for index, rigid in enumerate(remaining):
            rest = remaining[:index] + remaining[index + 1 :]
            for offset in sorted({o for o in self._candidates(rigid) if o >= floor}):
                self.steps -= 1
                if self.steps < 0:
                    raise TooManyPlans
                if not self.legal(rigid, offset):
                    continue
                self.placed += [(b, offset) for b in rigid.members]
                if self.run(rest, offset):
                    return True
                del self.placed[len(self.placed) - len(rigid.members) :]
        return False

    def _candidates(self, rigid: _Rigid) -> Iterator[int]:
        yield 0
        for memory in self.problem.memories:
            yield _up(max(0, memory.start), rigid.alignment)
        for other, offset in self.placed:
            yield _up(offset + other.bytes, rigid.alignment)

    def legal(self, rigid: _Rigid, offset: int) -> bool:
        return all(self._alone(b, offset) for b in rigid.members) and all(
            self.together(b, offset, other, at) for b in rigid.members for other, at in self.placed
        )

    def _alone(self, buffer: Buffer, offset: int) -> bool:
        if offset < 0 or offset % buffer.alignment or buffer.pinned not in (None, offset):
            return False
        if self.limit is not None and offset + buffer.bytes > self.limit:
            return False
        if not self.problem.memories:
            return True
        home = _home(self.problem, buffer, offset)
        return home is not None and (not buffer.memories or home.name in buffer.memories)

    def together(self, a: Buffer, a_offset: int, b: Buffer, b_offset: int) -> bool:
        if aliased(self.problem, a, b):
            return a_offset == b_offset
        apart = bool(self.problem.memories) and _listed(self.problem.apart, a, b)
        if apart and _home(self.problem, a, a_offset) == _home(self.problem, b, b_offset):
            return False
        share = max(a_offset, b_offset) < min(a_offset + a.bytes, b_offset + b.bytes)
        return not (share and may_not_share(self.problem, a, b))


def exhaust(problem: Problem, limit: int | None, steps: int = STEPS) -> Plan | None:
    """A plan with a peak of at most ``limit`` bytes (None: at any peak), or None where there is none.

    The problem's own capacity is left aside, and so are buffers of no bytes, which share no byte with
    any. Raises TooManyPlans after ``steps`` partial plans.
    """
    if limit is not None and limit < 0:
        return None
    rigids = _rigids(problem)
    search = _Search(problem, limit, steps)
    for rigid in rigids:
        own = _Search(problem, limit, 0)
        for member in rigid.members:
            if any(not own.together(member, 0, b, 0) for b, _ in own.placed):
                return None
            own.placed.append((member, 0))
    pinned = [r for r in rigids if r.pins]
    for rigid in pinned:
        if not search.legal(rigid, rigid.pins[0]):
            return None
        search.placed += [(b, rigid.pins[0]) for b in rigid.members]
    free = [r for r in rigids if not r.pins]
    return Plan({b.name: o for b, o in search.placed}) if search.run(free, 0) else None


def aliased(problem: Problem, a: Buffer, b: Buffer) -> bool:
    """Whether a group names both, so that they may share bytes at any time."""
    return any(a.name in group and b.name in group for group in problem.colocated)


def may_not_share(problem: Problem, a: Buffer, b: Buffer) -> bool:
    """Whether two buffers may share no byte, wherever they lie."""
    if aliased(problem, a, b):
        return False
    return a.conflicts(b) or _listed(problem.separated, a, b)


def may_not_be_together(problem: Problem, a: Buffer, b: Buffer) -> bool:
    """Whether two buffers may not lie in one memory."""
    return not aliased(problem, a, b) and _listed(problem.apart, a, b)


def _listed(pairs: tuple[tuple[str, str], ...], a: Buffer, b: Buffer) -> bool:
    return (a.name, b.name) in pairs or (b.name, a.name) in pairs


def _rigids(problem: Problem) -> list[_Rigid]:
    rigids = [{b.name} for b in problem.buffers if b.bytes]
    for group in problem.colocated:
        touched = [names for names in rigids if names & set(group)]
        if touched:
            rigids = [names for names in rigids if names not in touched] + [set[str]().union(*touched)]
    by_name = {b.name: b for b in problem.buffers}
    order = {b.name: i for i, b in enumerate(problem.buffers)}
    sorted_names = (sorted(names, key=order.__getitem__) for names in rigids)
    return [_Rigid(tuple(by_name[name] for name in names)) for names in sorted_names]


def _home(problem: Problem, buffer: Buffer, offset: int) -> Memory | None:
    for memory in problem.memories:
        if memory.start <= offset and offset + buffer.bytes <= memory.stop:
            return memory
    return None


def _up(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment
