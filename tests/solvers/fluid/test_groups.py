"""What is in memory while runs take turns, and what these cost as a group."""

from dataclasses import replace

import pytest

from solvers.fluid.amounts import FluidAmounts
from solvers.fluid.groups import group, through_long_group
from solvers.fluid.problem import PART_COUNTS, FluidOp, FluidTensor
from solvers.fluid.stripes import StepBytes, step_bytes
from tests.solvers.fluid.test_dynamic_program import between, cycles_of, evenly, run_of, whole

SKIPPED = evenly(600, 0, 1, 3)
CHAIN = evenly(100, 1, 2), evenly(200, 2, 3), evenly(50, 3, 4)


def amounts_of(*tensors: FluidTensor, runs: int = 5, capacity: int = 1000) -> FluidAmounts:
    ops = (FluidOp(10, joins=run > 0) for run in range(runs))
    return FluidAmounts(run_of(*ops, capacity=capacity, tensors=tensors))


def step(*tensors: FluidTensor, run: int = 2, stop: int = 4, end: int = 4) -> StepBytes:
    """What is there at a step of a run of the group from the first run on."""
    return step_bytes(amounts_of(*tensors).turns, run, 0, stop, end)


def test_rows_for_a_later_run_lie_beside_the_runs_between() -> None:
    """A tensor that the runs 1 and 3 read lies beside run 2, if this needs its rows, and run 3 both."""
    assert step(SKIPPED, *CHAIN) == (100 + 200 + 600, 0)
    assert step(between(600, 0, 1, 3), *CHAIN) == (100 + 200, 0)
    assert step(SKIPPED, between(100, 1, 2), *CHAIN[1:]) == (100 + 200, 0)
    assert step(SKIPPED, CHAIN[0], between(200, 2, 3), CHAIN[2]) == (100 + 200, 0)


def test_what_a_group_makes_and_reads_and_others_need_is_there_as_a_whole() -> None:
    """Unless the group may go on to who needs it."""
    assert step(SKIPPED, *CHAIN, run=1, stop=3, end=3) == (100, 600)
    assert step(SKIPPED, *CHAIN, run=1, stop=3, end=4) == (100 + 600, 0)
    assert step(SKIPPED, *CHAIN, run=2, stop=3, end=3) == (100 + 200, 0)
    assert step(evenly(600, 0, 1, 3, 4), *CHAIN) == (100 + 200, 600)
    assert step(replace(evenly(600, 0, 1), stored=9), *CHAIN, run=1, stop=3, end=3) == (100, 600)


def test_a_tensor_as_a_whole_leaves_room_for_shares_of_others() -> None:
    size = StepBytes(300, 600)
    assert [size.stripes_in(room) for room in (900, 899, 750, 601)] == [1, 2, 2, 300]
    assert size.stripes_in(600) > 1 << 20
    assert StepBytes(0, 600).stripes_in(600) == 1
    assert StepBytes(0, 600).stripes_in(599) > 1 << 20


@pytest.mark.parametrize(("capacity", "fits"), [(600, False), (601, True)])
def test_no_group_ends_where_a_tensor_that_it_reads_has_no_room(capacity: int, fits: bool) -> None:
    """A group goes on to the run that reads it last, or has room for all of it and some of what it makes."""
    amounts = amounts_of(SKIPPED, *CHAIN, capacity=capacity)
    assert bool(len(group(amounts, 0, 3))) == fits
    assert len(group(amounts, 0, 4))
    chain = (evenly(600, 5, 6, 7) if run == 5 else evenly(60, run, run + 1) for run in range(8))
    amounts = amounts_of(*chain, runs=9, capacity=capacity)
    assert bool(len(through_long_group(amounts, 6, [0], 1))) == fits
    assert len(through_long_group(amounts, 6, [0], 0))
    assert len(through_long_group(amounts, 7, [0], 1))


def test_weights_that_are_held_leave_room_for_a_tensor_as_a_whole() -> None:
    """Twice 500 bytes of weights are held beside 600 bytes, or loaded for each of two turns."""
    tensors = (evenly(600, 0, 1, 3), between(10, 1, 2), between(10, 2, 3))
    ops = (FluidOp(10, weights=500), FluidOp(10, weights=500, joins=True), FluidOp(10), FluidOp(10))
    for capacity, loads in (1601, {1000, 2000}), (1600, {2000}), (1101, {2000}), (1100, set[int]()):
        table = group(FluidAmounts(run_of(*ops, capacity=capacity, tensors=tensors)), 0, 2)
        assert {cycles // 1000 * 1000 for cycles in table[:, 4].tolist()} == loads


def test_weights_that_a_long_group_holds_leave_room_for_a_tensor_as_a_whole() -> None:
    """600 bytes that the last run does not read, and 300 of its weights, held or loaded twice."""
    chain = (*(evenly(60, run, run + 1) for run in range(8) if run != 5), evenly(600, 5, 6, 8))
    ops = (FluidOp(10, joins=run > 0, weights=300 * (run == 7)) for run in range(9))
    problem = run_of(*ops, tensors=chain)
    for capacity, loads in (900, {300, 600}), (899, {600}):
        amounts = FluidAmounts(replace(problem, capacity=capacity))
        assert set(through_long_group(amounts, 7, [0], 1)[:, 4].tolist()) == loads


def test_a_group_has_memory_of_its_own_for_what_else_is_written_over() -> None:
    """Three times 600 bytes of an addition, in parts of 900 bytes; on its own it takes 1,200 in all."""
    launches = tuple(100 * (count - 1) for count in PART_COUNTS)
    ops = tuple(FluidOp(10, launches, launches, joins=run > 0) for run in range(2))
    tensors = (
        FluidTensor(600, None, (1,), (600,), (600,)),
        replace(evenly(600, 0, 1), in_place=frozenset((1,))),
        between(600, 1, 2),
    )
    amounts = FluidAmounts(run_of(*ops, FluidOp(0), capacity=900, tensors=tensors))
    assert group(amounts, 0, 2)[:, 3].min() == 20 + 100 + 100
    assert cycles_of(run_of(*ops, capacity=1200, tensors=tensors[:2])) >= 20


def test_inputs_that_lie_in_an_output_are_read_in_a_group_alone() -> None:
    """A run that builds its output around an input takes 50 cycles less on its own, and loads nothing."""
    inside = replace(between(700, 0, 2), in_place=frozenset((2,)), absorbed=frozenset((2,)))
    ops = (whole(10), FluidOp(10), FluidOp(50, joins=True, alone=-50), FluidOp(10))
    tensors = (inside, between(100, 1, 2), between(100, 2, 3))
    amounts = FluidAmounts(run_of(*ops, tensors=tensors))
    moves = [list(amounts.residents.moves(*borders)) for borders in ((2, 3), (1, 3))]
    assert [{move.loads for move in each if not move.before} for each in moves] == [{100}, {700}]
    assert set(group(amounts, 1, 3)[:, 3]) == {60}
    assert cycles_of(run_of(*ops, tensors=tensors)) == 30


def test_runs_of_a_long_group_load_while_others_compute() -> None:
    """The last three runs load their weights for each of eight turns, and the last one computes for long: it
    does so in turns, too, so the loads of the others need not come first. As one group of nine runs they take
    10,800 cycles."""
    ops = [FluidOp(1, joins=run > 0, weights=450 if run > 5 else 0) for run in range(9)]
    ops[-1] = replace(ops[-1], cycles=9000)
    sizes = (1200,) * 5 + (4000,) * 3
    chain = (
        replace(evenly(size, run, run + 1), loads=(10**5,), store=10**5) for run, size in enumerate(sizes)
    )
    assert 9008 <= cycles_of(run_of(*ops, capacity=1000, tensors=tuple(chain))) <= 10_800
