"""A study's rows as its reports ask for them: planners, bounds that hold for several rows, standings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from statistics import median

from chipmodel.model.study_row import Point, Row

JOIN = " \N{MIDDLE DOT} "
"""Between the parts of a planner's name, where several of them vary."""
ANSWERED = ("optimal", "infeasible")
"""Statuses that leave nothing open."""


@dataclass(frozen=True, slots=True)
class Metric:
    """What is compared with a bound that no plan beats."""

    key: str
    noun: str
    unit: str
    value: Callable[[Row], int | None]
    bound: Callable[[Row], int | None]


PEAK = Metric("peak", "peak", "B", lambda r: r.peak_bytes, lambda r: r.peak_lower_bound_bytes)
CYCLES = Metric("cycles", "cycles", "cycles", lambda r: r.total_cycles, lambda r: r.lower_bound_cycles)


@dataclass(frozen=True, slots=True)
class Standing:
    """How one planner did by one metric. Gaps are sorted; a point without a plan counts as infinitely far."""

    planner: str
    rows: tuple[Row, ...]
    gaps: tuple[float, ...]
    proven: int
    """Points whose peak is proven smallest, or that are proven to have no plan."""
    without: int
    """Points without a plan that are not proven to have none."""
    seconds: float
    """Median of a point."""

    @property
    def counted(self) -> int:
        """Points that could have a gap."""
        return len(self.gaps) + self.without

    @property
    def median(self) -> float:
        """Of all that could have a gap; infinite where most have no plan."""
        values = [*self.gaps, *[inf] * self.without]
        middle = len(values) // 2
        if not values or values[middle] == inf:
            return inf
        return median(values)

    @property
    def worst(self) -> float:
        """The largest gap of a plan."""
        return self.gaps[-1] if self.gaps else inf

    @property
    def at_bound(self) -> int:
        """Plans that no plan can beat."""
        return sum(gap <= 0 for gap in self.gaps)

    def within(self, gap: float) -> float:
        """The share of the points whose gap is at most ``gap``."""
        return sum(each <= gap for each in self.gaps) / self.counted if self.counted else 0.0


@dataclass(frozen=True)
class Study:
    """What was asked, and the rows there are."""

    name: str
    rows: tuple[Row, ...]
    title: str = ""
    """The question in the user's words; may be empty."""
    file: str = ""
    text: str = ""
    """The study file as it was."""
    code: str = ""
    points: int = 0
    """Asked for, answered or not."""
    pages: Mapping[str, str] = field(default_factory=dict[str, str])
    """Where a point has a page of its plan: its key, and the link."""

    @cached_property
    def label(self) -> Callable[[Row], str]:
        """What a row's planner is called: the parts of it that vary."""
        return planner_label([row.point for row in self.rows])

    @cached_property
    def planners(self) -> tuple[str, ...]:
        """Their names, in the order of the study."""
        return tuple(dict.fromkeys(map(self.label, self.rows)))

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """Those that some row has a gap of, the one that the planners are mainly for first."""
        known = [m for m in (PEAK, CYCLES) if any(self.gap(m, row) is not None for row in self.rows)]
        points = [row.point for row in self.rows]
        only_streamers = varied(points, "streamer") and not varied(points, "packer", "merge")
        return tuple(reversed(known) if only_streamers else known)

    @cached_property
    def _bounds(self) -> dict[tuple[str, object], int]:
        best: dict[tuple[str, object], int] = {}
        for metric in (PEAK, CYCLES):
            for row in self.rows:
                key = metric.key, _shares(metric, row)
                best[key] = max(best.get(key, 0), metric.bound(row) or 0)
        return best

    def bound(self, metric: Metric, row: Row) -> int | None:
        """The best bound that any row of the same question proved."""
        return self._bounds[metric.key, _shares(metric, row)] or None

    def gap(self, metric: Metric, row: Row) -> float | None:
        """Share of the best bound that the row is above it; None without a plan or a bound."""
        value, bound = metric.value(row), self.bound(metric, row)
        return None if value is None or not bound else value / bound - 1

    def standings(self, metric: Metric) -> tuple[Standing, ...]:
        """The planners that could have a gap, the lowest median first; then who meets the bound most."""
        groups: dict[str, list[Row]] = {name: [] for name in self.planners}
        for row in self.rows:
            if metric is PEAK or row.point.chip:
                groups[self.label(row)].append(row)
        found = (self._standing(name, rows, metric) for name, rows in groups.items() if rows)
        return tuple(sorted((s for s in found if s.counted), key=_rank))

    def _standing(self, name: str, rows: Sequence[Row], metric: Metric) -> Standing:
        gaps = [self.gap(metric, row) for row in rows]
        without = sum(gap is None and row.status != "infeasible" for gap, row in zip(gaps, rows, strict=True))
        return Standing(
            name,
            tuple(rows),
            tuple(sorted(gap for gap in gaps if gap is not None)),
            sum(row.status in ANSWERED for row in rows),
            without,
            median(row.seconds for row in rows),
        )

    @cached_property
    def failed(self) -> tuple[Row, ...]:
        """Rows with an error in place of an answer."""
        return tuple(row for row in self.rows if row.status == "failed")


def _rank(standing: Standing) -> tuple[object, ...]:
    met = standing.at_bound / standing.counted
    return standing.median, -met, standing.without, standing.worst, standing.seconds, standing.planner


def _shares(metric: Metric, row: Row) -> object:
    """What a bound is of. Any plan of a packing; the cycles of any plan on a chip. The packing problem of a
    network depends on its planners: rows share a bound where they packed the same buffers."""
    point = row.point
    if metric is CYCLES:
        return point.workload, point.chip, point.overrides
    return (row.problem or row.key) if point.chip else point.workload


def case(row: Row) -> tuple[object, ...]:
    """The question without the planner: rows of one case can be compared."""
    point = row.point
    return point.workload, point.chip, point.overrides, point.seed


def varied(points: Iterable[Point], *names: str) -> list[str]:
    """Those of the fields ``names`` that have several values, empty ones aside."""
    listed = list(points)
    return [
        name for name in names if len({v for p in listed if (v := getattr(p, name)) not in ("", None)}) > 1
    ]


def swept_values(study: Study) -> dict[str, list[str]]:
    """The chip fields that the study sweeps, with their values in its order."""
    found: dict[str, dict[str, None]] = {}
    for row in study.rows:
        for name, value in row.point.overrides:
            found.setdefault(name, {})[value] = None
    return {name: list(values) for name, values in found.items() if len(values) > 1}


def planner_label(points: Sequence[Point]) -> Callable[[Row], str]:
    """How rows name their planner: by packer, merger, streamer, as far as these vary; by its limits only
    where one planner was asked the same with several."""
    names = varied(points, "packer", "merge", "streamer") or ["packer"]
    limits = _several_limits(points)

    def label(row: Row) -> str:
        point = row.point
        parts = [getattr(point, name) for name in names]
        return JOIN.join([part for part in parts if part] + ([limit_text(point)] if limits else []))

    return label


def _several_limits(points: Iterable[Point]) -> bool:
    seen: dict[tuple[object, ...], tuple[object, ...]] = {}
    for p in points:
        key = (p.workload, p.chip, p.overrides, p.seed, p.packer, p.merge, p.streamer)
        if seen.setdefault(key, (p.time_limit, p.node_limit)) != (p.time_limit, p.node_limit):
            return True
    return False


def limit_text(point: Point) -> str:
    """The limits of a point's search in words."""
    texts = [] if point.time_limit is None else [f"{point.time_limit:g} s"]
    texts += [] if point.node_limit is None else [f"{point.node_limit:,} nodes"]
    return ", ".join(texts) or "its own limits"


def failures(study: Study) -> list[tuple[str, list[Row]]]:
    """The errors, the most frequent first, with their points."""
    groups: dict[str, list[Row]] = {}
    for row in study.failed:
        groups.setdefault(row.error or "no reason is stored", []).append(row)
    return sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
