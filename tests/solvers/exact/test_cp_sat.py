"""CP-SAT against every plan, and on what is too large or has no meaning for it."""

from dataclasses import replace

from chipmodel.model.plan import Memory, Plan, Problem
from solvers.core.outcome import Limits
from solvers.exact import cp_sat
from tests.support.buffers import buffer
from tests.support.narrowed import some
from tests.support.plain_check import check

ONE = Limits(threads=1)


# First fit by size needs 60 here; the largest live set, 50, can be met.
CHAIN = Problem((buffer("a", 10, 0, 2), buffer("b", 30, 1, 3), buffer("c", 20, 2, 5), buffer("d", 40, 4, 6)))


def test_the_bounds_and_the_plan_that_it_is_given() -> None:
    plan = Plan({"a": 30, "b": 0, "c": 40, "d": 0})
    for lower in (0, 60):
        outcome = cp_sat.minimise(CHAIN, ONE, upper=plan, lower=lower)
        assert (outcome.status, outcome.lower_bound, outcome.plan) == ("optimal", 60, plan)
    high = Plan({"a": 40, "b": 50, "c": 20, "d": 60})
    assert check(replace(CHAIN, capacity=100), high) == ()
    found = cp_sat.minimise(CHAIN, ONE, upper=high)
    assert (found.status, found.lower_bound, found.plan and found.plan.peak(CHAIN)) == ("optimal", 60, 60)
    unsearched = cp_sat.minimise(CHAIN, Limits(seconds=0.0, threads=1), upper=high, lower=50)
    assert (unsearched.status, unsearched.lower_bound, unsearched.plan) == ("feasible", 50, high)


def test_a_limit_of_no_time_leaves_it_unknown() -> None:
    outcome = cp_sat.fit(CHAIN, 60, Limits(seconds=0.0, threads=1))
    assert outcome.status in ("unknown", "feasible")


def test_sizes_of_a_tebibyte_are_scaled_and_primes_of_that_size_are_refused() -> None:
    scaled = Problem(tuple(buffer(str(i), (i + 1) << 40, 0, 3) for i in range(4)))
    assert cp_sat.minimise(scaled, ONE).lower_bound == 10 << 40
    large = Problem(tuple(buffer(str(i), (1 << 60) + i, 0, 3) for i in range(4)))
    outcome = cp_sat.minimise(large, ONE)
    assert (outcome.status, outcome.plan) == ("unknown", None)
    assert outcome.proof.startswith("CP-SAT was not asked: ends of up to")


def test_too_many_buffers_are_refused_at_once() -> None:
    many = Problem(tuple(buffer(str(i), 1, i, i + 200) for i in range(20_000)))
    outcome = cp_sat.minimise(many, ONE)
    assert outcome.status == "unknown"
    assert "live sets of more than" in outcome.proof


def test_empty_problems() -> None:
    assert cp_sat.minimise(Problem(()), ONE) == replace(
        cp_sat.minimise(Problem(()), ONE), status="optimal", plan=Plan({}), lower_bound=0
    )
    empty = Problem((buffer("a", 0, 0, 5), buffer("b", 3, 2, 2)))
    assert cp_sat.minimise(empty, ONE).lower_bound == 3
    assert cp_sat.fit(Problem((buffer("a", 0, 0, 5),)), 0, ONE).status == "feasible"


def test_memories_apart_and_pins_together() -> None:
    problem = Problem(
        (buffer("a", 4, 0, 2), buffer("b", 4, 5, 6), replace(buffer("p", 3, 0, 9), pinned=10)),
        memories=(Memory("x", 0, 8), Memory("y", 8, 20)),
        apart=(("a", "b"),),
        separated=(("b", "p"),),
    )
    outcome = cp_sat.minimise(problem, ONE)
    assert outcome.lower_bound == 17  # one of the two must go above the pinned one
    assert check(problem, some(outcome.plan)) == ()
