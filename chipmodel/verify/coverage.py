"""Which shares of a tensor or weight block are present, and whether they make up the whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations, pairwise

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import WHOLE, Share
from chipmodel.records import dataclass

Span = tuple[Fraction | int, Fraction | int]
"""Start and end, half-open."""
Area = tuple[Span, Span, Span]
"""Rows, channels and columns."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Shares of one tensor or weight block, and the sum of their areas as a fraction of the whole. They are
    complete where the areas add up to 1 and no two overlap."""

    shares: frozenset[Share] = frozenset()
    area: Fraction = Fraction(0)

    def __contains__(self, share: Share) -> bool:
        return self.complete or share in self.shares

    @property
    def complete(self) -> bool:
        return WHOLE in self.shares

    def holds(self, share: Share) -> bool:
        """Whether all of ``share`` is present, in any number of shares with the same division into rows."""
        if share in self:
            return True
        alike = frozenset(s for s in self.shares if s.of_rows == share.of_rows)
        return not _any_overlap(alike) and sum(_common(share, s) for s in alike) == _common(share, share)

    def add(self, share: Share) -> Coverage:
        """The coverage with one more share; a complete one holds ``WHOLE`` alone, however it was divided."""
        if share in self:
            return self
        area = self.area + _common(share, share)
        shares = self.shares | {share}
        if area == 1 and not _any_overlap(shares):
            return Coverage(frozenset({WHOLE}), area)
        return Coverage(shares, area)


EMPTY = Coverage()


def disjoint(share: Share, others: Iterable[Share]) -> bool:
    """Whether no byte of ``share`` is in one of ``others``."""
    return not any(share == other or _any_overlap((share, other)) for other in others)


def covers(outer: Share, inner: Share) -> bool:
    """Whether all of ``inner`` is in ``outer``."""
    pairs = zip(_area(outer), _area(inner), strict=True)
    return all(a[0] <= b[0] and b[1] <= a[1] for a, b in pairs)


def begin_alike(a: Share, b: Share) -> bool:
    """Whether the first byte of both is the same."""
    return all(one[0] == other[0] for one, other in zip(_area(a), _area(b), strict=True))


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


def _any_overlap(shares: Iterable[Share]) -> bool:
    return areas_overlap(_area(share) for share in shares)


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


def _common(a: Share, b: Share) -> Fraction:
    """The fraction of the whole that lies in both shares."""
    area = Fraction(1)
    for one, other in zip(_area(a), _area(b), strict=True):
        area *= max(Fraction(0), min(one[1], other[1]) - max(one[0], other[0]))
    return area
