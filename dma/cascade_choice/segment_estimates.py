"""What all cascades of a straight chain would need and cost: bytes and NPU cycles, estimated quickly.

All cascades that begin with one op are estimated together, in arrays, from the last op of the chain back:
those that begin one op earlier need and cost what these do, and a little more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from chipmodel.model.cascade_work import Band
from dma.cascade_choice.chain_geometry import MAX_OPS, ChainGeometry
from dma.cascade_choice.rows_held import row_estimate
from dma.cascade_choice.segment_table import Chosen, SegmentTable
from dma.cascade_choice.stripe_heights import Counts, StripeHeights, distinct

LARGEST = (1 << 63) - 1
"""The largest number in an array."""


def cascade_estimates(
    chain: ChainGeometry,
    stripes: StripeHeights,
    rolls: bool,
    most_bytes: int | None = None,
    wanted: Callable[[SegmentTable], Chosen] | None = None,
) -> SegmentTable:
    """Return every cascade that chains in one of the options ``stripes``, with its bytes and NPU cycles.

    Left out are cascades whose rows and weights take more than ``most_bytes``, and those that are not
    ``wanted``: that function sees everything but the cycles, which take longest to find. ``rolls`` says
    whether tensors inside lie in rolling buffers. Cascades that end before the same op are in the order of
    the options; of each option the shortest comes first.
    """
    found = _Estimates(chain, stripes, rolls, most_bytes)
    for index in range(len(chain.ops) - 1, -1, -1):
        found.begin_with(index)
    table = found.table()
    return found.with_cycles(table if wanted is None else table.where(wanted(table)))


class _Estimates:
    """What the ops of each option need from the one on that was looked at last."""

    def __init__(
        self, chain: ChainGeometry, stripes: StripeHeights, rolls: bool, most_bytes: int | None
    ) -> None:
        self.chain, self.stripes, self.most_bytes = chain, stripes, most_bytes
        self.rows = row_estimate(chain, stripes, rolls)
        self.around = _Around(chain, stripes, rolls)
        count = len(stripes.stops)
        self.lowest = np.maximum(stripes.lowest, self.around.lowest[stripes.stops])
        """The first op with which a cascade of each option may begin; that and later ones are looked at."""
        self.held, self.weights, self.whole = (np.zeros(count, np.int64) for _ in range(3))
        """Bytes of rows, of weights, and of tensors that are read inside and after it: these are whole."""
        self.columns: list[tuple[Counts, ...]] = []
        self.ends: list[int] = stripes.stops.searchsorted(np.arange(len(chain.ops) + 2)).tolist()

    def begin_with(self, index: int) -> None:
        """Add the cascades that begin with an op."""
        last: Counts = np.arange(self.ends[index + 1], self.ends[index + 2])
        last = last[self.lowest[last] < index]
        if len(last):
            self.rows.end(index, last)
            self.weights[last], self.whole[last] = self.chain.weights[index], 0
            self.held[last] = self.chain.sums_of(index, self.stripes.heights[index, last])
        options: Counts = np.arange(
            self.ends[index + 2], self.ends[min(index + MAX_OPS, len(self.chain.ops)) + 1]
        )
        options = options[self.lowest[options] <= index]
        if len(options):
            self._longer(index, options)

    def _longer(self, index: int, options: Counts) -> None:
        stops = self.stripes.stops[options]
        rows = self.rows.held(index, options) * self.chain.row_bytes[index]
        leaves, share = self.around.leaves[index, stops], self.around.share[index, stops]
        if self.stripes.bands > 1:
            rows = -(-rows * share[:, 0] // share[:, 1])
        self.held[options] += np.where(leaves, 0, rows)
        self.whole[options] += np.where(leaves, self.chain.made_bytes[index], 0)
        self.held[options] += self.chain.sums_of(index, self.stripes.heights[index, options])
        self.weights[options] += self.chain.weights[index]
        if self.most_bytes is not None:
            fits = self.held[options] + self.weights[options] <= self.most_bytes
            self.lowest[options[~fits]] = len(self.chain.ops)
            options, stops = options[fits], stops[fits]
        if len(options):
            self._add(index, options, stops)

    def _add(self, index: int, options: Counts, stops: Counts) -> None:
        outside, stripes = self.around.outside[index, stops], np.zeros(len(options), np.int64)
        share = self.around.share_read[index, stops]
        for name, reach, until in self.chain.streamed[index]:
            whole = self.chain.program.tensors[name].bytes
            read = whole * np.minimum(reach.rows, self.rows.read(index, options, reach)) // reach.rows
            stripes += np.where(stops <= until, -(-read * share[:, 0] // share[:, 1]), 0)
            outside = outside - np.where(stops <= until, whole, 0)
        size = outside + stripes + self.held[options] + self.weights[options]
        outside = np.maximum(0, outside - self.whole[options])
        starts, cycles = np.full(len(options), index), np.zeros(len(options), np.int64)
        self.columns.append((starts, stops, size, cycles, self.weights[options], outside, options))

    def with_cycles(self, table: SegmentTable) -> SegmentTable:
        """Some of the table's cascades with their cycles: by way those of ever more ops."""
        options, count = table.options, len(self.chain.ops)
        first = np.full(len(self.held), count)
        np.minimum.at(first, options, table.starts)
        sums, cycles = np.zeros(len(self.held), np.int64), table.cycles.copy()
        by_start = table.starts.argsort(kind="stable")
        bounds = table.starts[by_start].searchsorted(np.arange(count + 1))
        for index in range(count - 1, -1, -1):
            here = np.arange(self.ends[index + 1], self.ends[min(index + MAX_OPS, count) + 1])
            here = here[first[here] <= index]
            if len(here):
                sums[here] += self._in_bands(index, here, self.rows.cycles(index, here))
            begun = by_start[bounds[index] : bounds[index + 1]]
            cycles[begun] = sums[options[begun]]
        return replace(table, cycles=cycles)

    def _in_bands(self, index: int, options: Counts, cycles: Counts) -> Counts:
        """The NPU cycles of an op in all bands, which takes ``cycles`` in all columns at once."""
        bands = self.stripes.bands
        if bands == 1:
            return cycles
        number = self.around.bands[index, self.stripes.stops[options]]
        rows = np.minimum(self.stripes.heights[index, options], self.chain.op_rows[index])
        each, place = distinct((number + 1) * (self.chain.op_rows[index] + 1) + rows)
        parts = (divmod(key, self.chain.op_rows[index] + 1) for key in each.tolist())
        shares = np.array([self._share(index, band - 1, count) for band, count in parts], np.int64)[place]
        return _scaled(bands * cycles, shares[:, 0], shares[:, 1])

    def _share(self, index: int, band: int, rows: int) -> tuple[int, int]:
        """The NPU cycles of rows of an op in a band, and in all columns."""
        if band < 0:
            return 1, 1
        return self.chain.cycles(index, rows, self.around.band_list[band]), max(
            1, self.chain.cycles(index, rows)
        )

    def table(self) -> SegmentTable:
        """All that were added."""
        columns = self.columns or [(np.zeros(0, np.int64),) * 7]
        *amounts, options = (np.concatenate(each) for each in zip(*columns, strict=True))
        order = np.lexsort((-amounts[0], options))
        source = np.zeros(len(order), np.int64)
        starts, stops, size, cycles, weights, outside = (each[order] for each in amounts)
        sums = (starts, stops, size, cycles, weights, outside)
        return SegmentTable(len(self.chain.ops), (self.stripes,), *sums, source, options[order])


class _Around:
    """What lies around the cascade that begins with an op and ends before another one: the bytes of whole
    tensors, whether others need what the first op makes, and the columns of its output in a band."""

    def __init__(self, chain: ChainGeometry, stripes: StripeHeights, rolls: bool) -> None:
        count = len(chain.ops)
        self.outside = np.zeros((count, count + 1), np.int64)
        self.leaves = np.zeros((count, count + 1), np.bool_)
        self.lowest = np.full(count + 1, count)
        """The first op with which a cascade may begin, by the op before which it ends."""
        stops = [stop for stop in sorted(set(stripes.stops.tolist())) if chain.fits[stop - 1]]
        for stop in stops:
            starts = chain.starts(stop)
            here = slice(stop - len(starts), stop)
            self.outside[here, stop] = [each.outside for each in reversed(starts)]
            self.leaves[here, stop] = [each.leaves for each in reversed(starts)]
            alone = not rolls or stripes.bands > 1
            first = next((each.start + 1 for each in starts if each.leaves and alone), here.start)
            self.lowest[stop] = first
        self.share = np.ones((count, count + 1, 2), np.int64)
        """Columns of its output in a band, and all of them."""
        self.share_read = np.ones((count, count + 1, 2), np.int64)
        """The same of its first operand."""
        self.bands = np.full((count, count + 1), -1)
        """Which of ``band_list``; -1 for all columns."""
        self.band_list: list[Band] = []
        if stripes.bands > 1:
            self._add_bands(chain, stops, stripes.bands)

    def _add_bands(self, chain: ChainGeometry, stops: Sequence[int], bands: int) -> None:
        numbers: dict[Band | None, int] = {None: -1}
        for stop in stops:
            widths = chain.banded.widths(int(self.lowest[stop]), stop, bands)
            self.lowest[stop] = min(widths, default=len(chain.ops))
            for start, width in widths.items():
                self.share[start, stop] = width.share.as_integer_ratio()
                self.share_read[start, stop] = width.share_read.as_integer_ratio()
                self.bands[start, stop] = numbers.setdefault(width.band, len(numbers) - 1)
        self.band_list = [band for band in numbers if band is not None]


def _scaled(amounts: Counts, times: Counts, by: Counts) -> Counts:
    """``amounts * times // by``, in integers of any size where the product may be too large for 64 bits."""
    if len(amounts) and int(amounts.max()) * int(times.max()) > LARGEST:
        exact: Counts = (amounts.astype(object) * times // by).astype(np.int64)
        return exact
    return amounts * times // by
