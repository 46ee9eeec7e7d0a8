"""What a path has decided, as a tree that paths share: joining two of them copies neither."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chipmodel.model.path_costs import Runs


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision: an arm, or a number of iterations."""

    name: str
    choice: str


@dataclass(frozen=True, slots=True)
class Then:
    """One part of a path after another."""

    first: Taken
    second: Taken


@dataclass(frozen=True, slots=True)
class Again:
    """The same part of a path ``times`` times."""

    part: Taken
    times: int


Taken = Decided | Then | Again | None


def then(first: Taken, second: Taken) -> Taken:
    """``second`` after ``first``."""
    if first is None or second is None:
        return second if first is None else first
    return Then(first, second)


def again(part: Taken, times: int) -> Taken:
    """``part``, ``times`` times."""
    if part is None or times < 2:
        return part if times else None
    return Again(part, times)


def decisions(taken: Taken) -> Mapping[str, Runs]:
    """By name, what was decided, in the order of execution."""
    runs: dict[str, list[tuple[str, int]]] = {}
    left = [taken]
    while left:
        part = left.pop()
        match part:
            case Then():
                left += [part.second, part.first]
            case Decided():
                _append(runs.setdefault(part.name, []), part.choice, 1)
            case Again():
                for name, inner in decisions(part.part).items():
                    _repeat(runs.setdefault(name, []), inner, part.times)
            case None:
                pass
    return {name: tuple(listed) for name, listed in runs.items()}


def _append(runs: list[tuple[str, int]], choice: str, times: int) -> None:
    if runs and runs[-1][0] == choice:
        times += runs.pop()[1]
    runs.append((choice, times))


def _repeat(runs: list[tuple[str, int]], inner: Runs, times: int) -> None:
    if len(inner) == 1:
        _append(runs, inner[0][0], inner[0][1] * times)
        return
    for _ in range(times):
        for choice, each in inner:
            _append(runs, choice, each)
