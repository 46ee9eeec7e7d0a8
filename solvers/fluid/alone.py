"""A run on its own: in one part with all that it needs, or in several parts.

In one part it has all its weights and operands in SharedMemory from its begin to its end. In several parts it
begins with a share of its weights, and a tensor that is not kept passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

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
    options = [_Parts(1, weights, operands, stored)]
    options += [each._replace(further=each.further + last) for each in _parts(amounts, run)]
    whole, first, held, further = np.array(options, np.int64).T[:, None, :]
    move = move_columns(list(amounts.residents.moves(run, run + 1)))
    needed = first + whole * move.loads
    room = capacity - move.other_bytes - held - np.where(whole == 1, 0, move.own_bytes)
    before = np.where(whole == 1, needed + amounts.ahead_in(room, run), amounts.most)
    ways = Ways(needed, op.cycles + further, weights + move.loads, before, room, room)
    return table_of(amounts, move, ways, run, run + 1)


class _Parts(NamedTuple):
    """A number of stripes or slices."""

    whole: int
    """1 for a single part, which needs all that it reads at its begin."""
    first: int
    """DMA cycles of the weights that the first part needs."""
    held: int
    """Bytes that are there at the end, beside tensors that are kept."""
    further: int
    """NPU cycles of further parts, with stores that nothing can hide."""


def _parts(amounts: FluidAmounts, run: int) -> Iterator[_Parts]:
    """Stripes that have all weights, or slices that divide them."""
    op = amounts.problem.ops[run]
    weights = op.set_up + amounts.loaded(op.weights)
    yield _Parts(0, weights, op.weights, op.striped[0] if op.striped else 0)
    if not op.weights:
        return
    most = (*(count - 1 for count in PART_COUNTS[1:]), weights + 1)
    sliced = op.sliced or (0,) * len(PART_COUNTS)
    for further, slices in zip(sliced, most, strict=True):
        yield _Parts(0, weights // slices, 0, further)
