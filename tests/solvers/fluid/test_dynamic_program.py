"""The least time of a fluid run: by hand on small problems, and against the finest grid there is."""

from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from solvers.fluid.alone import run_alone
from solvers.fluid.amounts import FluidAmounts
from solvers.fluid.dynamic_program import least_time
from solvers.fluid.groups import group, through_long_group
from solvers.fluid.problem import PART_COUNTS, FluidOp, FluidProblem, FluidTensor
from solvers.fluid.residents import Residents
from solvers.fluid.stripes import Separations, Turns, least_stripes
from solvers.fluid.whole_rows import least_parts
from tests.solvers.fluid.fluid_twin import twin_time
from tests.solvers.fluid.parts_oracle import Part, PartsOracle, divisions

LAUNCH = tuple(1000 * (count - 1) for count in PART_COUNTS)
"""Parts that are never worth their cycles."""


def run_of(*ops: FluidOp, capacity: int = 1000, tensors: tuple[FluidTensor, ...] = ()) -> FluidProblem:
    """A byte moves in a cycle."""
    return FluidProblem(ops, tensors, capacity, Fraction(1), Fraction(1))


def whole(cycles: int, weights: int = 0, joins: bool = False) -> FluidOp:
    """An op that is best in one part."""
    return FluidOp(cycles, LAUNCH, LAUNCH, weights, joins=joins)


def between(size: int, made: int, *reads: int) -> FluidTensor:
    each = tuple(size for _ in reads)
    return FluidTensor(size, made, reads, each, each, size, store=size)


def evenly(size: int, made: int, *reads: int) -> FluidTensor:
    """Each row of what reads it needs that row of it."""
    return replace(between(size, made, *reads), evenly=frozenset(reads), by_every_step=frozenset(reads))


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


def test_weights_larger_than_memory_come_in_as_many_slices_as_they_need() -> None:
    """Each slice beyond the first costs 1,000 cycles; with more of them the first one is loaded earlier, and
    how many they are is known in steps only: up to 8 here. They leave room to load 8 x 100 - 500 bytes while
    others compute."""
    sliced = run_of(whole(10, 500), capacity=120)
    assert cycles_of(sliced) == 10 + 4000 + 500 // 8
    assert cycles_of(replace(sliced, capacity=100)) == 10 + 4000 + 500 - (8 * 100 - 500)
    assert cycles_of(replace(sliced, capacity=99)) == 10 + 5000 + 500 - (8 * 99 - 500)
    assert cycles_of(replace(sliced, capacity=130)) == 10 + 3000 + 500 - (4 * 130 - 500)
    assert cycles_of(replace(sliced, capacity=500)) == 10 + 500


def test_parts_that_are_too_few_to_fit_are_none() -> None:
    """Stripes would cost more, and of slices only steps are known: 500 bytes in 120 are five to eight."""
    op = FluidOp(10, tuple(10_000 * count for count in PART_COUNTS), LAUNCH, 500)
    assert cycles_of(run_of(op, capacity=120)) == 10 + 4000 + 500 // 8
    assert cycles_of(run_of(op, capacity=20)) == 10 + 16_000 + 500 - (32 * 20 - 500)


def test_tensors_larger_than_memory_pass_in_as_many_stripes_as_they_need() -> None:
    """The second run reads and writes 200 bytes each: 400 bytes in 45 are nine stripes."""
    tensors = (between(200, 0, 1), between(200, 1, 2))
    ops = (FluidOp(10), whole(10), FluidOp(10))
    moved = 2 * 200 + 2 * 200
    for capacity, stripes in ((45, 9), (50, 8), (130, 4), (300, 2)):
        found = cycles_of(run_of(*ops, capacity=capacity, tensors=tensors))
        assert 30 + 1000 * (stripes - 1) <= found <= 30 + 1000 * (stripes - 1) + moved


def test_a_run_in_one_stripe_divides_a_group() -> None:
    """Three runs with 600 bytes between them: as a group, the middle one in stripes, nothing has to leave."""
    tensors = (between(600, 0, 1), between(600, 1, 2))
    ops = (FluidOp(10), FluidOp(10, joins=True), FluidOp(10, joins=True))
    joined = run_of(*ops, capacity=1000, tensors=tensors)
    single = replace(joined, ops=(ops[0], replace(ops[1], single=True), ops[2]))
    assert cycles_of(joined) == 30
    assert cycles_of(single) >= 600 + 600
    beside = replace(tensors[0], reads=(1, 2), loads=(600, 600), read_bytes=(600, 600))
    partly = replace(tensors[0], read_bytes=(500,))
    for first, least in (tensors[0], 2), (beside, 1), (partly, 1):
        separations = Separations(replace(joined, tensors=(first, tensors[1])))
        assert least_stripes(separations, 1, 0, 3) == least


def test_all_runs_of_a_group_have_two_stripes() -> None:
    """One run alone may have one, if nothing of a tensor is there that comes after it or goes before it."""
    tensors = (between(600, 0, 1),)
    ops = (whole(10), whole(10, joins=True))
    assert cycles_of(run_of(*ops, capacity=1000, tensors=tensors)) == 10 + 10
    assert cycles_of(run_of(*ops, capacity=590, tensors=tensors)) == 10 + 10 + 2 * 1000
    for alone, least in (900, 10 + 10 + 900), (2100, 10 + 10 + 2 * 1000):
        slower = (ops[0], replace(ops[1], alone=alone))
        assert cycles_of(run_of(*slower, capacity=1000, tensors=tensors)) == least


def test_a_later_run_that_needs_nothing_of_a_group_is_not_divided_from_it() -> None:
    """The last run reads what the third one makes, and that reads nothing: it may come between the others."""
    ops = (FluidOp(10), *(FluidOp(10, joins=True) for _ in range(3)))
    tensors = (between(400, 0, 1), between(400, 1, 3), between(400, 2, 3))
    assert least_stripes(Separations(run_of(*ops, tensors=tensors)), 1, 0, 4) == 1


def test_a_step_of_a_group_needs_room() -> None:
    """The only stripe of the second run reads and writes 1,200 bytes; its weights are there, too."""
    ops = (FluidOp(10), FluidOp(10, single=True, joins=True), FluidOp(10, joins=True))
    tensors = (between(600, 0, 1, 2), between(600, 1, 2))
    assert cycles_of(run_of(*ops, capacity=1200, tensors=tensors)) == 30
    assert cycles_of(run_of(*ops, capacity=1190, tensors=tensors)) > 600
    heavy = (ops[0], FluidOp(10, weights=500, joins=True))
    assert cycles_of(run_of(*heavy, capacity=510, tensors=(between(600, 0, 1),))) == 500 + 20
    assert cycles_of(run_of(*heavy, capacity=490, tensors=(between(600, 0, 1),))) > 1200


def test_a_tensor_that_stays_is_counted_once() -> None:
    """600 bytes are there throughout. The two runs of the group have 260 for the 500 between them."""
    tensors = (between(600, 0, 2, 3), between(500, 1, 2))
    cheap = tuple(100 * (count - 1) for count in PART_COUNTS)
    ops = (FluidOp(10), FluidOp(10, cheap, cheap), FluidOp(10, cheap, cheap, joins=True), FluidOp(10))
    assert cycles_of(run_of(*ops, capacity=860, tensors=tensors)) == 40 + 2 * 100


def test_slices_of_one_row_all_read_the_same() -> None:
    """Beside 50 bytes that every slice reads, 120 have room for 70: eight slices of 500, not five."""
    read = replace(between(50, 0, 1), made=None, by_all_slices=frozenset((0,)), reads=(0,))
    op = replace(whole(10, 500), single=True, sliced=tuple(1000 * (count - 1) for count in PART_COUNTS))
    assert cycles_of(run_of(op, capacity=120, tensors=(read,))) >= 10 + 7000
    apart = replace(read, by_all_slices=frozenset())
    assert cycles_of(run_of(op, capacity=120, tensors=(apart,))) < 10 + 5000


def in_place_by_rows(capacity: int, *, weights: int = 0, rows: int = 600, alike: bool = True) -> int:
    """Cycles of three runs with tensors of 600 bytes between them, the second one of which may take the first
    one's memory; each further stripe of the second run takes 100 cycles."""
    taken, runs = between(600, 0, 1), frozenset((1,))
    taken = replace(taken, by_rows=runs, evenly=runs if alike else frozenset())
    hundreds = tuple(100 * (count - 1) for count in PART_COUNTS)
    ops = (whole(10), FluidOp(10, hundreds, hundreds, weights, rows=rows), whole(10))
    return cycles_of(run_of(*ops, capacity=capacity, tensors=(taken, between(600, 1, 2))))


def test_a_tensor_takes_the_memory_of_another_one_in_as_many_stripes_as_that_needs() -> None:
    """Of n stripes one makes 600 / n bytes while 600 are still there; of n only steps are known, 5 to 8."""
    assert in_place_by_rows(1200) == 30
    assert in_place_by_rows(1199) == 30 + 100
    assert in_place_by_rows(900) == 30 + 100
    assert in_place_by_rows(700) == in_place_by_rows(675) == 30 + 400
    assert in_place_by_rows(674) == 30 + 800
    assert in_place_by_rows(674, alike=False) == 30 + 100


def test_a_tensor_cannot_take_the_memory_of_another_one_in_more_stripes_than_rows() -> None:
    """Both tensors would go through Psram then, which takes 600 cycles or more."""
    assert in_place_by_rows(750, rows=4) == 30 + 200
    assert in_place_by_rows(749, rows=4) > 600


def test_weights_come_again_for_each_stripe_in_place_that_cannot_hold_them() -> None:
    """Beside 75 bytes or more in each of up to eight stripes there is room for 325 of 1,000: at least half of
    them comes twice."""
    assert in_place_by_rows(2200, weights=1000, rows=8) <= 1000 + 130
    assert 1000 + 500 <= in_place_by_rows(1000, weights=1000, rows=8) <= 1000 + 500 + 330


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
        single = draw(st.sampled_from([False, False, True]))
        weights, set_up = draw(size), draw(st.integers(0, 2))
        ops.append(FluidOp(draw(size), parts, parts, weights, set_up, joins, kept, single))
    tensors = [FluidTensor(9, None, (0,), (9,))]
    for made in range(count - 1):
        reads = tuple(sorted(draw(st.sets(st.integers(made + 1, count - 1), min_size=1, max_size=2))))
        tensors.append(draw(st.sampled_from([between, evenly]))(draw(st.integers(1, 30)), made, *reads))
    tensors.append(FluidTensor(7, count - 1, (), (), stored=7))
    return FluidProblem(tuple(ops), tuple(tensors), draw(st.integers(60, 200)), Fraction(1), Fraction(1), 2)


@pytest.mark.slow
@given(problems())
def test_a_coarse_grid_never_says_more_than_the_finest(problem: FluidProblem) -> None:
    """Points a cycle apart leave nothing between them."""
    bounds = [least_time(problem, levels).cycles for levels in (4, 16, 4096)]
    assert bounds[0] <= bounds[2]
    assert bounds[1] <= bounds[2]


@pytest.mark.slow
@given(problems())
@settings(max_examples=15)
def test_it_equals_the_twin_that_tries_every_amount(problem: FluidProblem) -> None:
    assert least_time(problem, 4096).cycles == twin_time(problem)


@pytest.mark.slow
@given(problems(), st.integers(1, 100))
def test_more_memory_is_never_slower(problem: FluidProblem, more: int) -> None:
    larger = replace(problem, capacity=problem.capacity + more)
    assert least_time(larger, 4096).cycles <= least_time(problem, 4096).cycles


@pytest.mark.slow
@given(problems())
def test_groups_never_make_a_run_slower(problem: FluidProblem) -> None:
    alone = replace(problem, ops=tuple(replace(op, joins=False) for op in problem.ops))
    assert least_time(problem, 4096).cycles <= least_time(alone, 4096).cycles


@pytest.mark.slow
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


@pytest.mark.parametrize("count", [8, 10, 14])
def test_a_longer_group_holds_weights_or_loads_them_twice(count: int) -> None:
    """Three of the weights have room at once. All once takes ``300 * count`` cycles, all but three twice is
    a plan."""
    ops = tuple(FluidOp(10, weights=300, joins=run > 0) for run in range(count))
    tensors = tuple(between(900, run, run + 1) for run in range(count - 1))
    cycles = cycles_of(run_of(*ops, capacity=1000, tensors=tensors))
    assert 300 * (count + count // 2 - 2) <= cycles <= 300 * (2 * count - 3)


def test_weights_that_have_no_room_together_are_loaded_for_each_turn() -> None:
    """Beside one of two weights 400 bytes are left for 1,000 between them: three turns. Both at once leave
    100. If a tensor of 700 bytes comes after it, no more than that passes: two turns."""
    runs = (FluidOp(10, weights=500), FluidOp(10, sliced=LAUNCH, weights=500, joins=True))
    assert cycles_of(run_of(*runs, capacity=900, tensors=(evenly(1000, 0, 1),))) == 3 * 1000
    assert cycles_of(run_of(*runs, capacity=900, tensors=(between(1000, 0, 1),))) == 2 * 1000
    assert cycles_of(run_of(*runs, capacity=1100, tensors=(evenly(1000, 0, 1),))) == 1000 + 20
    three = (runs[0], FluidOp(10, joins=True), runs[1])
    passing = evenly(1000, 0, 1), evenly(700, 1, 2)
    assert cycles_of(run_of(*three, capacity=900, tensors=passing)) == 2 * 1000


def test_a_run_may_take_turns_with_the_least_of_those_that_are_not_looked_at() -> None:
    """Of five weights the three largest are held or not. Where the one of 500 bytes alone is not, 100 bytes
    are left, in which it may take turns with the first run three times, or with the second one ten times."""
    ops = tuple(FluidOp(10, weights=size, joins=size != 200) for size in (200, 100, 500, 400, 300))
    tensors = tuple(evenly(size, run, run + 1) for run, size in enumerate((300, 1000, 5000, 5000)))
    amounts = FluidAmounts(run_of(*ops, capacity=1300, tensors=tensors))
    assert 1500 + 2 * 500 in group(amounts, 0, 5)[:, 4]


def test_room_for_what_passes_is_what_the_heavier_one_leaves() -> None:
    ops = (FluidOp(10, weights=500), FluidOp(10, weights=100, joins=True))
    turns = Turns(Residents(run_of(*ops, tensors=(evenly(1000, 0, 1),))))
    for held, least in (((), 3), ((0,), 2), ((1,), 3), ((0, 1), 2)):
        assert list(turns.least(0, (0, 1), held, 900)) == list(turns.least(1, (0, 1), held, 900)) == [least]
    assert Turns(Residents(run_of(replace(ops[0], weights=0, shares=True)))).weighted == {0}


def test_an_unknown_run_may_take_turns_with_one_of_a_longer_group() -> None:
    """Nothing is known to pass between the first of eight runs and the others: if those before the last one
    are held, 6 of 64 parts of memory each, it may be the first that the last one takes turns with, and be
    loaded twice. If one of them is not held, it is loaded as often as that one needs."""
    ops = tuple(FluidOp(10, weights=100, joins=run > 0) for run in range(8))
    tensors = (between(4000, 0, 1), *(evenly(4000, run, run + 1) for run in range(1, 7)))
    amounts = FluidAmounts(run_of(*ops, capacity=1000, tensors=tensors))
    for level, again in (30, 200), (24, 800):
        assert set(through_long_group(amounts, 7, [level], 1)[:, 4].tolist()) == {100, again}
    alike = (evenly(4000, 0, 1), *tensors[1:])
    amounts = FluidAmounts(run_of(*ops, capacity=1000, tensors=alike))
    assert set(through_long_group(amounts, 7, [30], 1)[:, 4].tolist()) == {100, 1000}


def test_steps_of_a_group_take_turns_as_often_as_what_passes_needs() -> None:
    """1,000 bytes pass in 150: seven steps of each run, with a launch each. A run in one step needs all."""
    launches = tuple(100 * (count - 1) for count in PART_COUNTS)
    runs = (FluidOp(10, launches, launches), FluidOp(10, launches, launches, joins=True))
    tensors = (evenly(1000, 0, 1),)
    assert cycles_of(run_of(*runs, capacity=150, tensors=tensors)) == 20 + 2 * 600
    single = (runs[0], replace(runs[1], single=True))
    assert cycles_of(run_of(*single, capacity=990, tensors=tensors)) > 1000
    assert cycles_of(run_of(*single, capacity=1000, tensors=tensors)) == 20


@pytest.mark.parametrize(("weights", "capacity"), [((0, 0), 400), ((100, 0), 500), ((100, 100), 500)])
def test_a_step_has_room_beside_weights(weights: tuple[int, int], capacity: int) -> None:
    """Each run of the group reads and writes 1,200 bytes. Beside weights that are held, or its own, 400 bytes
    hold a third of them, and 399 do not."""
    launches = tuple(100 * (count - 1) for count in PART_COUNTS)
    runs = (FluidOp(10, launches, launches, each, joins=run > 0) for run, each in enumerate(weights))
    tensors = (between(600, 0, 1), between(600, 1, 2), between(600, 2, 3))
    ops = (FluidOp(10), *(replace(op, joins=run > 0) for run, op in enumerate(runs)), FluidOp(10))
    for less, parts in (0, 3), (1, 4):
        amounts = FluidAmounts(run_of(*ops, capacity=capacity - less, tensors=tensors))
        assert group(amounts, 1, 3)[:, 3].min() == 20 + 2 * 100 * (parts - 1)


@pytest.mark.parametrize("capacity", [900, 899])
@pytest.mark.parametrize("side", [0, 1])
def test_weights_have_room_beside_a_tensor_where_a_group_begins_and_ends(side: int, capacity: int) -> None:
    """600 bytes before the group, or after it, and 300 of weights of its first run, or of its last one."""
    weights = (FluidOp(10, weights=300), FluidOp(10, weights=300, joins=True))
    ops = (*weights, FluidOp(10)) if side else (FluidOp(10), *weights)
    sizes = (10, 600) if side else (600, 10)
    tensors = tuple(evenly(size, run, run + 1) for run, size in enumerate(sizes))
    table = group(FluidAmounts(run_of(*ops, capacity=capacity, tensors=tensors)), 1 - side, 3 - side)
    assert any(table[:, side]) == (capacity == 900)


def test_a_group_begins_with_the_weights_of_its_first_run() -> None:
    """Weights that are held are there at its begin. If those of both runs are loaded twice, what overlaps
    with computing are all loads, or all but those of the first step."""
    group = (FluidOp(500, sliced=LAUNCH, weights=300), FluidOp(500, sliced=LAUNCH, weights=300, joins=True))
    tensors = (replace(between(900, 0, 1), by_every_step=frozenset((1,))),)
    assert cycles_of(run_of(*group, capacity=1000, tensors=tensors)) == 1300
    assert cycles_of(run_of(*group, capacity=1000, tensors=(between(900, 0, 1),))) == 1200
    group = (group[0], FluidOp(500, joins=True))
    assert cycles_of(run_of(*group, capacity=1000, tensors=(between(900, 0, 1),))) == 1300


COUNTS = (2, 3, 4, 5, 9)


def launched(launch: int, cycles: int, weights: int = 0) -> FluidOp:
    """An op each part of which takes ``launch`` cycles more."""
    every = tuple(launch * (count - 1) for count in COUNTS) if launch else ()
    return FluidOp(launch + cycles, every, every, weights, counts=COUNTS if launch else PART_COUNTS)


def best_of_parts(each: tuple[int, int], rows: int, launch: int, capacity: int, earlier: int = 0) -> int:
    """The least cycles over all divisions of ``rows``, each with bytes in and out and one cycle."""
    found: list[int] = []
    for sizes in divisions(rows):
        parts = [Part(each[0] * size, each[1] * size, launch + size) for size in sizes]
        best = PartsOracle(parts, capacity, earlier).cycles()
        found += [] if best is None else [best]
    return min(found, default=1 << 40)


@given(st.integers(1, 2), st.integers(1, 8), st.integers(2, 16), st.integers(0, 8))
@settings(max_examples=60, deadline=None)
def test_no_slices_beat_the_bound(each: int, rows: int, capacity: int, launch: int) -> None:
    """What is loaded for a slice while another one computes has the room that this one leaves."""
    op = launched(launch, rows, each * rows)
    assert cycles_of(run_of(op, capacity=capacity)) <= best_of_parts((each, 0), rows, launch, capacity)


@given(
    st.integers(1, 2),
    st.integers(1, 2),
    st.integers(1, 5),
    st.integers(1, 8),
    st.integers(0, 8),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_no_stripes_beat_the_bound(
    ins: int, outs: int, rows: int, more: int, launch: int, made: bool
) -> None:
    """The run reads what comes from outside, or what lies in memory at first, is stored and loaded again."""
    loads, makes = ins * rows, outs * rows
    capacity = more + (loads if made else 1)
    result = FluidTensor(makes, int(made), (), (), written=makes, stored=makes)
    read = between(loads, 0, 1) if made else FluidTensor(loads, None, (0,), (loads,), (loads,))
    read = replace(read, by_every_step=frozenset(read.reads))
    ops = (FluidOp(0, LAUNCH, LAUNCH), launched(launch, rows)) if made else (launched(launch, rows),)
    best = best_of_parts((ins, outs), rows, launch, capacity, loads if made else 0)
    if made:  # or it stays
        best = min(best, best_of_parts((0, outs), rows, launch, capacity - loads))
    assert cycles_of(run_of(*ops, capacity=capacity, tensors=(read, result))) <= best


def window_parts(each: int, out: int, sizes: tuple[int, ...], launch: int) -> list[Part]:
    """Stripes of a window of three rows, padded by one: each reads two rows of the one before."""
    ends = list(accumulate(sizes))
    read = [0, *(min(end + 1, ends[-1]) for end in ends)]
    new = [each * (last - first) for first, last in pairwise(read)]
    return [Part(load, out * size, launch + size) for load, size in zip(new, sizes, strict=True)]


@given(st.integers(1, 2), st.integers(1, 2), st.integers(2, 6), st.integers(4, 16), st.integers(0, 8))
@settings(max_examples=60, deadline=None)
def test_no_stripes_of_a_window_beat_the_bound(
    each: int, out: int, rows: int, capacity: int, launch: int
) -> None:
    loads, makes = each * rows, out * rows
    read = FluidTensor(
        loads, None, (0,), (loads,), (loads,), by_every_step=frozenset((0,)), overlaps=(2 * each,)
    )
    result = FluidTensor(makes, 0, (), (), written=makes, stored=makes)
    op = replace(launched(launch, rows), rows=rows, even=True)
    found: list[int] = []
    for sizes in divisions(rows):
        parts = PartsOracle(window_parts(each, out, sizes, launch), capacity, overlap=2 * each)
        best = parts.cycles()
        found += [] if best is None else [best]
    if found:
        assert cycles_of(run_of(op, capacity=capacity, tensors=(read, result))) <= min(found)


def striped_rows(capacity: int, overlap: int = 0, *, even: bool = True, linear: bool = True) -> int:
    """Further stripes of ten rows, each with 10 bytes in and 10 out."""
    read = FluidTensor(100, None, (0,), (100,), (100,), overlaps=(overlap,))
    result = FluidTensor(100, 0, (), (), written=100, stored=100)
    thousands = tuple(1000 * (count - 1) for count in range(2, 12))
    op = FluidOp(10, thousands, thousands if linear else (), rows=10, counts=tuple(range(2, 12)), even=even)
    return cycles_of(run_of(op, capacity=capacity, tensors=(read, result))) // 1000


@pytest.mark.parametrize("linear", [True, False])
def test_stripes_have_whole_rows(linear: bool) -> None:
    """79 bytes hold three rows, 80 four."""
    rooms = 200, 199, 100, 99, 80, 79, 59, 20
    assert [striped_rows(room, linear=linear) for room in rooms] == [0, 1, 1, 2, 2, 3, 4, 9]
    assert [striped_rows(room, even=False) for room in (199, 99, 79)] == [1, 2, 2]


@pytest.mark.parametrize("linear", [True, False])
def test_stripes_between_others_read_rows_of_both(linear: bool) -> None:
    """In 100 bytes two stripes have five rows each. In 99 they have four, and one between them, with
    20 bytes more, has three."""
    rooms = 100, 99, 80, 79, 60, 59
    assert [striped_rows(room, 20, linear=linear) for room in rooms] == [1, 2, 2, 3, 3, 7]


def test_three_rows_leave_little_room_to_load_meanwhile() -> None:
    """Of three rows that take 100 bytes each, 110 bytes have room to load or store 10 more while each one
    computes."""
    read = FluidTensor(150, None, (0,), (150,), (150,), by_every_step=frozenset((0,)))
    result = FluidTensor(150, 0, (), (), written=150, stored=150)
    op, moved = FluidOp(500, rows=3, even=True), 3 * 10 + 1
    found = cycles_of(run_of(op, capacity=110, tensors=(read, result)))
    assert found == 500 + 150 + 150 - moved


def test_slices_that_read_their_own_channels_read_less_of_other_stripes() -> None:
    """Each of two slices reads 10 bytes of each row; 45 bytes hold three rows beside its weights."""
    read = FluidTensor(200, None, (0,), (200,), (200,), overlaps=(40,))
    op = FluidOp(10, (), (0, 5000), 20, rows=10, counts=(2, 3), even=True)
    assert cycles_of(run_of(op, capacity=45, tensors=(read,))) < 500


def test_all_weights_are_there_in_stripes_without_slices() -> None:
    """Five stripes of five rows have room beside all weights, for which they wait. Six parts of two or more
    slices wait for an eighth of them, at least."""
    read = FluidTensor(8000, None, (0,), (8000,), (8000,), by_all_slices=frozenset((0,)))
    result = FluidTensor(8000, 0, (), (), written=8000, stored=8000)
    op = replace(whole(10, 4352), rows=25, even=True, ranges=())
    table = run_alone(FluidAmounts(run_of(op, capacity=8256, tensors=(read, result))), 0)
    for parts, waits in (5, 4352), (6, 4352 // 8):
        assert table[table[:, 3] < 10 + 1000 * parts][:, 2].min() == waits


def test_parts_of_two_slices_or_more() -> None:
    """Two slices leave 50 bytes, room for two rows; three leave 66, for three rows, or two between others."""
    op = FluidOp(0, (), (), 100, rows=10, even=True)
    room, every, nothing = (np.array(size) for size in (100, 200, 0))
    for overlap, parts in (0, 2 * 5), (20, 3 * 4):
        assert least_parts(op, room, every, nothing, np.array(overlap)) == parts


def loaded_in_both(weights: int, capacity: int, *stripes: int, even: bool = True, set_up: int = 0) -> int:
    """DMA cycles of a run in stripes and slices of which every slice reads the same 400 bytes."""
    read = FluidTensor(400, None, (0,), (400 + set_up,), (400,), by_all_slices=frozenset((0,)))
    counts, ranges = tuple(range(2, 402)), tuple((each, each) for each in stripes)
    op = FluidOp(1, (), (), weights, rows=8, counts=counts, even=even, ranges=ranges)
    problem = replace(run_of(op, capacity=capacity, tensors=(read,)), set_up=set_up)
    return int(run_alone(FluidAmounts(problem), 0)[:, 4].min()) - set_up


def test_what_does_not_stay_comes_again_for_each_stripe_or_for_each_slice() -> None:
    """Two stripes of 200 bytes leave 50 of 1,000 bytes of weights. Beside two slices of 150 bytes 100 of the
    400 stay that each reads, beside each of twenty slices of 200 bytes 50."""
    assert loaded_in_both(1000, 250, 2) == 1000 + 400 + 950
    assert loaded_in_both(1000, 250, 2, even=False) == 1000 + 400
    assert loaded_in_both(300, 250, 2, 4) == 300 + 400 + 250
    assert loaded_in_both(300, 250, 3) == 300 + 400 + 2 * (300 - (250 - 3 * 50))
    assert loaded_in_both(300, 500, 2) == 300 + 400
    for set_up in 0, 100:
        assert loaded_in_both(4000, 250, 8, set_up=set_up) == 4000 + 400 + 19 * 350


def test_slices_have_whole_channels() -> None:
    """Ten channels of 30 bytes, of which 100 bytes hold three: in six slices 240 bytes move while the NPU
    computes, 60 while it waits. In slices of any bytes five would do."""
    counts = tuple(range(2, 12))
    launches = tuple(50 * (count - 1) for count in counts)
    op = FluidOp(10, (), launches, 300, counts=counts, channel=30, single=True)
    assert cycles_of(run_of(op, capacity=100)) == 10 + 5 * 50 + 60
    assert cycles_of(run_of(replace(op, channel=1), capacity=100)) == 10 + 4 * 50 + 100


def test_each_of_many_loads_has_a_set_up() -> None:
    """With 90 bytes a load, each byte takes another cycle. Else 300 bytes take as many loads as they are
    times larger than memory."""
    op = FluidOp(10, weights=300, set_up=90, channel=30, most_loaded=90)
    assert cycles_of(run_of(op, capacity=100)) == 300 + 300
    assert cycles_of(run_of(replace(op, most_loaded=0), capacity=100)) == 300 + 3 * 90


def test_slices_whose_results_leave_have_whole_channels_too() -> None:
    """Ten channels of 30 bytes, and a byte of the result for each: 115 bytes hold three channels."""
    result = replace(between(10, 0, 1), reads=(), loads=(), stored=10, written=10)
    op = replace(whole(10, 300), single=True, channel=30)
    assert cycles_of(run_of(op, capacity=115, tensors=(result,))) > 10 + 3000
    assert cycles_of(run_of(replace(op, channel=1), capacity=115, tensors=(result,))) < 10 + 3000


def test_stripes_in_slices_have_shares_of_weights_and_of_what_all_slices_read() -> None:
    """Beside half of 400 bytes of weights, 200 bytes have room for a sixth of the 800 bytes that both slices
    read, and of half of the results: twelve parts. If each slice reads its own share, five slices will do."""
    read = replace(
        between(800, 0, 1), made=None, by_all_slices=frozenset((0,)), reads=(0,), read_bytes=(800,)
    )
    result = replace(between(800, 0, 1), reads=(), loads=(), stored=800, written=800)
    op = whole(10, 400)
    for each, launches in (read, 11), (replace(read, by_all_slices=frozenset()), 4):
        cycles = cycles_of(run_of(op, capacity=400, tensors=(each, result)))
        assert 10 + 1000 * launches <= cycles < 10 + 1000 * launches + 2000
    few_rows = run_of(replace(op, rows=5), capacity=400, tensors=(read, result))
    assert cycles_of(few_rows) >= 10 + 1000 * 14


def test_no_memory_is_taken_row_by_row_of_a_tensor_that_is_not_kept() -> None:
    taken, runs = between(600, 0, 1), frozenset((1,))
    ops = (whole(10), FluidOp(10, LAUNCH, LAUNCH[1:] + LAUNCH[:1], 100, rows=600), whole(10))
    for capacity in 300, 500:
        each = [
            cycles_of(run_of(*ops, capacity=capacity, tensors=(tensor, between(600, 1, 2))))
            for tensor in (taken, replace(taken, by_rows=runs, evenly=runs))
        ]
        assert each[0] == each[1]


def test_no_run_of_a_long_group_is_held_beside_weights_that_have_no_room() -> None:
    ops = tuple(FluidOp(10, weights=600 if run % 2 else 100, joins=run > 0) for run in range(8))
    tensors = tuple(evenly(700, run, run + 1) for run in range(7))
    amounts = FluidAmounts(run_of(*ops, capacity=1190, tensors=tensors))
    assert set(through_long_group(amounts, 7, [0], 1)[:, 4].tolist()) == {1200}
    amounts = FluidAmounts(run_of(*ops, capacity=1210, tensors=tensors))
    assert set(through_long_group(amounts, 7, [0], 1)[:, 4].tolist()) == {600, 1200}


def test_each_step_of_a_group_has_its_weights_beside_those_that_are_held() -> None:
    """Four runs with 300 bytes may be held beside the 290 of a fifth one, each loaded once."""
    ops = tuple(FluidOp(10, weights=300 - 10 * (run == 2), joins=run > 0) for run in range(5))
    tensors = tuple(evenly(10, run, run + 1) for run in range(4))
    for capacity, least in (1500, 1490), (1480, 1491):
        loads = group(FluidAmounts(run_of(*ops, capacity=capacity, tensors=tensors)), 0, 5)[:, 4]
        assert least <= loads.min() <= least + 600


def test_a_tensor_that_stays_may_be_stored_long_before_it_leaves() -> None:
    """It is stored while the second run computes and makes way in the group, row by row: when that begins,
    more is moved ahead than there is room for loads."""
    ops = whole(10), whole(1000), FluidOp(10), FluidOp(10, joins=True), whole(10), whole(10)
    tensors = evenly(900, 0, 2, 5), evenly(900, 2, 3), evenly(900, 3, 4)
    plan = 10 + 1000 + 10 + 10 + 10 + 900 + 10
    assert cycles_of(run_of(*ops, tensors=tensors)) <= plan
    long = *ops[:3], *(FluidOp(10, joins=True) for _ in range(6)), *ops[4:]
    kept = tensors[0], *(evenly(900, run, run + 1) for run in range(2, 9))
    assert cycles_of(run_of(*long, tensors=(replace(kept[0], reads=(2, 10)), *kept[1:]))) <= plan + 50


def test_held_weights_count_once_in_stripes_that_take_rows_in_place() -> None:
    """Two stripes in two slices: 600 bytes of one tensor, 300 of the other one, and 400 of 800 of weights."""
    taken = replace(evenly(600, 0, 1), by_rows=frozenset((1,)))
    ops = whole(10), FluidOp(10, LAUNCH, LAUNCH, 800, rows=2), whole(10)
    for capacity, least in (1300, 3010), (1299, 5010):
        problem = run_of(*ops, capacity=capacity, tensors=(taken, between(600, 1, 2)))
        table = run_alone(FluidAmounts(problem), 1)
        assert table[(table[:, 0] == 1) & (table[:, 1] == 1), 3].min() == least
