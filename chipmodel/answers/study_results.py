"""The rows of a study and what follows from them: planners' names, shared bounds, gaps, scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property

from chipmodel.answers.design_question import NO_REQUIREMENTS, Requirements
from chipmodel.answers.study_row import Point, Row
from chipmodel.answers.study_statistics import PlannerScore, Ranking, compared
from chipmodel.model.time_bound import WITHOUT_CASCADES, PlanSpace
from chipmodel.records import dataclass

JOIN = " \N{MIDDLE DOT} "
"""Separates the parts of a planner's name where several of them vary."""
KEY_DIGITS = 16
"""Digits of a point's key by which it is named."""
CONTRADICTION_HINT = (
    "All rows of this problem are left out, as a plan or a bound is wrong: please report it, with the files "
    "of both points."
)


@dataclass(frozen=True, slots=True)
class StudyMetric:
    """A number of a row that is compared with its proven lower bound."""

    key: str
    noun: str
    unit: str
    value: Callable[[Row], int | None]
    bound: Callable[[Row], int | None]

    def gap(self, row: Row) -> float | None:
        """``(value - bound) / bound``; None without a plan or a bound."""
        value, bound = self.value(row), self.bound(row)
        return None if value is None or not bound else value / bound - 1


PEAK = StudyMetric("peak", "peak", "B", lambda r: r.peak_bytes, lambda r: r.peak_lower_bound_bytes)
CYCLES = StudyMetric("cycles", "cycles", "cycles", lambda r: r.total_cycles, lambda r: r.lower_bound_cycles)


@dataclass(frozen=True)
class StudyResults:
    """A study: its settings, and the rows of the points that have an answer."""

    name: str
    rows: tuple[Row, ...]
    """With the bounds that rows of one question share (``with_shared_bounds``)."""
    title: str = ""
    """The user's question; may be empty."""
    file: str = ""
    text: str = ""
    """The study file when the study was run."""
    code: str = ""
    """The version of the code that answered."""
    points: int = 0
    """Points of the study, with or without an answer."""
    pages: Mapping[str, str] = field(default_factory=dict[str, str])
    """Links to the pages of plans, by the points' keys."""
    requirements: Requirements = NO_REQUIREMENTS
    """What every network must keep to."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", with_shared_bounds(self.rows))

    @cached_property
    def label(self) -> Callable[[Row], str]:
        """The name of a row's planner, of the parts that vary in the study."""
        return planner_label([row.point for row in self.rows])

    @cached_property
    def planners(self) -> tuple[str, ...]:
        """The planners' names, in the order of the study."""
        return tuple(dict.fromkeys(map(self.label, self.rows)))

    @cached_property
    def metrics(self) -> tuple[StudyMetric, ...]:
        """The metrics by which planners are ranked: cycles first where only streamers vary, else the peak."""
        known = [m for m in (PEAK, CYCLES) if self.scores(m)]
        points = [row.point for row in self.rows]
        only_streamers = varied(points, "streamer") and not varied(points, "packer", "merge")
        return tuple(reversed(known) if only_streamers else known)

    @cached_property
    def spaces(self) -> tuple[PlanSpace, ...]:
        """The plans that the bounds on cycles hold for, in the order of the rows."""
        return tuple(dict.fromkeys(row.bound_space for row in self.rows if row.bound_space is not None))

    @cached_property
    def rankings(self) -> Mapping[str, Ranking]:
        """The planners compared over common cases, by the metric's key."""
        return {metric.key: self._compared(metric) for metric in (PEAK, CYCLES)}

    def scores(self, metric: StudyMetric) -> tuple[PlannerScore, ...]:
        """The planners that are ranked, the best first."""
        return self.rankings[metric.key].scores

    def planner(self, metric: StudyMetric, row: Row) -> str:
        """The name of the planner that the metric compares: of the packer and merger by the peak, of the
        streamer and the cascades by cycles. A packer counts there as well where it took part in the
        schedule."""
        return self._planner_labels[metric.key](row)

    @cached_property
    def _planner_labels(self) -> Mapping[str, Callable[[Row], str]]:
        points = [row.point for row in self.rows]
        packers, streamers = ("packer", "merge"), ("streamer", "cascade")
        together = any(point.buffers == "own" for point in points) and varied(points, *packers)
        by_cycles = (*packers, *streamers) if together else streamers
        return {
            PEAK.key: planner_label(points, packers, "packer"),
            CYCLES.key: planner_label(points, by_cycles, "streamer"),
        }

    def _compared(self, metric: StudyMetric) -> Ranking:
        rows: dict[str, list[Row]] = {}
        by_planner: dict[str, dict[object, dict[int, float]]] = {}
        bounds = self._case_bounds(metric)
        for row in self.rows:
            if metric is CYCLES and not row.point.chip:
                continue
            name = self.planner(metric, row)
            rows.setdefault(name, []).append(row)
            values = by_planner.setdefault(name, {})
            value, key = metric.value(row), compared_case(metric, row)
            if value is not None and key in bounds:
                seeds = values.setdefault(key, {})
                gap = value / bounds[key] - 1
                seeds[row.point.seed] = min(gap, seeds.get(row.point.seed, gap))
        return compared(by_planner, rows, metric is PEAK)

    def _case_bounds(self, metric: StudyMetric) -> dict[object, int]:
        """The bound that holds for every row of a case: the lowest of those for different plans."""
        bounds: dict[object, int] = {}
        for row in self.rows:
            bound, key = metric.bound(row), compared_case(metric, row)
            if bound and metric.value(row) is not None:
                bounds[key] = min(bound, bounds.get(key, bound))
        return bounds

    @cached_property
    def failed(self) -> tuple[Row, ...]:
        """Rows with an error instead of an answer."""
        return tuple(row for row in self.rows if row.status == "failed")


def with_shared_bounds(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Return the rows with the highest bound that any row of the same question proved.

    Those of a merger share the highest one that any packer proved for it. A peak that meets the bound is
    optimal, and no other one is. Where a row beats a bound that was proven for it, a plan or a bound is
    wrong: no row of that problem has an answer then, and each says why.
    """
    listed = tuple(rows)
    wrong = contradictions(listed)
    listed = tuple(_without_answer(row, wrong) for row in listed)
    bounds: dict[object, int] = {}
    for row in listed:
        for key, _, _, bound in _proven(row):
            bounds[key] = max(bounds.get(key, 0), bound or 0)
    return tuple(_with_bounds(row, *(bounds[key] or None for key, *_ in _proven(row))) for row in listed)


def _proven(row: Row) -> tuple[tuple[object, str, int | None, int | None], ...]:
    """Questions of the row: of its peak, its peak with its merger, its cycles. Each has what is bounded, its
    value, and what the row proved of it."""
    peak = question(PEAK, row)
    return (
        (peak, "peak", row.peak_bytes, PEAK.bound(row)),
        ((peak, row.point.merge), "peak", row.peak_bytes, row.merger_lower_bound_bytes),
        (question(CYCLES, row), "run", row.total_cycles, CYCLES.bound(row)),
    )


def contradictions(rows: Sequence[Row]) -> dict[object, str]:
    """Errors in words of the questions of which a row beats a bound that it or another row proved."""
    bounds: dict[object, tuple[int, Row]] = {}
    for row in rows:
        for key, _, _, bound in _proven(row):
            if bound is not None and (key not in bounds or bound > bounds[key][0]):
                bounds[key] = bound, row
    wrong: dict[object, str] = {}
    for row in rows:
        for key, what, value, _ in _proven(row):
            bound, other = bounds.get(key, (0, row))
            if value is not None and value < bound:
                of = "its own" if other is row else f"that of point {other.key[:KEY_DIGITS]}"
                point = row.key[:KEY_DIGITS]
                said = f"the {what} of point {point}, {value:,}, is below a bound, {of}, {bound:,}"
                wrong.setdefault(key, f"contradiction: {said}. {CONTRADICTION_HINT}")
    return wrong


def _without_answer(row: Row, wrong: Mapping[object, str]) -> Row:
    """The row, failed where one of its questions has a contradiction."""
    error = next((wrong[key] for key, *_ in _proven(row) if key in wrong), "")
    return row.refused(error) if error else row


def _with_bounds(row: Row, peak: int | None, merger: int | None, cycles: int | None) -> Row:
    if merger is not None:
        merger = max(merger, peak or 0)  # Whatever the merger, the conflicts are kept.
    status = row.status
    if status in ("optimal", "feasible"):
        status = "optimal" if row.peak_bytes == peak else "feasible"
    return replace(
        row,
        status=status,
        peak_lower_bound_bytes=peak,
        merger_lower_bound_bytes=merger,
        lower_bound_cycles=cycles if row.total_cycles is not None else row.lower_bound_cycles,
    )


def question(metric: StudyMetric, row: Row) -> object:
    """What a bound holds for: rows with the same value share their bounds.

    A bound on cycles holds for all plans of its space, of a workload on a chip; one on the peak for any plan
    of a packing problem. The packing problem of a network depends on its schedule, so rows share a bound only
    where they packed the same buffers.
    """
    point = row.point
    if metric is CYCLES:
        space = row.bound_space or WITHOUT_CASCADES
        return metric.key, point.workload, point.chip, point.overrides, space
    return metric.key, (row.problem or row.key) if point.chip else point.workload


def compared_case(metric: StudyMetric, row: Row) -> object:
    """What planners are compared on: by the peak one set of buffers, by cycles one network on one chip."""
    point = row.point
    return question(PEAK, row) if metric is PEAK else (point.workload, point.chip, point.overrides)


def case(row: Row) -> tuple[object, ...]:
    """The settings of a row apart from the planner: rows of one case can be compared."""
    point = row.point
    return point.workload, point.chip, point.overrides, point.seed


def varied(points: Iterable[Point], *names: str) -> list[str]:
    """The fields among ``names`` that have several values, empty ones not counted."""
    listed = list(points)
    return [
        name for name in names if len({v for p in listed if (v := getattr(p, name)) not in ("", None)}) > 1
    ]


def swept_values(study: StudyResults) -> dict[str, list[str]]:
    """The chip fields of which the study has several values, with these in its order."""
    values_of: dict[str, dict[str, None]] = {}
    for row in study.rows:
        for name, value in row.point.overrides:
            values_of.setdefault(name, {})[value] = None
    return {name: list(values) for name, values in values_of.items() if len(values) > 1}


PARTS = ("packer", "merge", "streamer", "cascade")


def planner_label(
    points: Sequence[Point], parts: Sequence[str] = PARTS, default: str = "packer"
) -> Callable[[Row], str]:
    """A function that names a row's planner by those of ``parts`` that vary."""
    names = varied(points, *parts) or [default]
    return lambda row: JOIN.join(filter(None, (_part(row.point, name) for name in names)))


def _part(point: Point, name: str) -> str:
    """A setting in a planner's name."""
    value = str(getattr(point, name))
    return f"cascades {value}" if name == "cascade" and value else value


def failures(study: StudyResults) -> list[tuple[str, list[Row]]]:
    """The errors with their points, the most frequent first."""
    groups: dict[str, list[Row]] = {}
    for row in study.failed:
        groups.setdefault(row.error or "no reason is stored", []).append(row)
    return sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
