"""Ways to get from a border to a later one, as rows of integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvers.fluid.amounts import FluidAmounts, Integers
from solvers.fluid.residents import Move
from solvers.fluid.stripes import UNBOUNDED

COLUMNS = 9
"""Columns of a ``Table``."""
Table = NDArray[np.int64]
"""A row for each way, with these columns:

0. the tracked tensors that are in SharedMemory before, as bits;
1. those after;
2. DMA cycles that must have been moved when the NPU begins, beyond what the runs before load and store;
3. cycles of the NPU, with stores that nothing can hide;
4. DMA cycles of everything that the runs load and store;
5. DMA cycles that may have been moved ahead at the border before, for these runs and later ones;
6. the same at the border after;
7. the least there: below 0 where stores may be still to come;
8. the most DMA cycles while the NPU is at work, and of what nothing can hide."""


class MoveColumns(NamedTuple):
    """The fields of several moves (``Move``), each a column."""

    before: Integers
    after: Integers
    loads: Integers
    stores: Integers
    before_bytes: Integers
    after_bytes: Integers
    through_bytes: Integers
    own_bytes: Integers
    other_bytes: Integers
    passing_bytes: Integers
    passing_loads: Integers
    passing_stores: Integers
    passing_behind: Integers
    first_loads: Integers
    behind: Integers
    behind_after: Integers
    taken_bytes: Integers
    taking_bytes: Integers
    taken_alike: Integers
    again_bytes: Integers
    overlap_bytes: Integers
    within: Integers
    early: Integers
    early_after: Integers


def move_columns(moves: Sequence[Move]) -> MoveColumns:
    """Return the fields of ``moves`` as columns."""
    return MoveColumns(*np.array(moves, np.int64).reshape(len(moves), len(Move._fields)).T[:, :, None])


class Ways(NamedTuple):
    """Ways by move (rows) and by option (columns), before what may be behind or ahead is known."""

    needed: Integers
    """DMA cycles of loads that must be complete when the NPU begins."""
    cycles: Integers
    loads: Integers
    """DMA cycles of all loads of the runs."""
    ahead: Integers
    """DMA cycles of loads for which there is room before the runs begin, of these and later ones. Stores that
    come early need none (``Move.early``)."""
    room_after: Integers
    """Bytes for loads of later runs at the end."""
    fits: Integers
    """At least 0 where the way has room."""
    again: Integers | int = -(1 << 40)
    """The same as ``needed``, of loads that come after the stores of what passes."""
    beside: Integers | int = UNBOUNDED
    """The most DMA cycles while the NPU is at work, and of what nothing can hide."""


def table_of(amounts: FluidAmounts, move: MoveColumns, ways: Ways, start: int, stop: int) -> Table:
    """Return the ways that fit, between two borders, but for those that another one is better than."""
    capacity, later = amounts.problem.capacity, amounts.loads_after[stop]
    # Loads may overtake stores, and what those store then lies in SharedMemory still.
    late = amounts.behind_in(capacity - move.before_bytes, start)
    needed = np.maximum(
        ways.needed - np.minimum(move.behind, late),
        ways.again - np.minimum(move.behind - move.passing_behind, late),
    )
    least = -np.minimum(move.behind_after, amounts.behind_in(capacity - move.after_bytes, stop))
    most_before = np.minimum(np.minimum(ways.ahead, ways.loads + later) + move.early, amounts.most)
    room_after = np.minimum(amounts.ahead_in(ways.room_after, stop), later)
    most_after = np.minimum(room_after + move.early_after, amounts.most)
    moved = ways.loads + move.stores
    columns = (
        move.before,
        move.after,
        needed,
        ways.cycles,
        moved,
        most_before,
        most_after,
        least,
        ways.beside,
    )
    table = np.stack(np.broadcast_arrays(*columns), axis=2)
    return table[_good(table, np.broadcast_to(ways.fits >= 0, table.shape[:2]))]


def _good(table: Table, fits: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The options of each move that fit, and that no other one to the same place is better than; of equal
    ones the first."""
    after = table[:, :, 1]
    no_worse: NDArray[np.bool_] = fits[:, :, None] & (after[:, :, None] == after[:, None, :])
    costs = *(table[:, :, number] for number in (2, 3, 4)), *(-table[:, :, number] for number in (5, 6, 8))
    for column in costs:
        no_worse = no_worse & (column[:, :, None] <= column[:, None, :])
    equal_later = np.tril(no_worse & no_worse.swapaxes(1, 2))
    return fits & ~(no_worse & ~equal_later).any(axis=1)
