"""What may be in SharedMemory at both borders of a stretch, from the compiled kernel (``residents.h``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from solvers.columns.kernel import MOVE_COLUMNS, Border, Integers, Stretch, border_rows, move_rows
from solvers.fluid.amounts import FluidAmounts
from solvers.fluid.residents import Residents


class Move(NamedTuple):
    """The states of two borders by number (``Residents.sets``), their bytes, and DMA cycles."""

    before: int
    after: int
    loads: int
    stores: int
    """For results, and tensors that are made and not there after."""
    leaving: int
    """For tensors that were there before, in SharedMemory alone, and are not there after."""
    before_bytes: int
    after_bytes: int
    behind: int
    """DMA cycles of stores that may be still to come before: of tensors that are not there, and results."""
    passing_behind: int
    """Those of tensors that are loaded again, and are not there after."""
    behind_after: int
    """The same as ``behind`` after."""
    early: int
    """DMA cycles of stores that may have come before, of tensors that leave meanwhile or later."""
    early_after: int
    """The same after."""
    at_once: int
    """DMA cycles of stores of tensors that leave when they are complete, and that the next run loads."""


def moves(residents: Residents, start: int, stop: int) -> Iterator[Move]:
    """Yield what may be in SharedMemory at both borders, with the transfers that this takes."""
    asked = np.array((start, stop), np.int64)
    yield from (Move(*row) for row in move_rows((*residents.arrays, asked), len(Move._fields)).tolist())


def border_of(
    amounts: FluidAmounts, stretch: Stretch, start: int, stop: int, for_plan: bool
) -> Border | None:
    """Return the moves of a stretch from border ``start`` to ``stop``; None for none. Tensors that are not
    followed cost nothing, but ``for_plan``: then they stay."""
    capacity = amounts.problem.capacity
    asked = np.array((start, stop, capacity, for_plan, *(stretch.taken or (-1, -1))), np.int64)
    numbers = np.array(stretch.numbers, np.int64)
    rows = border_rows((*amounts.residents.arrays, asked, numbers, stretch.tensors, stretch.needs))
    if not len(rows):
        return None
    ahead, behind = amounts.loaded_later, amounts.stored_before

    def columns(first: int, end: int | None = None) -> Integers:
        return np.ascontiguousarray(rows[:, first:end])

    return Border(
        columns(MOVE_COLUMNS),
        columns(MOVE_COLUMNS - 2, MOVE_COLUMNS - 1),
        columns(MOVE_COLUMNS - 1, MOVE_COLUMNS),
        columns(0, MOVE_COLUMNS - 2),
        np.concatenate([each.array for each in (ahead[start], ahead[stop], behind[start], behind[stop])]),
        capacity,
        amounts.loads_after[stop],
        amounts.most,
        stop == amounts.count,
    )
