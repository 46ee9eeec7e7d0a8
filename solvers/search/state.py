"""The arrays in which the search keeps its state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

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
