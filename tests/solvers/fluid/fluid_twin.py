"""The least time of a fluid run, every amount ahead tried one by one."""

from collections import defaultdict

from solvers.fluid.alone import run_alone
from solvers.fluid.amounts import FluidAmounts
from solvers.fluid.groups import LONGEST_GROUP, group, may_be_group
from solvers.fluid.problem import FluidProblem
from solvers.fluid.table import Table

State = tuple[int, int]
"""The tracked tensors that are in SharedMemory, and DMA cycles that have been moved ahead."""


def twin_time(problem: FluidProblem) -> int:
    """Return the least time of a run whose groups have at most ``LONGEST_GROUP`` runs."""
    amounts = FluidAmounts(problem)
    reached: list[dict[State, int]] = [defaultdict(lambda: 1 << 60) for _ in range(amounts.count + 1)]
    reached[0][0, 0] = 0
    for start in range(amounts.count):
        _keep(reached[start], amounts.loaded(problem.ops[start].kept))
        for stop in range(start + 1, min(amounts.count, start + LONGEST_GROUP) + 1):
            if stop > start + 1 and not problem.ops[stop - 1].joins:
                break
            if stop == start + 1:
                _step(reached[start], reached[stop], run_alone(amounts, start))
            elif may_be_group(amounts, start, stop):
                _step(reached[start], reached[stop], group(amounts, start, stop))
    return min(time for (_, ahead), time in reached[-1].items() if ahead >= 0)


def _keep(there: dict[State, int], most: int) -> None:
    for (tensors, ahead), time in list(there.items()):
        for free in range(1, most + 1):
            there[tensors, ahead + free] = min(there[tensors, ahead + free], time)


def _step(start: dict[State, int], stop: dict[State, int], table: Table) -> None:
    for before, after, needed, cycles, moved, most_before, most_after, least, beside in table.tolist():
        for (there, ahead), time in list(start.items()):
            if there != before or ahead > most_before:
                continue
            for left in range(least, most_after + 1):
                to_move = left - ahead + moved
                took = max(max(needed - ahead, 0) + cycles, to_move, to_move - beside + cycles)
                stop[after, left] = min(stop[after, left], time + took)
