"""What several pages share: tiles with key figures, and columns of sortable tables."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SummaryTile:
    """One key figure at the top of a page; ``meter`` is a share of 1 to draw as a bar below it."""

    label: str
    value: str
    detail: str
    meter: float | None = None


@dataclass(frozen=True, slots=True)
class PageColumn:
    """A column of a sortable table; ``numeric`` ones are right-aligned and sort from the largest first."""

    key: str
    label: str
    numeric: bool = True
