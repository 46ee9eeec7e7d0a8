"""The tables in which the search keeps its state, their columns, and sets of sections as bits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from solvers.search.jit import compiled

Ints = npt.NDArray[np.int64]

Words = npt.NDArray[np.uint64]

RUNNING, FOUND, EXHAUSTED, NO_SPACE = 0, 1, 2, 3
NEVER = 1 << 61
WASTE = -1
MOST_WEIGHT = 1 << 30
"""Of a section where it decides between sections with equally many ways on."""
# Places of `c`, the control; LOG and CHOICES are the lengths in use. TASTE: how the section to branch in is
# chosen, one of the three. SNUG: whether items that end level with their neighbours are tried first.
STATUS, DEPTH, NODES, LOG, CHOICES, STAMP, LEFT, CAPACITY, ITEMS, REST, TWINS, STACKS, JUMPS, MOST_CHOICES = (
    range(14)
)
TASTE, SNUG, SOURCES = 14, 15, 16
CONTROLS = 17
FEWEST_LAST, FEWEST_WEIGHTIEST, WEIGHED_LOW = range(3)
TASTES = 3
# Columns of `it`, a row for each item. X_BEGIN to X_END are rows of `li`: sections (with the item's height
# there), conflicts (with the item's height where they meet, and the section where it is that high), variants
# (the memory, -1 for any; the first row of its ranges, which end where those of the next row begin), and
# items that must be apart. WITNESS: a section whose floor keeps the item from being lower, -1 for none.
SIZE, ALIGN, TWIN, LOOSE, SLANT, RANK = range(6)
SEC_BEGIN, SEC_END, CON_BEGIN, CON_END, VAR_BEGIN, VAR_END, APART_BEGIN, APART_END = range(6, 14)
LOW, RISE, PLACED, OFFSET, HOME, WITNESS = range(14, 20)
ITEM_COLUMNS = 20
# Columns of `se`, a row for each section. IN_BEGIN to IN_END are rows of `li`: its items and their heights.
# TOP and UPPER: the end of the highest item placed there, and which that is. SUM: what is to come.
IN_BEGIN, IN_END, FLOOR, TOP, UPPER, SUM, COMING, LEVEL, COUNT, SAVED, WEIGHT = range(11)
SECTION_COLUMNS = 11
# Columns of `fr`, a row for each frame: where it branches and at which height, its choices in `ch`, what it
# chose last and the length of the log before that.
SECTION, HEIGHT, FIRST, STOP, NEXT, CHOSEN, BEFORE = range(7)
FRAME_COLUMNS = 7
# Rows of `lo`, the log of what to take back: a kind, an index and three old values.
A_FLOOR, A_LOW, A_LEVEL = range(3)
# `bi`: sets of sections, as bits: a row for each item, one for the explanation at hand, one for each frame.


class State(NamedTuple):
    """Where a search stands; the columns are named above. Weights and ranks outlive a restart."""

    c: Ints
    it: Ints
    se: Ints
    li: Ints
    bi: Words
    fr: Ints
    lo: Ints
    ch: Ints


def copy(blank: State) -> State:
    """A search of its own: what does not change is shared, the tables that begin empty are new."""
    c, it, se, li, bi, fr, lo, ch = blank
    return State(
        c.copy(), it.copy(), se.copy(), li, bi.copy(), np.zeros_like(fr), np.zeros_like(lo), np.zeros_like(ch)
    )


@compiled
def add(bi: Words, row: int, section: int) -> None:
    """Put a section into a set."""
    bi[row, section >> 6] |= np.uint64(1) << np.uint64(section & 63)


@compiled
def has(bi: Words, row: int, section: int) -> bool:
    """Whether a section is in a set."""
    return bool((bi[row, section >> 6] >> np.uint64(section & 63)) & np.uint64(1))


@compiled
def clear(bi: Words, row: int) -> None:
    """Empty a set."""
    for w in range(bi.shape[1]):
        bi[row, w] = np.uint64(0)


@compiled
def join(bi: Words, row: int, more: int) -> None:
    """Put a set into a set."""
    for w in range(bi.shape[1]):
        bi[row, w] |= bi[more, w]


@compiled
def meet(bi: Words, row: int, other: int) -> bool:
    """Whether two sets have a section in common."""
    common = np.uint64(0)
    for w in range(bi.shape[1]):
        common |= bi[row, w] & bi[other, w]
    return bool(common != 0)


@compiled
def same(bi: Words, row: int, other: int) -> bool:
    """Whether two sets are equal."""
    different = np.uint64(0)
    for w in range(bi.shape[1]):
        different |= bi[row, w] ^ bi[other, w]
    return bool(different == 0)


@compiled
def lifted(it: Ints, li: Ints, i: int, variant: int, low: int) -> int:
    """The lowest offset of a variant of item ``i`` that is not below ``low``."""
    align = it[i, ALIGN]
    for r in range(li[variant, 1], li[variant + 1, 1]):
        offset = int(max(low, li[r, 0]))
        if align > 1:
            offset = (offset + align - 1) // align * align
        if offset <= li[r, 1]:
            return offset
    return NEVER


@compiled
def lowest(it: Ints, li: Ints, i: int, low: int) -> int:
    """The lowest offset of any variant of item ``i`` that is not below ``low``."""
    result = NEVER
    for v in range(it[i, VAR_BEGIN], it[i, VAR_END]):
        result = min(result, lifted(it, li, i, v, low))
    return result
