"""The arrays in which the search keeps its state, and sets of sections as bits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from solvers.search import columns as col

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]


class SearchState(NamedTuple):
    """All of one search; columns are named in ``solvers.search.columns``. Weights, ranks outlive restarts."""

    control: Ints
    items: Ints
    sections: Ints
    links: Ints
    """Rows of up to three numbers that items and sections refer to; never changed."""
    sets: Words
    """Sets of sections, one bit each: a row for each item, one for the current explanation, one per frame."""
    frames: Ints
    log: Ints
    choices: Ints


def copy(blank: SearchState) -> SearchState:
    """A separate search: ``links`` are shared, arrays that begin empty are new."""
    return SearchState(
        control=blank.control.copy(),
        items=blank.items.copy(),
        sections=blank.sections.copy(),
        links=blank.links,
        sets=blank.sets.copy(),
        frames=_empty_like(blank.frames),
        log=_empty_like(blank.log),
        choices=_empty_like(blank.choices),
    )


def _empty_like(table: Ints) -> Ints:
    """Zeros whose memory is taken when written; ``np.zeros_like`` would write a log of 30 MB at once."""
    return np.zeros(table.shape, table.dtype)


def add(sets: Words, row: int, section: int) -> None:
    """Put a section into a set."""
    sets[row, section >> 6] |= 1 << (section & 63)


def has(sets: Words, row: int, section: int) -> bool:
    """Whether a section is in a set."""
    return bool((sets[row, section >> 6] >> (section & 63)) & 1)


def clear(sets: Words, row: int) -> None:
    """Empty a set."""
    for w in range(sets.shape[1]):
        sets[row, w] = 0


def join(sets: Words, row: int, more: int) -> None:
    """Put all of set ``more`` into set ``row``."""
    for w in range(sets.shape[1]):
        sets[row, w] |= sets[more, w]


def overlap(sets: Words, row: int, other: int) -> bool:
    """Whether two sets have a section in common."""
    for w in range(sets.shape[1]):  # noqa: SIM110
        if sets[row, w] & sets[other, w]:
            return True
    return False


def same(sets: Words, row: int, other: int) -> bool:
    """Whether two sets are equal."""
    for w in range(sets.shape[1]):  # noqa: SIM110
        if sets[row, w] != sets[other, w]:
            return False
    return True


def lifted(items: Ints, links: Ints, i: int, variant: int, low: int) -> int:
    """The lowest offset of a variant of item ``i`` that is not below ``low``, or NEVER."""
    align = items[i, col.ALIGN]
    for r in range(links[variant, 1], links[variant + 1, 1]):
        offset = int(max(low, links[r, 0]))
        if align > 1:
            offset = (offset + align - 1) // align * align
        if offset <= links[r, 1]:
            return offset
    return col.NEVER


def lowest(items: Ints, links: Ints, i: int, low: int) -> int:
    """The lowest offset of any variant of item ``i`` that is not below ``low``, or NEVER."""
    result = col.NEVER
    for v in range(items[i, col.VARIANTS_BEGIN], items[i, col.VARIANTS_END]):
        result = min(result, lifted(items, links, i, v, low))
    return result
