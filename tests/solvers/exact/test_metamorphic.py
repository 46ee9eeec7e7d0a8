"""Changes that leave the optimum as it was, or scale it, for the portfolio as a whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Memory, Problem
from solvers.core.outcome import Limits
from solvers.exact.portfolio import exact
from tests.solvers.random_problems import random_problem

Change = Callable[[Problem], Problem]
LIMITS = Limits(nodes=200_000, threads=1)


def with_times(problem: Problem, change: Callable[[Interval], Interval]) -> Problem:
    return replace(
        problem,
        buffers=tuple(replace(b, live=tuple(change(i) for i in b.live)) for b in problem.buffers),
    )


def renamed(problem: Problem) -> Problem:
    new = {b.name: f"{index * 7919 % 1009} {b.name}" for index, b in enumerate(problem.buffers)}
    shuffled = list(problem.buffers)
    Random(3).shuffle(shuffled)
    return replace(
        problem,
        buffers=tuple(replace(b, name=new[b.name]) for b in shuffled),
        colocated=tuple(tuple(new[n] for n in group) for group in problem.colocated),
        separated=tuple((new[b], new[a]) for a, b in problem.separated),
        apart=tuple((new[b], new[a]) for a, b in problem.apart),
    )


def shifted(problem: Problem) -> Problem:
    return with_times(problem, lambda i: Interval(i.start + 1_000_003, i.stop + 1_000_003))


def reversed_in_time(problem: Problem) -> Problem:
    return with_times(problem, lambda i: Interval(-i.stop, -i.start))


def with_an_idle_gap(problem: Problem) -> Problem:
    """Everything from position 4 on is later, and what is alive across it stays alive through the gap."""

    def later(edge: int) -> int:
        return edge + 17 if edge > 4 else edge

    return with_times(problem, lambda i: Interval(later(i.start), later(i.stop)))


def scaled(problem: Problem, factor: int) -> Problem:
    return replace(
        problem,
        buffers=tuple(
            replace(
                b,
                bytes=b.bytes * factor,
                alignment=b.alignment * factor,
                pinned=None if b.pinned is None else b.pinned * factor,
            )
            for b in problem.buffers
        ),
        capacity=None if problem.capacity is None else problem.capacity * factor,
        memories=tuple(Memory(m.name, m.start * factor, m.stop * factor) for m in problem.memories),
    )


def answer(problem: Problem) -> tuple[str, int | None]:
    outcome = exact(problem, LIMITS, goal="minimise")
    assert outcome.status in ("optimal", "infeasible")
    return outcome.status, None if outcome.plan is None else outcome.plan.peak(problem)


@pytest.mark.parametrize("change", [renamed, shifted, reversed_in_time, with_an_idle_gap])
def test_the_optimum_stays(change: Change) -> None:
    for seed in range(60):
        problem = random_problem(seed, 9)
        assert answer(change(problem)) == answer(problem), seed


@pytest.mark.parametrize("factor", [3, 1024, 1 << 40])
def test_the_optimum_scales(factor: int) -> None:
    for seed in range(60):
        problem = random_problem(seed, 9)
        status, peak = answer(problem)
        assert answer(scaled(problem, factor)) == (status, None if peak is None else peak * factor), seed
