"""NumPy finds the same violations as the pairwise check, word for word."""

from random import Random

import pytest

from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Plan, Problem
from chipmodel.verify.fast_offsets import MIN_BUFFERS, check_by_numpy, check_fast
from chipmodel.verify.offsets import check
from tests.solvers.random_problems import random_problem


def random_plan(problem: Problem, random: Random) -> Plan:
    offsets = {b.name: random.randint(-1, 14) for b in problem.buffers if random.random() < 0.97}
    for group in problem.colocated if random.random() < 0.5 else ():
        for name in group:
            if name in offsets:
                offsets[name] = offsets.get(group[0], 3)
    return Plan(offsets)


@pytest.mark.parametrize("first", range(0, 1000, 250))
def test_numpy_equals_check_on_random_plans(first: int) -> None:
    faulty = 0
    for seed in range(first, first + 250):
        problem = random_problem(seed, 12)
        for turn in range(4):
            plan = random_plan(problem, Random(seed * 10 + turn))
            expected = check(problem, plan)
            assert check_by_numpy(problem, plan) == expected, seed
            faulty += bool(expected)
    assert faulty > 500


def test_a_large_correct_plan_and_the_same_with_one_buffer_moved_by_a_byte() -> None:
    """Each buffer lies above the one before it, four levels in turn."""
    count = 200 * MIN_BUFFERS
    buffers = tuple(Buffer(str(i), 3, (Interval(i, i + 4),)) for i in range(count))
    offsets = {str(i): i % 4 * 3 for i in range(count)}
    problem = Problem(buffers, 12)
    assert check_fast(problem, Plan(offsets)) == ()
    offsets["700"] += 1
    assert check_fast(problem, Plan(offsets)) == (
        "buffers '697' and '700' share bytes [3, 4) while both are alive: [697, 701) and [700, 704)",
        "buffers '700' and '701' share bytes [3, 4) while both are alive: [700, 704) and [701, 705)",
    )


def test_buffers_at_one_offset_overlap_in_every_pair() -> None:
    buffers = tuple(Buffer(str(i), 2, (Interval(0, 3), Interval(2, 5))) for i in range(40))
    problem = Problem(buffers)
    plan = Plan({str(i): 0 for i in range(40)})
    assert len(check_by_numpy(problem, plan)) == 40 * 39 // 2
    assert check_by_numpy(problem, plan) == check(problem, plan)
