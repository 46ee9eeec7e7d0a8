"""The decisions along a path, as a tree that paths share: to concatenate two of them copies neither."""

from __future__ import annotations

from collections.abc import Mapping

from chipmodel.model.path_costs import Runs
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision of an ``if`` or ``loop``: an arm, or a number of iterations."""

    name: str
    choice: str


@dataclass(frozen=True, slots=True)
class ConcatenatedDecisions:
    """The decisions of one part of a path, and those of the part after it."""

    first: Decisions
    second: Decisions


@dataclass(frozen=True, slots=True)
class RepeatedDecisions:
    """The decisions of a part of a path that runs ``times`` times."""

    part: Decisions
    times: int


Decisions = Decision | ConcatenatedDecisions | RepeatedDecisions | None


def concatenate(first: Decisions, second: Decisions) -> Decisions:
    """``first``, then ``second``."""
    if first is None or second is None:
        return second if first is None else first
    return ConcatenatedDecisions(first, second)


def repeat(part: Decisions, times: int) -> Decisions:
    """``part``, ``times`` times."""
    if part is None or times < 2:
        return part if times else None
    return RepeatedDecisions(part, times)


def by_name(decisions: Decisions) -> Mapping[str, Runs]:
    """The decisions of each ``if`` and ``loop`` in the order of execution, as runs of equal ones."""
    runs: dict[str, list[tuple[str, int]]] = {}
    left = [decisions]
    while left:
        part = left.pop()
        match part:
            case ConcatenatedDecisions():
                left += [part.second, part.first]
            case Decision():
                _append(runs.setdefault(part.name, []), part.choice, 1)
            case RepeatedDecisions():
                for name, inner in by_name(part.part).items():
                    _repeat_runs(runs.setdefault(name, []), inner, part.times)
            case None:
                pass
    return {name: tuple(listed) for name, listed in runs.items()}


def _append(runs: list[tuple[str, int]], choice: str, times: int) -> None:
    if runs and runs[-1][0] == choice:
        times += runs.pop()[1]
    runs.append((choice, times))


def _repeat_runs(runs: list[tuple[str, int]], inner: Runs, times: int) -> None:
    if len(inner) == 1:
        _append(runs, inner[0][0], inner[0][1] * times)
        return
    for _ in range(times):
        for choice, each in inner:
            _append(runs, choice, each)
