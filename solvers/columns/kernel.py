"""The ways to run a stretch of neighbouring ops, from the compiled kernel (``ways.h``, ``borders.h``)."""

from __future__ import annotations

from typing import NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from solvers.fluid.borders import NEVER
from solvers.search.workers import compiled_kernel

Integers = NDArray[np.int64]

PASSES, FREE, STAYS, BEFORE, AFTER, COMES, LATE = 0, 1, 2, 4, 8, 16, 32
"""Where a tensor lies: it passes in stripes, costs nothing, or stays whole: from the first step on, to the
last one, and loaded by the stretch itself; late is what the run before has only just made."""
INSIDE, INPUT, OUTPUT = range(3)
"""Roles of tensors in a stretch."""
SUMS = -1
"""In the place of ``rolls``, of an output whose rows are added up."""
MACS = 5
"""The column of multiply-accumulates in ``Stretch.ops``."""
HIDDEN_CYCLES = 64
"""DMA cycles that count as one where a plan is sought, though the NPU does not wait for them, and the NPU's
that the DMA engine does not wait for."""
COLUMNS = 9
"""Those of a table, then four numbers by which the way was chosen, and the bytes at its fullest, with the
tracked tensors that stay:

0. the tracked tensors that are in SharedMemory before, as bits;
1. those after;
2. DMA cycles that must have been moved when the NPU begins, beyond what the runs before load and store;
3. cycles of the NPU, with those in which it waits for the stretch's own transfers;
4. DMA cycles of everything that the runs load and store;
5. DMA cycles that may have been moved ahead at the border before, for these runs and later ones;
6. the same at the border after;
7. the least there: below 0 where stores may be still to come;
8. cycles that it takes at least beyond those moved ahead there, once the NPU begins, as steps before have no
   room for them."""


MOVE_COLUMNS = 11
"""Those of a move: what ``MoveRow`` in ``ways.h`` has, room, and whether an output has the memory
of an input; then come places."""


class Rates(NamedTuple):
    """DMA cycles of one transfer of each kind: once, and a fraction for each byte."""

    load: tuple[int, int, int]
    store: tuple[int, int, int]
    weights: tuple[int, int, int]


class Stretch(NamedTuple):
    """A stretch as the kernel takes it; where something begins in the table is a number."""

    ops: Integers
    """Rows, cycles by rows, bytes of weights, whether they are loaded for certain, bytes carried between
    parts, or the scratch of one op, multiply-accumulates, first and end of needs and makes."""
    needs: Integers
    """Tensor, first row and end of the rows read by row."""
    makes: Integers
    tensors: Integers
    """Bytes, rows, maker or -1, role, whether its rows may pass through a rolling buffer, and runs of bytes
    of a row of which only some of the columns are needed."""
    choices: Integers
    """The rows a step of each op of a cascade, a set of bands, from 1 on, or 0, and the ops that make rows
    again for each step that reads them, as bits; of one op the rows and channels of a part, the cycles of
    all parts, and the bytes that an output takes beside the input of which it has the memory."""
    again: Integers
    """Sets of ops whose weights are loaded again, as bits."""
    by_channels: Integers
    """For each need whether slices of channels read their own channels alone."""
    bands: Integers
    """For each set of bands of a cascade their number, where the cycles of steps begin by band and op, the
    columns by band and tensor, and all columns by tensor."""
    channels: int
    """Those of one op; 0 of a cascade."""
    numbers: tuple[int, ...]
    """The number of the problem's tensor for each tensor; -1 for none."""
    loads: int
    """DMA cycles to load weights of which some may be there from before."""
    taken: tuple[int, int] | None = None
    """An input and the output that has its memory where both stay, or in one part, by number here."""
    in_turn: bool = False
    """Whether a row of one op needs all channels of the row before."""
    by_rows: bool = False
    """Whether that memory may be ``taken`` row by row alone."""


class ListedColumns(Protocol):
    """What lists the ways of stretches."""

    longest: int
    """The most ops of a stretch."""
    rates: Rates
    runs: Integers
    """DMA cycles that each further run of bytes of a transfer adds, by its length from 0 on, of loads and
    then as many of stores; the last number of each is that of all longer runs."""
    rolls: bool
    """Whether the chip addresses rolling buffers."""
    for_plan: bool
    """Whether a plan is sought: then what passes is never there whole, and of two paths that take as long the
    one that moves less is better."""
    for_bytes: bool
    """Whether only bytes count, and then the NPU's cycles and the multiply-accumulates, which stand in the
    place of all that is moved."""
    most_steps: int
    """Steps of a cascade that is looked at."""
    groups: Integers
    """How many groups of steps a stripe of what passes a cascade may have, fewer first."""
    further_macs: int
    """The most multiply-accumulates that a stretch may compute again, where they count."""

    @property
    def table(self) -> Integers:
        """Cycles and rows of all stretches."""
        ...

    def stretch(self, start: int, stop: int) -> Stretch | None:
        """The runs ``[start, stop)``; None where their ways are not listed."""
        ...

    def any_way(self, start: int, stop: int) -> bool:
        """Whether they may also run in any way whatever."""
        ...

    def least_cycles(self, run: int) -> int:
        """The least cycles of the run in any way."""
        ...


class Border(NamedTuple):
    """Both borders of a stretch."""

    places: Integers
    """For each move and tensor of the stretch where it lies."""
    room: Integers
    """Bytes by move."""
    shares: Integers
    """Whether an output has the memory of an input, by move."""
    moves: Integers
    """See ``MoveRow``."""
    fitting: Integers
    """Loads ahead before and after, stores to come before and after: the steps of ``Moved``."""
    capacity: int
    later: int
    """DMA cycles of all loads after the stretch."""
    most: int
    """DMA cycles that may be moved ahead anywhere."""
    last: bool
    """Whether nothing comes after it."""


class Limit(NamedTuple):
    """The most cycles of a path that counts."""

    most: int
    rest: Integers
    """The least times from the border after on, by point, or by set of tensors and point."""


class BorderTimes(NamedTuple):
    """Times by set of tensors and point; those after are improved."""

    points: Integers
    width: int
    before: Integers
    after: Integers


NOWHERE = BorderTimes(np.array((0, 1), np.int64), 1, *np.zeros((2, 0), np.int64))
"""Times that no limit asks for."""
NO_LIMIT = Limit(NEVER, NOWHERE.points)


class BorderRests(NamedTuple):
    """The least times from the borders of a stretch on to the end; those of the one before are improved."""

    after: Integers
    before: Integers


class _ColumnKernel(Protocol):
    def moves(self, arrays: tuple[Integers, ...], /) -> bytes: ...

    def border(self, arrays: tuple[Integers, ...], /) -> bytes: ...

    def column_ways(self, arrays: tuple[Integers, ...], /) -> bytes: ...

    def reach(self, arrays: tuple[Integers, ...], /) -> None: ...

    def reach_back(self, arrays: tuple[Integers, ...], /) -> int: ...


def is_compiled() -> bool:
    """Whether the compiled kernel can be loaded."""
    return compiled_kernel() is not None


def _kernel() -> _ColumnKernel:
    return cast(_ColumnKernel, compiled_kernel())


def move_rows(arrays: tuple[Integers, ...], fields: int) -> Integers:
    """Return the moves of a stretch, each with so many ``fields``."""
    return np.frombuffer(_kernel().moves(arrays), np.int64).reshape(-1, fields)


def border_rows(arrays: tuple[Integers, ...]) -> Integers:
    """Return the moves of a stretch, with where its tensors, those of the array before the last, lie."""
    *_, tensors, _needs = arrays
    return np.frombuffer(_kernel().border(arrays), np.int64).reshape(-1, MOVE_COLUMNS + len(tensors))


def listed_ways(
    columns: ListedColumns,
    stretch: Stretch,
    border: Border,
    reached: BorderTimes = NOWHERE,
    limit: Limit = NO_LIMIT,
) -> Integers:
    """Return the ways of a stretch within the ``limit`` that no other one is better than, each a row of
    ``COLUMNS`` numbers, of four by which it was chosen, and of its bytes."""
    most_steps = columns.most_steps
    most_macs = columns.further_macs + int(stretch.ops[:, MACS].sum())
    settings = (
        *(*columns.rates.load, *columns.rates.store, *columns.rates.weights, border.capacity, border.last),
        *(columns.rolls, most_steps, stretch.channels, stretch.channels > 0, border.later, border.most),
        *(stretch.loads, -1 if stretch.taken is None else stretch.taken[1], not columns.for_plan),
        *(stretch.in_turn, reached.width, limit.most, columns.for_bytes, most_macs, stretch.by_rows),
    )
    described = stretch.ops, stretch.needs, stretch.makes, stretch.tensors, columns.table, stretch.choices
    placed = stretch.again, columns.groups, border.places, border.room, border.shares, stretch.by_channels
    around = stretch.bands, columns.runs, np.array(settings, np.int64), border.moves, border.fitting
    times = reached.points, reached.before, limit.rest
    found = _kernel().column_ways((*described, *placed, *around, *times))
    table = np.frombuffer(found, np.int64).reshape(-1, COLUMNS + 5)
    if columns.for_plan and not columns.for_bytes:
        table = table.copy()
        table[:, 3:5] += table[:, 4:2:-1] // HIDDEN_CYCLES
    return table


def reach(table: Integers, reached: BorderTimes) -> None:
    """Reach a border by the rows of a ``table``."""
    width = np.array([reached.width], np.int64)
    _kernel().reach((np.ascontiguousarray(table), reached.points, width, reached.before, reached.after))


def reach_back(table: Integers, points: Integers, width: int, begun: Integers, rests: BorderRests) -> int:
    """Reach the border before the rows of a ``table`` from the one after it; return the least cycles of a
    path with one of them, where ``begun`` are the times to the border before."""
    arrays = np.ascontiguousarray(table), points, np.array([width], np.int64), begun, *rests
    return _kernel().reach_back(arrays)
