"""Which shares of a tensor or weight block are present, and whether they make up the whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise

from chipmodel.model.interval import Interval
from chipmodel.model.work import WHOLE, Share

Span = tuple[Fraction | int, Fraction | int]
"""Start and end, half-open."""
Area = tuple[Span, Span]
"""Rows and channels."""


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
        area = self.area + Fraction(len(share.rows) * len(share.channels), share.of_rows * share.of_channels)
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


def areas_overlap(areas: Iterable[Area]) -> bool:
    """Whether any two areas overlap. Where the rows form disjoint bands, only areas of one band are
    compared."""
    bands: dict[Span, list[Span]] = {}
    for rows, channels in areas:
        bands.setdefault(rows, []).append(channels)
    if not _spans_overlap(bands):
        return any(_spans_overlap(channels) for channels in bands.values())
    listed = [(rows, channels) for rows, every in bands.items() for channels in every]
    return any(
        _spans_overlap((a[0], b[0])) and _spans_overlap((a[1], b[1])) for a, b in combinations(listed, 2)
    )


def _any_overlap(shares: Iterable[Share]) -> bool:
    return areas_overlap(_area(share) for share in shares)


def _spans_overlap(spans: Iterable[Span]) -> bool:
    """Whether any two non-empty spans overlap: if so, two neighbours in sorted order do."""
    return any(after[0] < before[1] for before, after in pairwise(sorted(s for s in spans if s[0] < s[1])))


def _area(share: Share) -> Area:
    return _span(share.rows, share.of_rows), _span(share.channels, share.of_channels)


def _span(interval: Interval, of: int) -> Span:
    return Fraction(interval.start, of), Fraction(interval.stop, of)


def _common(a: Share, b: Share) -> Fraction:
    """The fraction of the whole that lies in both shares."""
    area = Fraction(1)
    for one, other in zip(_area(a), _area(b), strict=True):
        area *= max(Fraction(0), min(one[1], other[1]) - max(one[0], other[0]))
    return area
