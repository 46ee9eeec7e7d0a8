"""What may be in SharedMemory at both borders of a stretch."""

from fractions import Fraction

from solvers.columns.moves import Move, moves
from solvers.fluid.problem import FluidOp, FluidProblem, FluidTensor
from solvers.fluid.residents import Residents

KEPT = FluidTensor(100, 0, (1, 3), (10, 20), store=5)
"""Two runs read it, between which it may leave."""
PASSED = FluidTensor(60, 1, (2,), (7,), store=4)
RESULT = FluidTensor(50, 2, (), (), stored=9)
TENSORS = (KEPT, PASSED, RESULT)
PROBLEM = FluidProblem((FluidOp(weights=1000),) * 4, TENSORS, 120, Fraction(1), Fraction(1))


def seen(start: int, stop: int) -> dict[tuple[int, int], Move]:
    return {(move.before, move.after): move for move in moves(Residents(PROBLEM), start, stop)}


def test_states_have_a_bit_for_each_tensor_and_for_each_that_may_have_been_stored() -> None:
    residents = Residents(PROBLEM)
    assert residents.tracked == [[], [KEPT], [KEPT, PASSED], [KEPT], []]
    assert residents.written == [[], [], [KEPT], [KEPT], []]
    assert [residents.sets(border) for border in range(5)] == [1, 2, 8, 4, 1]


def test_a_run_loads_what_is_not_there_and_stores_what_leaves() -> None:
    found = seen(1, 2)
    # Nothing is there, and nothing stays: the run loads one tensor, and stores the one that it makes.
    assert found[0, 0] == Move(0, 0, 10, 4, 0, 0, 0, 5, 5, 9, 0, 0, 0)
    # What has just been loaded is in Psram, too; what was made and stays is in SharedMemory alone.
    assert found[0, 1][2:5] == (10, 4, 0)
    assert found[1, 5] == Move(1, 5, 0, 4, 0, 100, 100, 0, 0, 4, 5, 5, 0)
    assert found[1, 0].leaving == 5
    assert {after for before, after in found if before == 1} == {0, 2, 5, 7}


def test_what_nobody_loads_does_not_come_back() -> None:
    assert {pair for pair in seen(2, 3) if pair[0] == 0} == {(0, 0)}
    assert seen(2, 3)[0, 0].stores == 9
    assert seen(3, 4)[0, 0].loads == 20
