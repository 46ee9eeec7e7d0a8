"""The nesting of branches and loops as intervals of positions: all that a planner needs of the control flow.

Positions number the leaves of a tree in linear order, arms one after another. A ``Section`` is a sequence of
positions and forks. A ``Fork`` is an ``if``, which runs one of its sections, or a loop, which runs its one
section any number of times, or never.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import field

from chipmodel.geometry.interval import Interval, merged
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class Fork:
    """An ``if`` with its ``arms``, or a loop (``repeats``) with its body as the only arm."""

    name: str
    extent: Interval
    arms: tuple[Section, ...]
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """The positions ``extent``. Those outside of all ``forks`` (in order, disjoint) run every time."""

    extent: Interval
    forks: tuple[Fork, ...] = ()
    starts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "starts", tuple(fork.extent.start for fork in self.forks))

    def fork_at(self, position: int) -> int | None:
        """The number of the fork that contains ``position``; None where none does."""
        index = bisect_right(self.starts, position) - 1
        return index if index >= 0 and position in self.forks[index].extent else None


def in_flight(root: Section, issue: int, due: int) -> tuple[Interval, ...]:
    """Positions at which a transfer issued at ``issue`` may be in flight until ``due`` has waited for it.

    It is followed along every path from ``issue``. Where it is issued outside of a branch or loop and due
    inside, some paths never come to ``due``: it is then in flight, and its buffer taken, up to the end of
    the outermost such fork, after which the program waits for it. Where no path leads from ``issue`` to
    ``due`` within one iteration (``due`` comes earlier, or in another arm), the innermost loop around both
    carries it into the next iteration, and the program waits at that loop's end. Without such a loop it
    stays in flight to the end.
    """
    if due == issue:
        return (Interval(issue, issue + 1),)
    taken: list[Interval] = []
    for section, fork in reversed(_around(root, issue)):
        start = issue if fork is None else fork.extent.stop
        if fork is not None and fork.repeats:
            if due in fork.extent:
                _follow(fork.arms[0], fork.extent.start, due, taken)
                break
            taken.append(fork.extent)
        if due in section.extent and due >= start:
            _follow(section, start, due, taken, leaves=False)
            break
        taken.append(Interval(start, section.extent.stop))
    return merged(taken)


def waits_after(root: Section, issue: int, due: int) -> str | None:
    """The name of the branch or loop after which a transfer issued at ``issue`` may still be in flight,
    because some path through it has not come to ``due``; None where all paths wait at ``due``."""
    if due == issue:
        return None
    for section, fork in reversed(_around(root, issue)):
        if fork is not None and fork.repeats and due in fork.extent:
            return fork.name
        start = issue if fork is None else fork.extent.stop
        if due in section.extent and due >= start:
            index = section.fork_at(due)
            return None if index is None else section.forks[index].name
    return None


def _follow(section: Section, start: int, due: int, taken: list[Interval], leaves: bool = True) -> bool:
    """Follow a transfer that is in flight at ``start`` of ``section``, and add its positions to ``taken``.

    Returns whether it may still be in flight at the end of ``section``. Without ``leaves`` it ends, at the
    latest, with the fork that contains ``due``.
    """
    if due not in section.extent or due < start:
        taken.append(Interval(start, section.extent.stop))
        return True
    index = section.fork_at(due)
    if index is None:
        taken.append(Interval(start, due + 1))
        return False
    fork = section.forks[index]
    taken.append(Interval(start, fork.extent.start))
    ends = [_follow(arm, arm.extent.start, due, taken) for arm in fork.arms]
    if not leaves or not (fork.repeats or any(ends)):
        return False
    taken.append(Interval(fork.extent.stop, section.extent.stop))
    return True


def _around(section: Section, position: int) -> list[tuple[Section, Fork | None]]:
    """Every section that contains ``position``, outermost first, each with its fork that contains it."""
    result: list[tuple[Section, Fork | None]] = []
    while (index := section.fork_at(position)) is not None:
        fork = section.forks[index]
        result.append((section, fork))
        section = next(arm for arm in fork.arms if position in arm.extent)
    result.append((section, None))
    return result
