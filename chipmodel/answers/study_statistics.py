"""Statistics of a study: planners compared over the cases that all of them answered.

Sources: E. D. Dolan and J. J. Moré, Benchmarking optimization software with performance profiles,
Mathematical Programming 91, 2002 (the profile, here over gaps instead of ratios); F. Wilcoxon, Individual
comparisons by ranking methods, Biometrics Bulletin 1, 1945; S. Holm, A simple sequentially rejective multiple
test procedure, Scandinavian Journal of Statistics 6, 1979.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import erfc, sqrt
from statistics import fmean, median, quantiles

from chipmodel.answers.study_row import Row
from chipmodel.records import dataclass

MOST_EXACT = 400
"""Pairs up to which the distribution of Wilcoxon's statistic is exact; beyond it is taken for normal (at 400
the two differ in the fourth digit)."""

Values = Mapping[object, Mapping[int, float]]
"""Gaps by case and seed."""


@dataclass(frozen=True, slots=True)
class PlannerScore:
    """One planner by one metric, over the cases that all ranked planners answered."""

    planner: str
    rows: tuple[Row, ...]
    """All of its rows, also of other cases."""
    gaps: tuple[float, ...]
    """A gap for each case, sorted: the median over seeds."""
    without: int
    """Possible cases in which it has no plan."""
    seconds: float
    """Median over the rows, of its own processor time."""
    wins: int = 0
    """Cases in which it alone is the best."""
    ties: int = 0
    """Cases in which it is the best together with others."""
    spread: float | None = None
    """Median over the cases of the largest minus the smallest gap of several seeds; None with one seed."""
    p_value: float | None = None
    """The two-sided p-value of Wilcoxon's test against the first planner, after Holm's correction."""

    @property
    def median(self) -> float:
        """The median gap."""
        return median(self.gaps)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The gaps below which a quarter and three quarters of the cases are."""
        if len(self.gaps) < 2:
            return self.median, self.median
        low, _, high = quantiles(self.gaps, n=4, method="inclusive")
        return low, high

    @property
    def mean(self) -> float:
        """The mean gap, which a few outliers decide: never without the median."""
        return fmean(self.gaps)

    @property
    def worst(self) -> float:
        """The largest gap."""
        return self.gaps[-1]

    @property
    def at_bound(self) -> int:
        """Cases at the lower bound, which no plan that it holds for can beat."""
        return sum(gap <= 0 for gap in self.gaps)

    def within(self, gap: float) -> float:
        """The share of the cases whose gap is at most ``gap``: the performance profile."""
        return sum(each <= gap for each in self.gaps) / len(self.gaps)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Planners compared over common cases, the best first, and what was left out."""

    scores: tuple[PlannerScore, ...] = ()
    cases: int = 0
    """Cases that all ranked planners answered."""
    possible: int = 0
    """Cases for which some planner has a plan."""
    unranked: tuple[str, ...] = ()
    """Planners that answered at most half of the possible cases."""


def compared(by_planner: Mapping[str, Values], rows: Mapping[str, Sequence[Row]], own: bool) -> Ranking:
    """Compare planners by their gaps; ``rows`` are all rows of each, ``own`` says that their time is the
    packer's rather than the schedule's."""
    possible = dict.fromkeys(case for values in by_planner.values() for case in values)
    ranked = [name for name, values in by_planner.items() if 2 * len(values) > len(possible)]
    common = [case for case in possible if all(case in by_planner[name] for name in ranked)] if ranked else []
    unranked = tuple(name for name in rows if name not in ranked)
    if not common:
        return Ranking(possible=len(possible), unranked=unranked)
    middle = {name: [median(by_planner[name][case].values()) for case in common] for name in ranked}
    best = [min(column) for column in zip(*middle.values(), strict=True)]
    scores: list[PlannerScore] = []
    for name in ranked:
        firsts = [k for k, gap in enumerate(middle[name]) if gap == best[k]]
        alone = [k for k in firsts if sum(middle[other][k] == best[k] for other in ranked) == 1]
        spans = [max(v) - min(v) for case in common if len(v := [*by_planner[name][case].values()]) > 1]
        scores.append(
            PlannerScore(
                name,
                tuple(rows[name]),
                tuple(sorted(middle[name])),
                len(possible) - len(by_planner[name]),
                median(_seconds(row, own) for row in rows[name]),
                wins=len(alone),
                ties=len(firsts) - len(alone),
                spread=median(spans) if spans else None,
            )
        )
    scores.sort(key=lambda s: (s.median, -s.wins - s.ties, s.mean, s.seconds, s.planner))
    return Ranking(_tested(scores, middle), len(common), len(possible), unranked)


def _seconds(row: Row, packer: bool) -> float:
    own = row.packer_seconds if packer else row.schedule_seconds
    return row.seconds if own is None else own


def _tested(
    scores: Sequence[PlannerScore], middle: Mapping[str, Sequence[float]]
) -> tuple[PlannerScore, ...]:
    """The scores with p-values of all but the first."""
    first, *others = scores
    pairs = [
        [b - a for a, b in zip(middle[first.planner], middle[other.planner], strict=True)] for other in others
    ]
    corrected = holm([wilcoxon(differences) for differences in pairs])
    return first, *(replace(s, p_value=p) for s, p in zip(others, corrected, strict=True))


def wilcoxon(differences: Sequence[float]) -> float:
    """Return the two-sided p-value of the signed-rank test that ``differences`` are symmetric around 0.

    Zeros are left out; equal sizes share the mean of their ranks, whose distribution is the one used.
    """
    ordered = sorted((d for d in differences if d), key=abs)
    if not ordered:
        return 1.0
    ranks = _doubled_ranks([abs(d) for d in ordered])
    positive = sum(rank for rank, d in zip(ranks, ordered, strict=True) if d > 0)
    total = sum(ranks)
    low = min(positive, total - positive)
    if len(ordered) > MOST_EXACT:
        deviation = sqrt(sum(rank * rank for rank in ranks)) / 2
        return erfc((total / 2 - low) / deviation / sqrt(2))
    return min(1.0, 2 * _at_most(low, ranks))


def _doubled_ranks(sizes: Sequence[float]) -> list[int]:
    """Twice the ranks of sorted ``sizes``, so that the mean rank of equal ones is an integer."""
    ranks: list[int] = []
    while len(ranks) < len(sizes):
        start = len(ranks)
        stop = start + sum(size == sizes[start] for size in sizes[start:])
        ranks += [start + 1 + stop] * (stop - start)
    return ranks


def _at_most(low: int, ranks: Sequence[int]) -> float:
    """The chance that the ranks with a positive sign sum to at most ``low``, where every sign is a coin's."""
    import numpy as np

    chances = np.zeros(low + 1)
    chances[0] = 1.0
    for rank in ranks:
        chances /= 2
        if rank <= low:
            chances[rank:] += chances[: low + 1 - rank].copy()
    return float(chances.sum())


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values corrected for their number: the smallest times all, the next times one less, ..."""
    corrected = [1.0] * len(p_values)
    highest = 0.0
    for k, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - k) * p_values[index]))
        corrected[index] = highest
    return corrected
