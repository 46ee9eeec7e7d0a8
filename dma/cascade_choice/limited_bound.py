"""The fewest bytes of SharedMemory of plans within a limit on multiply-accumulates (MACs).

For a budget of bytes each straight chain is cut into the parts of ``dma.cascade_choice.least_parts`` that
compute the fewest MACs; no plan has fewer bytes than the smallest budget for which those are within the
limit. Of a cascade that runs in so many bands of columns fewer MACs are counted than it computes:

* Each op computes the columns that some band needs once for each such band.
* A tensor that one op reads, the next one, is kept, or its rows are computed again for each step of that op.
  Such a step has so many rows that what it reads and makes fits the budget. Of the ways in which a step of
  at most so many rows may lie around a row, that one counts in which the step reads the fewest rows for each
  of its own; rows that the op computes again count as those that need the fewest.
* Kept tensors have the rows of ``ChainParts.held``, together with the whole tensors that live beside them. So
  each of them costs its bytes times a multiplier, and the room beside those whole tensors times that one is
  taken off: for any multiplier that is no more than the MACs of a cascade that fits (a Lagrangian bound).
  Ranges of what is kept are looked at apart: steps have the less room, the more that is. Where an op waits
  for all rows of a tensor inside, others have a room and a multiplier of their own.
* Rows of an input that comes in stripes are there while the first op makes a row in the middle, of as many
  columns as the op needs in a band in the middle: that row of that band is made at some time. They, and rows
  that are computed again, are there with the weights of that op and of their reader, maybe not the largest.
* What the cascade makes is there at an op that makes further rows after the last op has begun: so it is
  where the tensors between would not fit if the op had made all that need whole windows. What it reads is
  there as well if they do not fit in either half of the time, or in one of three or more bands. In the first
  of two bands all that is read is there at each step.

Source: chipmodel; the Lagrangian bound as in Fisher 1981 ("The Lagrangian relaxation method for solving
integer programming problems").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import inf

import numpy as np
import numpy.typing as npt

from chipmodel.cascades.row_reads import RowReads
from chipmodel.geometry.interval import Interval
from dma.cascade_choice.band_widths import BandWidth
from dma.cascade_choice.chain_geometry import MAX_OPS
from dma.cascade_choice.least_parts import ChainParts

Numbers = npt.NDArray[np.float64]
MULTIPLIERS = np.array([0.0, *(2.0**power for power in range(-6, 5))])
"""MACs of a byte that are looked at, in shares of those of the chain by the bytes of the budget."""
LEVELS = 8
"""Ranges of what kept tensors take, in equal shares of the budget, that are looked at apart."""
PRECISION = 256
"""The search for the smallest budget ends within this part of it."""
ROUNDING = 4
"""Bytes that rows of bands may lose where they are rounded down."""


def limited_bound(chains: Sequence[ChainParts], least: int, extra: float) -> int:
    """Return bytes, at least ``least``, below which all plans compute more than ``extra`` MACs twice."""
    limited = [BudgetedChain(chain) for chain in chains]

    def fits(budget: int) -> bool:
        return sum(chain.computed_twice(budget) for chain in limited) <= extra

    low, high = least - 1, least
    while not fits(high):
        low, high = high, high + max(1, high // 4)
    while high - low > max(1, high // PRECISION):
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return low + 1


class _NextReader:
    """The rows of a tensor, made again for each step of the op that reads it, the next one."""

    def __init__(self, rows: int, made: int, reads: RowReads, size: int, size_made: int) -> None:
        self.rows, self.made = rows, made
        self.row, self.row_made = size / rows, size_made / made
        """Bytes of a row of the tensor, and of one that its reader makes and keeps inside."""
        heights = range(1, made + 1)
        counts = [
            np.array(
                [stop - start for start, stop in (reads(row, row + each) for row in range(made - each + 1))]
            )
            for each in heights
        ]
        self.fewest = np.array([max(each.min(), counts[0].max()) for each in counts], np.float64)
        """The fewest rows of the buffer that steps of so many read: it does not change its size."""
        of_row, totals, least = np.full(made, inf), list[float](), list[float]()
        for each, count in zip(heights, counts, strict=True):
            padded = np.pad(count / each, each - 1, constant_values=inf)
            of_row = np.minimum(of_row, np.lib.stride_tricks.sliding_window_view(padded, each).min(axis=1))
            totals.append(float(of_row.sum()))
            least.append(float(of_row.min()))
        self.total, self.least = np.array([0.0, *totals]), np.array([0.0, *least])
        """With steps of at most so many rows, the fewest rows made again for the reader's, and a row more."""

    def sizes(self, share: float, share_made: float) -> Numbers:
        """The fewest bytes that steps of ever more rows read and make, in shares of the columns."""
        found: Numbers = self.fewest * (self.row * share)
        return found + np.arange(1, self.made + 1) * (self.row_made * share_made)

    def rows_made(self, heights: npt.NDArray[np.int64], done: Numbers) -> Numbers:
        """The fewest rows made again where the reader computes ``done`` rows, in steps of these heights."""
        more = (done - self.made) * self.least[heights][:, None]
        found: Numbers = np.maximum(self.rows, self.total[heights][:, None] + more)
        return found


class _FewestMacs:
    """The fewest MACs of the ops of a cascade so far, from the last one back."""

    def __init__(self, budget: int, of_chain: int, macs: float, rows: float) -> None:
        self.levels = np.arange(LEVELS) * (budget / LEVELS)
        """The fewest bytes of kept tensors for each row of ``macs``."""
        self.most = np.append(self.levels[1:], budget)[:, None]
        self.multipliers = MULTIPLIERS[None, :] * (of_chain / budget)
        self.macs = np.full((LEVELS, MULTIPLIERS.size, 1), macs)
        """MACs by level, by multiplier, and by the last op before whose output is kept."""
        self.done = np.full((LEVELS, 1), rows)
        """Rows that the op before computes, by level and the last op before whose output is kept."""
        self.kept = 0
        """Bytes that are kept in any case."""

    def keep(self, macs: float, size: int, rows: float) -> None:
        """Add an op that computes its rows once, and keeps ``size`` bytes."""
        kept = self.macs.min(axis=2) + macs + self.multipliers * size
        self.macs, self.done, self.kept = kept[:, :, None], np.full((LEVELS, 1), rows), self.kept + size

    def choose(self, macs: float, size: int, reader: _NextReader, sizes: Numbers, room: float) -> None:
        """Add an op that keeps ``size`` bytes, or computes its rows again for steps of its reader that have
        ``room`` bytes, of which steps of ever more rows take ``sizes``."""
        kept = self.macs.min(axis=2) + macs + self.multipliers * size
        heights = np.searchsorted(sizes, room + ROUNDING - self.levels, side="right")
        again = reader.rows_made(heights, self.done)
        with_again = self.macs + macs * (again / reader.rows)[:, None, :]
        with_again[heights == 0] = inf
        self.macs = np.concatenate((with_again, kept[:, :, None]), axis=2)
        self.done = np.hstack((again, np.full((LEVELS, 1), float(reader.rows))))

    def close(self, room: float, rows: float) -> None:
        """End a stretch of ops that have ``room`` bytes for what they keep."""
        self.macs = np.full_like(self.macs[:, :, :1], self.least(room))
        self.done, self.kept = np.full((LEVELS, 1), rows), 0

    def least(self, room: float) -> float:
        """The fewest MACs where kept tensors have ``room`` bytes."""
        if self.kept > room:
            return inf
        found = self.macs.min(axis=2) - self.multipliers * np.minimum(self.most, room)
        return float(found.max(axis=1).min())


@dataclass(frozen=True)
class _Before:
    """An op before others in a cascade of so many bands."""

    index: int
    macs: float
    rows: float
    kept: int
    """Bytes of its output that are kept, and of the accumulators of the next op."""
    reader: _NextReader | None
    """The next op, if the output may be computed again for it."""
    sizes: Numbers
    """The fewest bytes that steps of ever more rows of the next op read and make."""
    waited: bool
    """Whether the next op waits for all rows of a tensor inside."""


@dataclass(frozen=True)
class _End:
    """Cascades in so many bands that end before an op, and the ops before the last one, from there back."""

    stop: int
    bands: int
    macs: float
    before: tuple[_Before, ...]
    widths: Mapping[int, BandWidth]


@dataclass(frozen=True)
class _FirstReader:
    """The op that reads a tensor first, by rows."""

    reader: int
    bytes: int
    growth: float
    """The share of the tensor before the first row for a share of the reader's, at most so many times it."""


@dataclass(frozen=True)
class _Held:
    """What a cascade holds while its last op has not begun though an op has ended: the fewest bytes, for how
    many times the share of rows, and the share of rows at the ends that do not need whole windows."""

    least: float = 0.0
    growth: float = 1.0
    ends: float = 0.0


class BudgetedChain:
    """A straight chain, and the fewest MACs that its parts compute in a budget of bytes."""

    def __init__(self, parts: ChainParts) -> None:
        self.parts, self.count = parts, len(parts.ops)
        self.macs = [op.work.macs for op in parts.ops]
        self.known = [dict(parts.cascades(stop)) for stop in range(self.count + 1)]
        """The bytes of each cascade in one band and in the narrowest, by where it ends and begins."""
        self.alone = [parts.alone(index) for index in range(self.count)]
        self.next = [self._next_reader(index) for index in range(self.count - 1)]
        self.ends = [end for stop in range(2, self.count + 1) for end in self._ends(stop)]
        self.links = [self._link(index) for index in range(self.count)]
        self.ends_at = [self._ends_at(index) for index in range(self.count)]
        """For each op, the share of its rows from the last one on that needs a whole window."""
        self.beside = cache(self._beside)
        self.whole = cache(self._whole)

    def computed_twice(self, budget: int) -> float:
        """The fewest MACs that any cut computes more than once; infinitely many where nothing fits."""
        most = [*(0.0 if alone <= budget else inf for alone in self.alone)]
        found: list[dict[int, float]] = [
            {index - 1: most[index - 1]} if index else {} for index in range(self.count + 1)
        ]
        once = np.concatenate(([0], np.cumsum(self.macs)))
        for end in self.ends:
            for start, macs in self._cascades(end, budget):
                twice = max(0.0, macs - float(once[end.stop] - once[start]))
                found[end.stop][start] = min(found[end.stop].get(start, inf), twice)
        until = [0.0]
        for stop in range(1, self.count + 1):
            until.append(min(until[start] + twice for start, twice in found[stop].items()))
        return until[-1]

    def _next_reader(self, index: int) -> _NextReader | None:
        parts = self.parts
        name = parts.ops[index].outputs[0]
        known = parts.rows.reads_next(index) if name in parts.again else None
        if known is None:
            return None
        size = parts.alive.around.size
        makes = 0 if parts.sums[index + 1] else sum(map(size, parts.ops[index + 1].outputs))
        return _NextReader(*known, size(name), makes)

    def _link(self, index: int) -> _FirstReader | None:
        """The first op that reads the output of an op by rows."""
        parts = self.parts
        (name, *_), rows = parts.ops[index].outputs or ("",), parts.rows.made[index]
        readers = parts.rows.readers.get(name, ())
        if not rows or not readers or parts.sums[index]:
            return None
        reader = readers[0][0]
        reads = next((reads for each, reads in parts.rows.reads[reader] if each == name), None)
        if reads is None:
            return None
        made = parts.rows.made[reader]
        stride = max((Fraction(reads(row, row + 1)[0], row) for row in range(1, made)), default=Fraction(0))
        return _FirstReader(reader, parts.alive.around.size(name), max(1.0, float(stride * made / rows)))

    def _ends_at(self, index: int) -> float:
        made, first = self.parts.rows.made[index], 0
        for _, reads in self.parts.rows.reads[index]:
            sizes = [stop - start for start, stop in (reads(row, row + 1) for row in range(made))]
            first = max(first, sizes[::-1].index(max(sizes)))
        return (first + 1) / (made or 1)

    def _ends(self, stop: int) -> Iterator[_End]:
        banded, first = self.parts.banded, max(0, stop - MAX_OPS)
        columns = banded.columns[stop - 1] or 1
        for bands in sorted({-(-columns // width) for width in range(1, columns + 1)}):
            widths, times = banded.widths(first, stop, bands), banded.times(first, stop, bands)
            found = list[_Before]()
            for index in range(stop - 2, first - 1, -1):
                if index not in widths or index not in self.known[stop]:
                    break
                if bands > 1 and self.parts.leaves(index, stop):
                    break
                made = widths[index + 1].share if index + 2 < stop else Fraction(0)
                found.append(self._before(index, stop, float(times[index]), widths[index].share, made))
            if found:
                yield _End(stop, bands, self.macs[stop - 1] * float(times[stop - 1]), tuple(found), widths)

    def _before(self, index: int, stop: int, times: float, share: Fraction, made: Fraction) -> _Before:
        parts, around = self.parts, self.parts.alive.around
        ops, after = Interval(parts.chain.start + index, parts.chain.start + stop), parts.ops[index + 1]
        inside = {name: size for name, size in parts.held[index].items() if around.is_inside(name, ops)}
        kept = sum(int(size * share) for name, size in inside.items() if name in after.inputs)
        again, reader = any(name in parts.again for name in inside), self.next[index]
        if again and reader is None:
            kept = 0
        if parts.sums[index + 1] and around.is_inside(after.inputs[0], ops):
            kept += parts.sums[index + 1]
        reader = reader if again else None
        sizes = reader.sizes(float(share), float(made)) if reader else np.zeros(1)
        waited = any(around.is_inside(name, ops) for name in parts.waits[index + 1])
        return _Before(index, self.macs[index] * times, self._rows(index), kept, reader, sizes, waited)

    def _beside(self, stop: int) -> list[int]:
        """The fewest bytes of whole tensors beside a cascade that ends before ``stop``, at each op."""
        first = max(0, stop - MAX_OPS)
        ops = Interval(self.parts.chain.start + first, self.parts.chain.start + stop)
        return [0] * first + [self.parts.whole_at(ops, position) for position in range(ops.start, ops.stop)]

    def _whole(self, start: int, stop: int, width: BandWidth) -> tuple[int, int, int, int]:
        """The bytes of whole tensors beside the first op of a cascade, of an input's rows in a band, of all
        that the cascade reads as a whole, and of that with what it makes."""
        parts, first = self.parts, self.parts.chain.start
        ops = Interval(first + start, first + stop)
        striped = parts.striped(ops, ops.start, width)
        return parts.beside(ops, ops.start), striped, parts.read_whole(ops), parts.read_and_made(ops)

    def _cascades(self, end: _End, budget: int) -> Iterator[tuple[int, float]]:
        """Yield where each cascade of ``end`` begins that may fit, and the fewest MACs that it computes."""
        parts, known = self.parts, self.known[end.stop]
        last = end.stop - 1
        beside, held = self._with_outputs(end, budget)
        always = beside[last] if end.bands > 1 else 0
        most, window = max(always, beside[last]), 0.0
        weights = parts.weights[last]
        costs = _FewestMacs(budget, sum(self.macs), end.macs, self._rows(last))
        for op in end.before:
            index = op.index
            if op.reader:
                costs.choose(op.macs, op.kept, op.reader, op.sizes, budget - beside[index + 1])
            else:
                costs.keep(op.macs, op.kept, op.rows)
            if op.waited:
                costs.close(budget - most, op.rows)
                most = always
            weights = max(weights, parts.weights[index])
            window = max(window, op.sizes[0] - ROUNDING + parts.weights[index + 1])
            sizes = known[index]
            if (sizes[1] if end.bands == 1 else min(sizes.values())) <= budget:
                own, striped, read, whole = self.whole(index, end.stop, end.widths[index])
                together = end.bands > 2 or self._together(held[index], budget, own + striped, beside[last])
                room = budget - weights - max(most, own, whole if end.bands > 1 or together else 0)
                room = min(room, budget - parts.weights[index] - own - striped)
                there = whole if together else read if end.bands > 1 else 0
                if room >= 0 and (not there or budget - there >= window):
                    yield index, costs.least(room)
            most = max(most, beside[index])

    def _with_outputs(self, end: _End, budget: int) -> tuple[list[int], list[_Held]]:
        """The bytes beside each op of a cascade, with what the last one makes where that must have begun
        before the op has made the last row that needs a whole window; and what else is held."""
        beside, last = self.beside(end.stop).copy(), end.stop - 1
        made = beside[last]
        held = [_Held()] * last + [_Held(inf)]
        for index in range(last - 1, max(0, end.stop - MAX_OPS) - 1, -1):
            link = self.links[index]
            if link is not None and link.reader < end.stop:
                later, ends = held[link.reader], max(held[link.reader].ends, self.ends_at[index])
                least = min(link.bytes, later.least / link.growth)
                held[index] = _Held(least, later.growth * link.growth, ends)
                if end.bands > 1 or (1 - self.ends_at[index]) * least + made > budget:
                    beside[index] += made
        return beside, held

    def _together(self, held: _Held, budget: int, read: int, made: int) -> bool:
        """Whether any op makes rows that need whole windows while all that the cascade reads and makes is
        there: before and after, tensors inside are held that would not fit ``budget``."""
        if not held.least:
            return False
        before, after = (max(0, budget - size) / held.least for size in (made, read))
        return held.growth * (before + held.ends) + after < 1

    def _rows(self, index: int) -> float:
        return float(self.parts.rows.made[index] or 1)
