"""Options to run the ops before one in stripes: how many rows each of them computes in a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
"""Bytes, cycles or rows, by number of a segment or of an option."""


def distinct(values: Counts) -> tuple[Counts, Counts]:
    """Return the different ones of ``values`` in ascending order, and the place of each there. Of a few
    hundred it takes less than ``numpy.unique``."""
    each: Counts = np.array(sorted(set(values.tolist())), np.int64)
    places: Counts = each.searchsorted(values)
    return each, places


@dataclass(frozen=True, slots=True, eq=False)
class StripeHeights:
    """How ops of a chain may run: options, numbered by the op before which they end."""

    stops: Counts
    """The op before which each option ends, in ascending order."""
    heights: Counts
    """The most rows of a step, by op of the chain and by option."""
    lowest: Counts
    """The first op with which a cascade of each option may begin."""
    bands: int = 1
    """Bands of columns of the last op's output, one after another."""
    large: tuple[bool, ...] = ()
    """Whether weights are loaded again, by op of the chain; empty for none."""

    def of(self, option: int, start: int) -> tuple[int, ...]:
        """Return the rows of a step of each op from ``start`` on."""
        return tuple(self.heights[start : self.stops[option], option].tolist())

    def reloaded(self, option: int, start: int) -> tuple[int, ...]:
        """The ops, counted from ``start``, whose weights are loaded again."""
        return tuple(i for i, again in enumerate(self.large[start : self.stops[option]]) if again)


def stripe_heights(count: int, options: Sequence[tuple[int, int, Sequence[int]]]) -> StripeHeights:
    """Return the options of a chain of ``count`` ops, of which each ends before an op, begins at an op or
    after it, and has the rows of a step of all ops from there on; in ascending order of where they end."""
    heights = np.ones((count, len(options)), np.int64)
    for number, (stop, start, rows) in enumerate(options):
        heights[start:stop, number] = rows
    stops = np.array([stop for stop, _, _ in options], np.int64)
    lowest = np.array([start for _, start, _ in options], np.int64)
    return StripeHeights(stops, heights, lowest)


def proportional_heights(
    op_rows: Sequence[int], options: Sequence[tuple[int, int]], bands: int = 1
) -> StripeHeights:
    """Return the ways that end before an op in stripes of so many rows of the last one, with as many rows of
    the others as belong to them, at least one; in ascending order of where they end."""
    stops, last = np.array(options, np.int64).reshape(len(options), 2).T
    rows = np.array(op_rows, np.int64)
    heights = np.maximum(1, rows[:, None] * last // rows[stops - 1])
    return StripeHeights(stops, heights, np.zeros(len(stops), np.int64), bands)
