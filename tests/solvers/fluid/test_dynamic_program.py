"""The least time of a fluid run: by hand on small problems, and against the finest grid there is."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvers.fluid.dynamic_program import least_time
from solvers.fluid.problem import PART_COUNTS, FluidOp, FluidProblem, FluidTensor
from tests.solvers.fluid.fluid_twin import twin_time

LAUNCH = tuple(1000 * (count - 1) for count in PART_COUNTS)
"""Parts that are never worth their cycles."""


def run_of(*ops: FluidOp, capacity: int = 1000, tensors: tuple[FluidTensor, ...] = ()) -> FluidProblem:
    """A byte moves in a cycle."""
    return FluidProblem(ops, tensors, capacity, Fraction(1), Fraction(1))


def whole(cycles: int, weights: int = 0, joins: bool = False) -> FluidOp:
    """An op that is best in one part."""
    return FluidOp(cycles, LAUNCH, LAUNCH, weights, joins=joins)


def between(size: int, made: int, *reads: int) -> FluidTensor:
    return FluidTensor(size, made, reads, tuple(size for _ in reads), store=size)


def cycles_of(problem: FluidProblem) -> int:
    return least_time(problem, 4096).cycles


def test_a_run_in_one_part_waits_for_its_weights() -> None:
    assert cycles_of(run_of(whole(10, 8))) == 18


def test_parts_that_cost_nothing_overlap_with_their_weights() -> None:
    assert cycles_of(run_of(FluidOp(10, weights=8))) == 10
    assert cycles_of(run_of(FluidOp(10, weights=30))) == 30


def test_weights_of_later_runs_are_loaded_meanwhile() -> None:
    assert cycles_of(run_of(whole(10, 8), whole(10, 8))) == 8 + 10 + 10
    assert cycles_of(run_of(whole(10, 8), whole(10, 15))) == 8 + 15 + 10


def test_weights_that_have_no_room_are_waited_for() -> None:
    """In 16 bytes only 8 of the 12 for the second run fit beside the first ones; the bound may be one less,
    as it rounds room up."""
    free = run_of(whole(20, 8), whole(20, 12), capacity=100)
    tight = replace(free, capacity=16)
    assert cycles_of(free) == 8 + 20 + 20
    assert cycles_of(tight) == 8 + 20 + (12 - 8 - 1) + 20


def test_a_tensor_that_has_no_room_leaves_and_comes_back() -> None:
    """While the second run computes, 100 bytes of the first one's output have no room beside its weights."""
    ops = (whole(10), whole(10, 950), whole(10))
    tensors = (between(100, 0, 2),)
    assert cycles_of(run_of(*ops, capacity=2000, tensors=tensors)) == 950 + 10 + 10
    moved = 950 + 100 + 100
    assert moved <= cycles_of(run_of(*ops, capacity=1000, tensors=tensors)) <= moved + 10 + 10


def test_weights_of_an_iteration_are_loaded_unless_they_have_been_kept() -> None:
    """Of 2 x 500 bytes an iteration, 300 find no room until the iteration after."""
    first = (whole(10, 500), whole(10, 500))
    again = (FluidOp(10, LAUNCH, LAUNCH, 500, kept=1000), whole(10, 500))
    once, twice = (cycles_of(run_of(*first, *again[:count], capacity=700)) for count in (0, 2))
    assert 300 <= twice - once <= 300 + 20
    assert cycles_of(run_of(*first, *again, capacity=2000)) == once + 20


def test_a_group_saves_the_room_of_a_tensor_inside() -> None:
    """Two runs with 900 bytes between them; alone they leave no room for the weights of the third."""
    apart = run_of(whole(500), whole(500), whole(1, 900), tensors=(between(900, 0, 1), between(1, 1, 2)))
    joined = replace(apart, ops=(apart.ops[0], replace(FluidOp(500), joins=True), apart.ops[2]))
    striped = replace(joined, ops=(FluidOp(500, joins=False), *joined.ops[1:]))
    assert cycles_of(apart) >= 1000 + 800
    assert cycles_of(striped) == 1001


def test_stores_cannot_come_before_what_they_store() -> None:
    result = FluidTensor(50, 1, (), (), stored=50)
    assert cycles_of(run_of(whole(100), whole(10), tensors=(result,))) == 100 + 10 + 50


def test_legs_add_up() -> None:
    problem = run_of(whole(20, 8), whole(20, 12), whole(5, 90), capacity=95)
    found = least_time(problem)
    assert sum(leg.cycles for leg in found.legs) == found.cycles
    assert [(leg.start, leg.stop) for leg in found.legs] == [(0, 1), (1, 2), (2, 3)]
    assert found.legs[-1].full


@st.composite
def problems(draw: st.DrawFn) -> FluidProblem:
    count = draw(st.integers(1, 5))
    size = st.integers(0, 40)
    ops: list[FluidOp] = []
    for run in range(count):
        each = draw(st.sampled_from([0, 3, 1000]))
        parts = tuple(each * (number - 1) for number in PART_COUNTS) if each else ()
        joins = run > 0 and draw(st.booleans())
        kept = 0 if joins else draw(st.sampled_from([0, 0, 20]))
        ops.append(FluidOp(draw(size), parts, parts, draw(size), draw(st.integers(0, 2)), joins, kept))
    tensors = [FluidTensor(9, None, (0,), (9,))]
    for made in range(count - 1):
        reads = tuple(sorted(draw(st.sets(st.integers(made + 1, count - 1), min_size=1, max_size=2))))
        tensors.append(between(draw(st.integers(1, 30)), made, *reads))
    tensors.append(FluidTensor(7, count - 1, (), (), stored=7))
    return FluidProblem(tuple(ops), tuple(tensors), draw(st.integers(60, 200)), Fraction(1), Fraction(1), 2)


@given(problems())
def test_a_coarse_grid_never_says_more_than_the_finest(problem: FluidProblem) -> None:
    """Points a cycle apart leave nothing between them."""
    bounds = [least_time(problem, levels).cycles for levels in (4, 16, 4096)]
    assert bounds[0] <= bounds[2]
    assert bounds[1] <= bounds[2]


@given(problems())
@settings(max_examples=30)
def test_it_equals_the_twin_that_tries_every_amount(problem: FluidProblem) -> None:
    assert least_time(problem, 4096).cycles == twin_time(problem)


@given(problems(), st.integers(1, 100))
def test_more_memory_is_never_slower(problem: FluidProblem, more: int) -> None:
    larger = replace(problem, capacity=problem.capacity + more)
    assert least_time(larger, 4096).cycles <= least_time(problem, 4096).cycles


@given(problems())
def test_groups_never_make_a_run_slower(problem: FluidProblem) -> None:
    alone = replace(problem, ops=tuple(replace(op, joins=False) for op in problem.ops))
    assert least_time(problem, 4096).cycles <= least_time(alone, 4096).cycles


@given(problems())
def test_the_bound_is_at_least_compute_and_transfers(problem: FluidProblem) -> None:
    moved = sum(op.weights - op.kept for op in problem.ops) + 9 + 7
    found = least_time(problem)
    assert found.cycles >= max(sum(op.cycles for op in problem.ops), moved)
    assert [leg.start for leg in found.legs] == sorted(leg.start for leg in found.legs)
    assert all(a.stop == b.start for a, b in pairwise(found.legs))


@pytest.mark.parametrize("count", [3, 8, 14])
def test_groups_longer_than_those_looked_at_are_allowed_for(count: int) -> None:
    """All runs as one group: no tensor between them takes room, so that only compute is left."""
    ops = tuple(FluidOp(10, joins=run > 0) for run in range(count))
    tensors = tuple(between(900, run, run + 1) for run in range(count - 1))
    assert cycles_of(run_of(*ops, capacity=1000, tensors=tensors)) == 10 * count
