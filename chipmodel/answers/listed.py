"""What a list says of something that a user may choose by its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class Listed:
    """A row of a list."""

    name: str
    """What the user writes."""
    title: str
    """What it is or does, in a line."""
    source: str
    """Who published it."""


def listed_by_name(rows: Iterable[Listed]) -> Mapping[str, Listed]:
    """The rows by their names, in their order."""
    return {row.name: row for row in rows}
