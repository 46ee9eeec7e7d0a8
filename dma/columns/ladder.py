"""The set of plans: how many rows and channels a part may have. Written in this one place.

A part of one op has as many rows as a rung of the ladder says and as many channels as one of another ladder.
A step of a cascade has rows in proportion to the last op's, as many of each op, or few of all but the last.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from itertools import product
from typing import NamedTuple

from chipmodel.cascades.rows import MAX_CASCADE_STEPS
from chipmodel.model.program import Op
from chipmodel.model.work import Recurrent
from dma.columns.plan_ways import PartCut

LONGEST = 6
"""The most ops of a cascade, or blocks of one that has more: each begins and ends with one tensor."""
MOST_OPS = 24
"""The most ops of blocks."""
ROWS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
CHANNELS = (8, 16, 32, 64)
PARTS_OF_ROWS = (1, 2, 3, 4, 6, 8)
PARTS_OF_CHANNELS = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64, 128)
"""SharedNumbers of equal parts of all rows, or of all channels, that are rungs, too."""
FEW = (1, 2, 4)
"""Rows a step of all ops of a cascade but the last."""
MOST_PARTS = 600
"""The most parts of one op."""


Part = tuple[int, int]
"""Rows and channels."""


class Cascades(NamedTuple):
    """Which cascades are listed."""

    longest: int = LONGEST
    bands: tuple[int, ...] = ()
    """Numbers of bands of columns."""
    most_steps: int = 4_000
    for_bytes: bool = False
    """Whether ways are listed for their bytes rather than their time: then steps have few rows."""
    further_macs: int | None = None
    """The most multiply-accumulates that may be computed again, by tensors inside whose rows are made again
    for each step that reads them, and in bands; None: no such tensors, and any number in bands."""
    chained: bool = False
    """Whether all are chains of ops that Arm's compiler has in cascades."""


FOR_TIME = Cascades()
CHAINED = Cascades(chained=True)
"""Those of Arm's compiler, the only one of the boards' tools that makes any."""
LEAST_MEMORY = Cascades(32, (2, 3, 4, 6, 8, 12, 16), MAX_CASCADE_STEPS, for_bytes=True)
"""Longer cascades hold more weights and rows than they save; of more bands, the halo is most of what is
computed."""
NARROW = (1, 2, 3, 4)
"""Columns of further bands, where a limit on what is computed again says how many are worth it."""
LOW = (1, 2, 3, 4, 6, 8, 12, 16)
"""Rows a step of all ops where they are few."""


def ladder(total: int) -> list[int]:
    """The numbers of rows tried of so many.

    >>> ladder(9)
    [1, 2, 3, 4, 5, 6, 8, 9]
    """
    return _rungs(total, ROWS, PARTS_OF_ROWS)


def _rungs(total: int, fixed: Sequence[int], parts: Sequence[int]) -> list[int]:
    return sorted({-(-total // each) for each in parts} | {each for each in fixed if each <= total})


def heights(rows: Sequence[int], own: tuple[int, ...] | None) -> list[tuple[int, ...]]:
    """The rows a step of each op of a cascade, the plan's ``own`` among them."""
    last, found = rows[-1], set[tuple[int, ...]]()
    for height in ladder(last):
        if height < last or last == 1:
            found.add(tuple(max(1, count * height // last) for count in rows))
    found |= {tuple(min(height, count) for count in rows) for height in (*FEW, 2 * FEW[-1])}
    for height in FEW:
        first = tuple(min(height, count) for count in rows[:-1])
        found |= {(*first, most) for most in ladder(last) if most > FEW[-1]}
    if own:
        found.add(own)
    return sorted(found)


def low_heights(rows: Sequence[int], own: tuple[int, ...] | None) -> list[tuple[int, ...]]:
    """Those of ``heights`` that are few, or in proportion to few of the last op."""
    found = {tuple(min(height, count) for count in rows) for height in LOW}
    found |= {tuple(max(1, count * height // rows[-1]) for count in rows) for height in FEW}
    return sorted(found | ({own} if own else set()))


def band_counts(tried: Cascades, columns: int) -> set[int]:
    """The numbers of bands of equal width, but for the last one, of an op with so many columns."""
    widths = {-(-columns // count) for count in tried.bands}
    widths |= {*NARROW} if tried.bands and tried.further_macs is not None else set()
    return {-(-columns // width) for width in widths}


def rows_tried(rows: int, tried: Collection[int], rolls: bool) -> list[int]:
    """The rows that steps of an op have with these heights: any where its chip does not address rolling
    buffers, and rows are made again."""
    if not rolls:
        return ladder(rows)
    return sorted({min(height, rows) for height in tried} | {rows % height for height in tried} - {0})


def cuts(
    op: Op, cycles: Callable[[Set[Part]], Mapping[Part, int]], own: PartCut | None, tight: bool
) -> Iterator[tuple[int, int, int]]:
    """Yield rows and channels of a part, and the ``cycles`` of all parts.

    Only where memory is ``tight`` an op is cut in both rows and channels. The plan's ``own`` cut is among
    them. A time step of a recurrent layer needs all channels of the one before: its slices are of one step.
    """
    rows, channels = op.work.rows, op.work.channels
    in_turn, tried = isinstance(op.work, Recurrent), list[Part]()
    for height, width in product(ladder(rows), _rungs(channels, CHANNELS, PARTS_OF_CHANNELS)):
        both = height < rows and width < channels
        if (both and not tight) or (in_turn and height > 1 and width < channels):
            continue
        if -(-rows // height) * -(-channels // width) <= MOST_PARTS:
            tried.append((height, width))
    if own:
        tried.append((min(own.rows, rows), min(own.channels, channels)))
    counts = [[*product(_sizes(rows, height), _sizes(channels, width))] for height, width in tried]
    known = cycles({(part, each) for sizes in counts for (part, _), (each, _) in sizes})
    for cut, sizes in zip(tried, counts, strict=True):
        yield *cut, sum(count * times * known[part, each] for (part, count), (each, times) in sizes)


def _sizes(total: int, size: int) -> list[tuple[int, int]]:
    """The sizes of parts, and how many there are of each."""
    whole, rest = divmod(total, size)
    return [(each, count) for each, count in ((size, whole), (rest, 1)) if each and count]
