"""What it costs to start a transfer for each part of a run on its own."""

from dataclasses import replace

from solvers.fluid.alone import run_alone
from solvers.fluid.amounts import FluidAmounts
from solvers.fluid.problem import FluidOp, FluidProblem, FluidTensor
from tests.solvers.fluid.test_dynamic_program import cycles_of, run_of

PARTS = (5,)
"""Five parts at least, as none takes longer in fewer."""
ROWS = FluidOp(10, (0,), (0,), rows=8, even=True, counts=PARTS)


def moved(problem: FluidProblem) -> set[int]:
    """DMA cycles of the first run on its own."""
    return set(run_alone(FluidAmounts(problem), 0)[:, 4].tolist())


def test_each_slice_of_weights_is_a_load() -> None:
    """5 slices of 4,000 bytes: one may be there before, one may be on its way, and one is counted. Two are
    left, of 7 cycles each."""
    op = FluidOp(10, weights=4000, set_up=7, counts=PARTS, single=True)
    assert moved(run_of(op)) == {4000 + 4 * 7 + 2 * 7}
    assert moved(run_of(op, capacity=4001)) >= {4000 + 7}
    assert moved(run_of(replace(op, counts=(21,)), capacity=2000)) == {4000 + 2 * 7 + 9 * 7}


def test_set_ups_that_are_counted_by_bytes_are_not_counted_again() -> None:
    """Of 21 slices 10 may be there before; 8 set-ups are counted for loads of 500 bytes."""
    op = FluidOp(10, weights=4000, set_up=7, counts=(21,), single=True, most_loaded=500)
    assert moved(run_of(op, capacity=2000)) == {4000 + 8 * 7 + 2 * 7}


def test_each_stripe_loads_its_rows_and_stores_what_it_makes() -> None:
    """5 stripes of 4,000 bytes, of which one may be there before, or be stored later, and one is counted."""
    read = FluidTensor(4000, None, (0,), (4000,), (4000,), by_parts=frozenset((0,)))
    made = FluidTensor(4000, 0, (1,), (4000,), (4000,), 4000, store=4000)
    problem = replace(run_of(ROWS, FluidOp(10), tensors=(read, made)), load_set_up=3, store_set_up=50)
    assert moved(problem) == {8000 + 2 * 3 + 2 * 50}
    assert moved(replace(problem, tensors=(replace(read, by_parts=frozenset()), made))) == {8000 + 2 * 50}
    uneven = replace(ROWS, even=False)
    assert moved(replace(problem, ops=(uneven, FluidOp(10)))) == {8000}


def test_the_last_run_stores_each_part_before_the_end() -> None:
    """Of a result that has no room as a whole. Another one may be stored at once."""
    made = FluidTensor(4000, 0, (), (), written=4000, stored=4000)
    problem = replace(run_of(ROWS, tensors=(made,)), store_set_up=50)
    assert moved(problem) == {4000 + 4 * 50}
    assert cycles_of(problem) >= 4000 + 4 * 50
    small = replace(problem, capacity=4000)
    assert moved(small) == {4000}


def test_slices_of_whole_channels_are_stored_apart() -> None:
    made = FluidTensor(4000, 0, (), (), written=4000, stored=4000)
    op = FluidOp(10, weights=4000, counts=PARTS, single=True, channel=2)
    problem = replace(run_of(op, tensors=(made,)), store_set_up=50)
    assert moved(problem) == {8000 + 4 * 50}
    assert moved(replace(problem, ops=(replace(op, channel=1),))) == {8000}
