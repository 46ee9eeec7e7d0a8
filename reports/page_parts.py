"""What several pages share: tiles with key figures, and columns of sortable tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class SummaryTile:
    """One key figure at the top of a page; ``meter`` is a share of 1 to draw as a bar below it."""

    label: str
    value: str
    detail: str
    meter: float | None = None


@dataclass(frozen=True, slots=True)
class PageColumn(Generic[Row]):
    """A column of a sortable table and its value in each row; ``numeric`` ones are right-aligned and sort
    from the largest first."""

    key: str
    label: str
    value: Callable[[Row], int | str]
    numeric: bool = True
