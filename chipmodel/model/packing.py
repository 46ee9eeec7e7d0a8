"""A packing problem together with the table that it was read from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chipmodel.model.plan import Problem


@dataclass(frozen=True, slots=True)
class PackingTable:
    """A problem and its rows of text, kept to write them again with offsets (``workloads.packing``)."""

    problem: Problem
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    hints: Mapping[str, int]
    """Offsets from an earlier plan in bytes, by the name of the buffer."""
    notes: tuple[str, ...] = ()
    known_optimum: int | None = None
    """The smallest peak in bytes, where the problem was constructed so that it is known."""
