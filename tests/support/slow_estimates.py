"""The estimates of cascades one by one, in plain integers: slow, and easy to follow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil

from chipmodel.geometry.interval import Interval
from dma.cascade_choice.band_widths import BandWidth
from dma.cascade_choice.chain_geometry import STEP_CYCLES, ChainGeometry
from dma.cascade_choice.row_reach import RowReach
from dma.cascade_choice.segment_table import CascadeSegment


def slow_estimates(
    run: ChainGeometry, stop: int, heights: Sequence[int], rolls: bool, most_bytes: int | None, bands: int
) -> Iterator[CascadeSegment]:
    """Cascades that end before an op, with so many rows of a step by op of the run."""
    last, starts = stop - 1, run.starts(stop)
    widths = run.banded.widths(stop - len(starts), stop, bands)
    if not run.fits[last] or last not in widths:
        return
    rows = _Rolling(run, stop, heights, bands) if rolls else _Recomputed(run, stop, heights)
    held, weights = _sums(run, last, heights[last]), run.weights[last]
    cycles = _in_bands(run, last, heights[last], rows.cycles(last), widths[last])
    whole = 0
    for start, outside, leaves in starts[1:]:
        if start not in widths or (leaves and (not rolls or bands > 1)):
            return
        width = widths[start]
        weights += run.weights[start]
        own = rows.held(start)
        whole += run.made_bytes[start] if leaves else 0
        held += 0 if leaves else ceil(own * run.row_bytes[start] * width.share)
        held += _sums(run, start, heights[start])
        if most_bytes is not None and held + weights > most_bytes:
            return
        cycles += _in_bands(run, start, heights[start], rows.cycles(start), width)
        outside, stripes = _streamed(run, Interval(start, stop), outside, rows, width)
        size = outside + stripes + held + weights
        chosen = tuple(heights[start:stop])
        outside = max(0, outside - whole)
        yield CascadeSegment(Interval(start, stop), chosen, size, cycles, weights, outside, bands=bands)


def _sums(run: ChainGeometry, index: int, height: int) -> int:
    """Bytes that an op adds up in, if it needs several steps for all of its rows."""
    sums = run.inner[index].accumulator
    return 0 if sums is None or height >= run.inner[index].work.rows else sums.bytes


def _streamed(
    run: ChainGeometry, ops: Interval, outside: int, rows: _Rolling | _Recomputed, width: BandWidth
) -> tuple[int, int]:
    """Bytes of whole tensors outside, and of stripes of the program's inputs."""
    stripes = 0
    for name, reach, until in run.streamed[ops.start]:
        if until < ops.stop:
            continue
        whole = run.program.tensors[name].bytes
        outside -= whole
        stripes += ceil(whole * min(reach.rows, rows.read(ops.start, reach)) // reach.rows * width.share_read)
    return outside, stripes


def _in_bands(run: ChainGeometry, index: int, height: int, cycles: int, width: BandWidth) -> int:
    if width.band is None:
        return cycles * width.bands
    rows = min(height, run.op_rows[index])
    banded = run.cycles(index, rows, width.band)
    return width.bands * cycles * banded // max(1, run.cycles(index, rows))


class _Rolling:
    """Rows done and held after the first step of the last op, and two in the middle."""

    def __init__(self, run: ChainGeometry, stop: int, heights: Sequence[int], bands: int) -> None:
        self.run, self.stop, self.heights, self.bands = run, stop, heights, bands
        rows = run.op_rows[stop - 1]
        height = min(heights[stop - 1], rows)
        middle = rows // 2 // height * height
        last = height, min(rows, middle + height), min(rows, middle + 2 * height)
        self.done: list[Mapping[int, int]] = [{stop - 1: done} for done in last]

    def cycles(self, index: int) -> int:
        return self.run.step_cycles(index, self.heights[index])

    def held(self, index: int) -> int:
        rows, height, most = self.run.op_rows[index], self.heights[index], 0
        for phase, done in enumerate(self.done):
            needed, oldest = 1, rows
            for reader, reach in self._readers(index):
                needed = max(needed, reach.stop(done[reader]))
                oldest = min(oldest, reach.start(max(0, done[reader] - self.heights[reader])))
            own = min(rows, -(-needed // height) * height)
            self.done[phase] = {**done, index: own}
            most = max(most, own - oldest)
        return most

    def _readers(self, index: int) -> list[tuple[int, RowReach]]:
        return [each for each in self.run.readers[index] if each[0] < self.stop]

    def read(self, index: int, reach: RowReach) -> int:
        first, before, after = (done[index] for done in self.done)
        rows, height = self.run.op_rows[index], self.heights[index]
        if self.bands > 1 or self.run.op_rows[self.stop - 1] == 1:
            return reach.stop(min(rows, rows // 2 + height)) - reach.start(rows // 2)
        return max(reach.stop(first), reach.stop(after) - reach.start(before))


class _Recomputed:
    """Rows of each op for one stripe of the last one in the middle."""

    def __init__(self, run: ChainGeometry, stop: int, heights: Sequence[int]) -> None:
        self.run, self.stop = run, stop
        rows = run.op_rows[stop - 1]
        height = min(heights[stop - 1], rows)
        self.stripes = -(-rows // height)
        middle = min(rows // 2 // height * height, rows - height)
        self.needed = {stop - 1: Interval(middle, middle + height)}

    def cycles(self, index: int) -> int:
        rows = max(1, len(self.needed[index]))
        return self.stripes * (self.run.cycles(index, rows) + STEP_CYCLES)

    def held(self, index: int) -> int:
        readers = [(self.needed[r], reach) for r, reach in self.run.readers[index] if r < self.stop]
        start = min(reach.start(rows.start) for rows, reach in readers)
        self.needed[index] = Interval(start, max(reach.stop(rows.stop) for rows, reach in readers))
        return len(self.needed[index])

    def read(self, index: int, reach: RowReach) -> int:
        rows = self.needed[index]
        return max(1, reach.stop(rows.stop) - reach.start(rows.start))
