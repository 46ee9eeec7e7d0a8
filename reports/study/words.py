"""The answer of a study in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from chipmodel.answers.study_results import (
    PEAK,
    StudyMetric,
    StudyResults,
    compared_case,
    swept_values,
)
from chipmodel.answers.study_statistics import PlannerScore
from reports.study.design import design_words
from reports.study.requirements import requirement_words
from reports.words import count, percent, plural

NAMED = 3
"""Planners that are named after the best."""


def answer(study: StudyResults) -> list[str]:
    """The answer: how much of the study is done, and how the planners compare."""
    ranked = [_metric_words(study, metric) for metric in study.metrics]
    sentences = (_coverage(study), requirement_words(study), design_words(study), *ranked, _failures(study))
    return [each for each in sentences if each]


def _metric_words(study: StudyResults, metric: StudyMetric) -> str:
    """The best planner by a metric, its median gap, and how the others differ."""
    ranking = study.rankings[metric.key]
    first, *others = ranking.scores
    by = "By peak" if metric is PEAK else "By cycles"
    on = plural(ranking.cases, "case")
    if not others:
        return f"{by}, {first.planner} {_how_near(first)} on {on}."
    all_of_them = "both planners" if len(others) == 1 else f"all {len(ranking.scores)} planners"
    words = f"{by}, over the {on} that {all_of_them} answered, {_first_words(first)}"
    listed_others = "; ".join(_other_words(other, first) for other in others[:NAMED])
    rest = len(others) - NAMED
    more = f"; {rest} more in the table" if rest > 0 else ""
    return f"{words}; {listed_others}{more}."


def _first_words(score: PlannerScore) -> str:
    return f"{score.planner} {_how_near(score)}, the best of all on {_best(score)}"


def _best(score: PlannerScore) -> str:
    return f"{count(score.wins + score.ties)} of {count(len(score.gaps))}"


def _how_near(score: PlannerScore) -> str:
    low, high = map(percent, score.quartiles)
    spread = f" (quartiles {low} and {high})" if len(score.gaps) > 3 else ""
    if score.worst <= 0:
        return "is at the bound"
    return f"has a median gap of {percent(score.median)}{spread}"


def _other_words(score: PlannerScore, first: PlannerScore) -> str:
    """The median gap; where that does not tell it from the first one, also how often it is at the bound."""
    same = percent(score.median) == percent(first.median) and score.at_bound < first.at_bound
    at_bound = f", at the bound on {count(score.at_bound)}" if same else ""
    return f"{score.planner} {percent(score.median)}{at_bound} ({p_words(score.p_value)})"


def p_words(p_value: float | None) -> str:
    """``p = 0.012``; ``p < 0.001`` where it is smaller; empty for the first planner."""
    if p_value is None:
        return ""
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


def scope(study: StudyResults) -> str:
    """The number of points, and how many workloads, chips and planners they combine."""
    points = [row.point for row in study.rows]
    kinds = (
        ("workload", {p.workload for p in points}),
        ("chip", {p.chip for p in points if p.chip}),
        ("packer", {p.packer for p in points if p.packer}),
        ("merger", {p.merge for p in points if p.merge}),
        ("streamer", {p.streamer for p in points if p.streamer}),
        ("cascade setting", {p.cascade for p in points if p.cascade}),
        ("seed", {p.seed for p in points}),
    )
    parts = [plural(len(values), noun) for noun, values in kinds if len(values) > 1 or noun == "workload"]
    parts += [f"{len(values)} values of {name}" for name, values in swept_values(study).items()]
    return f"{plural(len(study.rows), 'point')}: {' by '.join(parts)}."


def listed(names: Sequence[str], most: int = NAMED) -> str:
    """``a, b and c``; of many names the first ones, and how many more."""
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most} others"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _coverage(study: StudyResults) -> str:
    if not study.rows:
        return "No point has an answer yet."
    if len(study.rows) < study.points:
        return f"{count(len(study.rows))} of {plural(study.points, 'point')} have an answer so far."
    return ""


def _failures(study: StudyResults) -> str:
    number = len(study.failed)
    return f"{plural(number, 'point')} failed; the errors are below." if number else ""


def space_words(study: StudyResults) -> str:
    """The plans that bounds on cycles hold for; empty for none. Rows of older code do not say which."""
    bounded = any(row.bound_space is None and row.lower_bound_cycles is not None for row in study.rows)
    return " or ".join((*study.spaces, *(["plans of a kind that its row does not name"] if bounded else [])))


def best_per_case(study: StudyResults, metric: StudyMetric) -> dict[object, float]:
    """The lowest gap of any planner, by case."""
    best: dict[object, float] = {}
    for row in study.rows:
        gap, key = metric.gap(row), compared_case(metric, row)
        if gap is not None:
            best[key] = min(gap, best.get(key, inf))
    return best
