"""Which shares of a tensor or weight block are present, and whether they make up the whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations, pairwise

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share

Span = tuple[Fraction | int, Fraction | int]
"""Start and end, half-open."""
Area = tuple[Span, Span, Span]
"""Rows, channels and columns."""


def covers(outer: Share, inner: Share) -> bool:
    """Whether all of ``inner`` is in ``outer``."""
    pairs = zip(_area(outer), _area(inner), strict=True)
    return all(a[0] <= b[0] and b[1] <= a[1] for a, b in pairs)


def areas_overlap(areas: Iterable[Area]) -> bool:
    """Whether any two areas overlap. Only areas of one span are compared if spans are equal or disjoint."""
    return _overlap_from(list(areas), 0)


AXES = 3


def _overlap_from(areas: Sequence[Area], axis: int) -> bool:
    """Whether any two areas overlap in each axis from number ``axis`` on."""
    if axis == AXES:
        return len(areas) > 1
    solid = [area for area in areas if area[axis][0] < area[axis][1]]
    apart: dict[Span, list[Area]] = {}
    for area in solid:
        apart.setdefault(area[axis], []).append(area)
    if not _spans_overlap(apart):
        return any(_overlap_from(alike, axis + 1) for alike in apart.values())
    return any(
        all(_spans_overlap((a[each], b[each])) for each in range(axis, AXES))
        for a, b in combinations(solid, 2)
    )


def _spans_overlap(spans: Iterable[Span]) -> bool:
    """Whether any two non-empty spans overlap: if so, two neighbours in sorted order do."""
    return any(after[0] < before[1] for before, after in pairwise(sorted(s for s in spans if s[0] < s[1])))


def _area(share: Share) -> Area:
    return (
        _span(share.rows, share.of_rows),
        _span(share.channels, share.of_channels),
        _span(share.columns, share.of_columns),
    )


def _span(interval: Interval, of: int) -> Span:
    return Fraction(interval.start, of), Fraction(interval.stop, of)
