"""What lies between moments of a run, for plans with cascades: compute cycles and loads, as matrices.

The moments are the *start* of an op, when its first step begins, and its *end*, when all of its rows have
been computed once. In whatever order steps take turns,

* before the start of ``j`` its ancestors have computed the rows that the smallest part of ``j`` needs, and
  before its end all rows that ``j`` reads;
* after the start of ``i`` its descendants have computed nothing, and after its end they have yet to compute
  the rows that need its last row, whichever that is;
* the end of ``i`` comes before the start of ``j`` only where every part of ``j`` needs all rows of ``i``, as
  after global pooling, or where ``j`` is in a later straight chain of ops: in another body, iteration or
  inference, with which ``i`` does not take turns.

Between two moments the NPU computes what comes after the first and before the second, and the DMA engine
loads the weights of that, but for what SharedMemory may hold at the first moment. Set-ups of transfers do not
count but for one at the begin and one at the end, as the weights of several ops may come in one. Rows that
are computed again only add to both. Data made on the chip do not count as loads, since they may be computed
again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chipmodel.bounds.cascade_rows import OpRuns, PartRows
from chipmodel.model.work import Conv, Matmul, Recurrent

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]
NEVER = 1 << 60


@dataclass(frozen=True, slots=True)
class LoadedItem:
    """Bytes of weights, or of a program input, that run ``run`` reads."""

    run: int
    key: Hashable
    bytes: int
    weights: bool = True


class RowCounts(NamedTuple):
    """Numbers of rows: complete ones, and ones of which there are all channels in some columns."""

    full: Counts
    deep: Counts


@dataclass(frozen=True)
class Between:
    """Numbers of rows by runs and by the runs ``at`` whose start and end are moments."""

    runs: OpRuns
    at: Sequence[int]
    rows_cycles: Callable[[int, int], int]
    """The least cycles of a number of rows of a run."""
    numbers: Counts
    """For each run, the number of its straight chain (``chipmodel.bounds.body_runs``)."""

    @cached_property
    def later(self) -> Flags:
        """[i, k]: run ``k`` is in a later straight chain than ``i``."""
        return self.numbers[None, :] > self.numbers[list(self.at)][:, None]

    @cached_property
    def earlier(self) -> Flags:
        """[j, k]: run ``k`` is in an earlier straight chain than ``j``."""
        return self.numbers[None, :] < self.numbers[list(self.at)][:, None]

    @cached_property
    def rows(self) -> Counts:
        """The rows of each run's op."""
        return np.array([op.work.rows for op in self.runs.ops], np.int64)

    @cached_property
    def by_row(self) -> Flags:
        """Runs of which each row needs all weights."""
        return np.array(
            [isinstance(op.work, Conv | Matmul | Recurrent) and not op.gathers for op in self.runs.ops]
        )

    def _filled(self, default: int = 0) -> Counts:
        return np.full((len(self.at), len(self.runs.ops)), default, np.int64)

    @cached_property
    def descends(self) -> Flags:
        """[i, k]: run ``k`` starts after ``i`` does, or is ``i``."""
        return self._flags(self.runs.descendants) | self.later

    @cached_property
    def completes(self) -> Flags:
        """[j, k]: run ``k`` ends before ``j`` does, or is ``j``."""
        return self._flags(self.runs.completed) | self.earlier

    def _flags(self, found: Callable[[int], Iterable[int]]) -> Flags:
        flags = np.zeros((len(self.at), len(self.runs.ops)), np.bool_)
        for number, index in enumerate(self.at):
            flags[number, list(found(index))] = True
        return flags

    @cached_property
    def early(self) -> tuple[RowCounts, list[dict[str, float]]]:
        """[j, k]: rows of run ``k`` that are computed before ``j`` starts; and for each ``j`` the share of
        each program input that is loaded by then."""
        counts = RowCounts(self._filled(), self._filled())
        shares: list[dict[str, float]] = []
        for number, index in enumerate(self.at):
            made, loaded = self.runs.before(index)
            for run, part in made.items():
                self._count(counts, number, run, part)
            shares.append({name: min(1.0, p.full.count / p.full.of) for name, p in loaded.items()})
        return self._with_all(counts, self.earlier), shares

    @cached_property
    def late(self) -> RowCounts:
        """[i, k]: rows of run ``k`` that are computed after ``i`` ends."""
        counts = RowCounts(self._filled(), self._filled())
        for number, index in enumerate(self.at):
            for run, part in self.runs.after(index).items():
                self._count(counts, number, run, part)
        return self._with_all(counts, self.later)

    def _with_all(self, counts: RowCounts, runs: Flags) -> RowCounts:
        """The counts with all rows of ``runs``."""
        return RowCounts(*(np.where(runs, self.rows[None, :], each) for each in counts))

    def _count(self, counts: RowCounts, number: int, run: int, part: PartRows) -> None:
        rows = self.runs.ops[run].work.rows
        counts.full[number, run] = part.full.complete(rows)
        counts.deep[number, run] = part.deep.complete(rows)

    @cached_property
    def enough(self) -> Counts:
        """[i, k]: rows of run ``k``, of any one channel, that need all of run ``i``; ``NEVER`` where none."""
        counts = self._filled(NEVER)
        for number, index in enumerate(self.at):
            for run, (some, full) in self.runs.first_after(index).items():
                work = self.runs.ops[run].work
                needed = full if self.runs.whole_rows(run) else some
                if needed is not None:
                    counts[number, run] = needed.enough(work.rows)
        return np.where(self.later, 1, counts)

    @cached_property
    def apart(self) -> Flags:
        """[i, j]: run ``i`` ends before ``j`` starts, both numbers of ``at``."""
        return self.enough[:, list(self.at)] <= 1

    def cycles(self, counts: Counts) -> Floats:
        """The least cycles of a number of rows of each run."""
        result = np.zeros(counts.shape)
        for (row, run), count in np.ndenumerate(counts):
            if count:
                result[row, run] = self.rows_cycles(run, int(count))
        return result

    def weights_needed(self, counts: RowCounts) -> Flags:
        """Whether a number of rows of each run needs all of its weights."""
        return ((counts.deep > 0) & self.by_row) | (counts.full >= self.rows)


class Loads:
    """The least bytes to load of sets of items, of which SharedMemory may hold some."""

    def __init__(self, items: Sequence[LoadedItem], capacity: int) -> None:
        self.items, self.capacity = items, capacity
        self.run = np.array([item.run for item in items], np.int64)
        self.bytes = np.array([item.bytes for item in items], np.float64)
        self.weights = np.array([item.weights for item in items], np.bool_)
        same: dict[Hashable, list[int]] = {}
        for number, item in enumerate(items):
            same.setdefault(item.key, []).append(number)
        self.shared = [each for each in same.values() if len(each) > 1]

    def once(self, there: Flags) -> Flags:
        """Keep, of items with the same data, only the first one that is ``there``."""
        there = there.copy()
        for numbers in self.shared:
            there[[number for number in numbers if there[number]][1:]] = False
        return there

    def least(self, runs: Flags, window: Flags, inputs: bool, held: bool = True) -> Floats:
        """For each row of ``window`` (by target and run), the bytes to load of what its runs read, of those
        in ``runs`` only; with ``held``, but for what SharedMemory holds."""
        if not self.items:
            return np.zeros(len(window))
        there = self.once(runs[self.run] & (self.weights | inputs))
        bytes_: Floats = window[:, self.run] @ (self.bytes * there)
        return np.maximum(0.0, bytes_ - self.capacity) if held else bytes_
