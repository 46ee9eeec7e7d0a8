"""A run on its own: in one part with all that it needs, or in several parts.

In one part it has all its weights and operands in SharedMemory from its begin to its end. In several parts it
begins with a share of its weights, and a tensor that is not kept passes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from solvers.fluid.amounts import FluidAmounts
from solvers.fluid.problem import PART_COUNTS
from solvers.fluid.table import Table, Ways, move_columns, table_of


def run_alone(amounts: FluidAmounts, run: int) -> Table:
    """Return the ways over one run."""
    op, capacity = amounts.problem.ops[run], amounts.problem.capacity
    weights = op.set_up + amounts.loaded(op.weights)
    operands = sum(tensor.bytes for tensor in amounts.residents.operands(run).values()) + op.weights
    stored = amounts.results(run)
    last = min(stored, amounts.problem.last_part)
    options = [(1, weights, stored), *((0, first, further + last) for further, first in _parts(amounts, run))]
    whole, first, further = np.array(options, np.int64).T[:, None, :]
    move = move_columns(list(amounts.residents.moves(run, run + 1)))
    needed = first + whole * move.loads
    room = capacity - move.other_bytes - np.where(whole == 1, operands, move.own_bytes)
    before = np.where(whole == 1, needed + amounts.cycles_in(room), amounts.most)
    fits = np.where(whole == 1, room, 0)
    return table_of(
        amounts, move, Ways(needed, op.cycles + further, weights + move.loads, before, room, fits), run + 1
    )


def _parts(amounts: FluidAmounts, run: int) -> Iterator[tuple[int, int]]:
    """Further cycles of a run in several parts, and DMA cycles of the weights of the first part."""
    op = amounts.problem.ops[run]
    weights = op.set_up + amounts.loaded(op.weights)
    if not op.parted:
        yield 0, 0
        return
    most = (*(count - 1 for count in PART_COUNTS[1:]), weights + 1)
    for further, parts in zip(op.parted, most, strict=True):
        yield further, weights // parts
