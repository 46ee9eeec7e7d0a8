"""The answer of a study in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from chipmodel.answers.study_results import (
    CYCLES,
    PEAK,
    PlannerScore,
    StudyMetric,
    StudyResults,
    case,
    swept_values,
)
from reports.study.design import design_words
from reports.words import count, percent, plural, seconds_text

NAMED = 3
"""Planners that are named where several are equally good."""


def answer(study: StudyResults) -> list[str]:
    """The answer: how much of the study is done, and how close each planner is to the best bounds."""
    sentences = [_coverage(study), design_words(study)]
    for metric in study.metrics:
        scores = study.scores(metric)
        aside = "By peak, " if metric is not study.metrics[0] else ""
        words = aside + _peak_words(scores) if metric is PEAK else _cycle_words(scores, space_words(study))
        sentences.append(words[0].upper() + words[1:] if words.startswith("none") else words)
    return [sentence for sentence in (*sentences, _failures(study)) if sentence]


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


def gap_words(gap: float) -> str:
    """A gap in percent; ``no plan`` where it is infinite."""
    return "no plan" if gap == inf else percent(gap)


def listed(names: Sequence[str]) -> str:
    """``a, b and c``; of many names the first ones, and how many more."""
    if len(names) > NAMED + 1:
        return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} others"
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


def _peak_words(scores: Sequence[PlannerScore]) -> str:
    most = max(s.proven for s in scores)
    if not most:
        return f"none is proven optimal; {_nearest(scores[0])}."
    leaders = [s for s in scores if s.proven == most]
    rest = [s for s in scores if s.proven < most]
    verb = "is" if len(leaders) == 1 else "are each"
    names = listed([s.planner for s in leaders])
    first = f"{names} {verb} proven optimal on {_of(most, leaders)}"
    if not rest:
        return f"{first}{_fastest(leaders)}."
    best = rest[0]
    others = f"the best of the other {len(rest)}, {best.planner}," if len(rest) > 1 else best.planner
    return f"{first}{_fastest(leaders)}; {others} {_how_near(best)}."


def _of(number: int, scores: Sequence[PlannerScore]) -> str:
    totals = {len(s.rows) for s in scores}
    if len(totals) > 1:
        return f"{count(number)} points"
    total = totals.pop()
    return f"all {count(total)}" if number == total > 1 else f"{count(number)} of {count(total)}"


def _fastest(scores: Sequence[PlannerScore]) -> str:
    if len(scores) == 1:
        return ""
    best = min(scores, key=lambda s: (s.seconds, s.planner))
    return f" ({best.planner} is the fastest: {seconds_text(best.seconds)} in the median)"


def _how_near(score: PlannerScore) -> str:
    if score.median == inf:
        return "has no plan for most points"
    if score.median <= 0:
        at_bound = f"reaches the bound on {count(score.at_bound)} of {count(score.counted)}"
        return at_bound if score.worst <= 0 else f"{at_bound} and is {percent(score.worst)} above it at worst"
    return f"is within {percent(score.median)} of the bound in the median, {percent(score.worst)} at worst"


def _nearest(score: PlannerScore) -> str:
    return f"the closest, {score.planner}, {_how_near(score)}"


def space_words(study: StudyResults) -> str:
    """The plans that the bounds on cycles hold for; empty where there are none."""
    return " or ".join(study.spaces)


def _cycle_words(scores: Sequence[PlannerScore], space: str) -> str:
    """The planners with the lowest median gap to the bound for ``space``, and the best of the others."""
    best = gap_words(scores[0].median)
    first = [s.planner for s in scores if gap_words(s.median) == best]
    rest = [s for s in scores if gap_words(s.median) != best]
    if scores[0].median == inf:
        return "By cycles, no planner has a plan for most points."
    many = f"{len(first)} of {len(scores)} planners" if len(first) > NAMED else listed(first)
    who = f"all {len(scores)} planners" if len(first) == len(scores) > 1 else many
    above = "at" if scores[0].median <= 0 else f"{best} above"
    words = f"By cycles, {who} {'is' if len(first) == 1 else 'are'} {above} the bound for {space} (median)"
    return f"{words}; the next, {rest[0].planner}, {gap_words(rest[0].median)}." if rest else f"{words}."


def best_per_case(study: StudyResults, metric: StudyMetric) -> dict[tuple[object, ...], float]:
    """The lowest gap of any planner, by case."""
    best: dict[tuple[object, ...], float] = {}
    for row in study.rows:
        gap = metric.gap(row)
        if gap is not None:
            best[case(row)] = min(gap, best.get(case(row), inf))
    return best


def best_words(study: StudyResults) -> str:
    """How many cases have a plan at the lower bound, of how many."""
    best = best_per_case(study, PEAK if PEAK in study.metrics else CYCLES)
    at_bound = sum(gap <= 0 for gap in best.values())
    return f"{count(at_bound)} of {count(len(best))}"
