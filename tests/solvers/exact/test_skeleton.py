"""Problems too large for the search, packed around what is hard to place; buffers that alone do not fit."""

from dataclasses import replace
from random import Random

import pytest

from chipmodel.geometry.interval import Interval
from chipmodel.model.certificate import LiveSet, Searched
from chipmodel.model.plan import Buffer, PackingProgress, Problem
from solvers.core.bounds import contention
from solvers.core.outcome import Limits, Outcome
from solvers.core.start import start_plan
from solvers.exact import portfolio, skeleton
from solvers.exact.explain import named, reduced
from tests.support.buffers import buffer
from tests.support.narrowed import some
from tests.support.plain_check import check

NODES = Limits(nodes=30_000, threads=1)


def training(count: int, seed: int) -> Problem:
    """Buffers of a network in training: results live until the way back, scratch for a step, some of each
    are large."""
    chance = Random(seed)
    buffers: list[Buffer] = []
    for i in range(count):
        back = 2 * count - 1 - i
        kept, scratch = chance.choice((1, 3, 64, 200)), chance.choice((5, 7, 100, 333))
        buffers.append(Buffer(f"kept {i}", kept, (Interval(i, back + 1),), chance.choice((1, 1, 4))))
        buffers.append(Buffer(f"scratch {i}", scratch, (Interval(i, i + chance.randint(1, 9)),)))
        buffers.append(Buffer(f"back {i}", scratch, (Interval(back, back + chance.randint(1, 9)),)))
    return Problem(tuple(buffers))


def packed(problem: Problem, limits: Limits = NODES) -> Outcome:
    def ignore(progress: PackingProgress) -> None: ...

    return skeleton.pack(problem, limits, contention(problem), start_plan(problem), ignore)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_plans_are_correct_no_higher_than_the_first_and_repeatable(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skeleton, "FIRST_BUFFERS", 20)
    problem = training(120, seed)
    outcome = packed(problem)
    assert outcome.plan is not None
    assert check(problem, outcome.plan) == ()
    assert outcome.plan.peak(problem) <= start_plan(problem).peak(problem)
    assert packed(problem).plan == outcome.plan


def test_a_plan_is_proven_where_no_order_of_first_fit_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skeleton, "FIRST_BUFFERS", 20)
    problem = training(120, 5)
    plan = some(packed(problem).plan)
    assert (plan.peak(problem), start_plan(problem).peak(problem)) == (contention(problem), 9776)


@pytest.mark.slow
def test_a_part_with_too_many_buffers_for_the_search_is_packed_around_a_skeleton(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(portfolio, "MAX_BUFFERS_IN_SEARCH", 100)
    monkeypatch.setattr(skeleton, "FIRST_BUFFERS", 20)
    outcome = portfolio.exact(training(120, 5), NODES)
    assert (outcome.status, outcome.lower_bound) == ("optimal", 9553)
    assert outcome.nodes


PROBLEM = Problem((buffer("a", 5, 0, 2), buffer("b", 1, 0, 2), buffer("c", 4, 1, 3)), 8)


def test_a_live_set_needs_only_its_largest() -> None:
    all_three = LiveSet(10, 1, ("a", "b", "c"))
    assert reduced(PROBLEM, all_three) == LiveSet(9, 1, ("a", "c"))
    aligned = replace(PROBLEM, buffers=tuple(replace(b, alignment=2) for b in PROBLEM.buffers))
    assert reduced(aligned, all_three) == all_three


def test_a_search_names_no_buffers() -> None:
    word = Searched(9, "somebody", 1, "everything")
    assert (reduced(PROBLEM, word), named(word)) == (word, ())
