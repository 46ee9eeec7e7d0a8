"""A study's answer in sentences, made of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from reports.compare.rows import seconds_text
from reports.study.data import CYCLES, PEAK, Metric, Standing, Study, case, swept_values
from reports.study.design import design_words
from reports.words import count, percent

NAMED = 3
"""Planners that are named where several are equally good."""


def answer(study: Study) -> list[str]:
    """What is known of what was asked: how far the study is, and who is how close to the best bounds."""
    sentences = [_coverage(study), design_words(study)]
    for metric in study.metrics:
        standings = study.standings(metric)
        aside = "By peak, " if metric is not study.metrics[0] else ""
        words = aside + _peak_words(standings) if metric is PEAK else _cycle_words(standings)
        sentences.append(words[0].upper() + words[1:] if words.startswith("none") else words)
    return [sentence for sentence in (*sentences, _failures(study)) if sentence]


def asked(study: Study) -> str:
    """What the points are a product of, in a sentence."""
    points = [row.point for row in study.rows]
    kinds = (
        ("workload", {p.workload for p in points}),
        ("chip", {p.chip for p in points if p.chip}),
        ("packer", {p.packer for p in points if p.packer}),
        ("merger", {p.merge for p in points if p.merge}),
        ("streamer", {p.streamer for p in points if p.streamer}),
        ("seed", {p.seed for p in points}),
    )
    parts = [_many(len(values), noun) for noun, values in kinds if len(values) > 1 or noun == "workload"]
    parts += [f"{len(values)} values of {name}" for name, values in swept_values(study).items()]
    return f"{_many(len(study.rows), 'point')}: {' by '.join(parts)}."


def gap_words(gap: float) -> str:
    """A gap as reports print it; infinite where there is no plan."""
    return "no plan" if gap == inf else percent(gap)


def listed(names: Sequence[str]) -> str:
    """``a, b and c``; of many names the first, and how many more."""
    if len(names) > NAMED + 1:
        return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} others"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _many(number: int, noun: str) -> str:
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def _coverage(study: Study) -> str:
    if not study.rows:
        return "No point is answered yet."
    if len(study.rows) < study.points:
        return f"{count(len(study.rows))} of {_many(study.points, 'point')} are answered so far."
    return ""


def _failures(study: Study) -> str:
    number = len(study.failed)
    return f"{_many(number, 'point')} failed; the errors are below." if number else ""


def _peak_words(standings: Sequence[Standing]) -> str:
    most = max(s.proven for s in standings)
    if not most:
        return f"none is proven optimal; {_nearest(standings[0])}."
    leaders = [s for s in standings if s.proven == most]
    rest = [s for s in standings if s.proven < most]
    verb = "is" if len(leaders) == 1 else "are each"
    names = listed([s.planner for s in leaders])
    first = f"{names} {verb} proven optimal on {_of(most, leaders)}"
    if not rest:
        return f"{first}{_quickest(leaders)}."
    best = rest[0]
    others = f"the best of the other {len(rest)}, {best.planner}," if len(rest) > 1 else best.planner
    return f"{first}{_quickest(leaders)}; {others} {_how_near(best)}."


def _of(number: int, standings: Sequence[Standing]) -> str:
    totals = {len(s.rows) for s in standings}
    if len(totals) > 1:
        return f"{count(number)} points"
    total = totals.pop()
    return f"all {count(total)}" if number == total > 1 else f"{count(number)} of {count(total)}"


def _quickest(standings: Sequence[Standing]) -> str:
    if len(standings) == 1:
        return ""
    best = min(standings, key=lambda s: (s.seconds, s.planner))
    return f" ({best.planner} is the quickest: {seconds_text(best.seconds)} at the median)"


def _how_near(standing: Standing) -> str:
    if standing.median == inf:
        return "has no plan for most points"
    if standing.median <= 0:
        met = f"meets the bound on {count(standing.at_bound)} of {count(standing.counted)}"
        return met if standing.worst <= 0 else f"{met} and is {percent(standing.worst)} above it at worst"
    return (
        f"is within {percent(standing.median)} of the bound at the median, {percent(standing.worst)} at worst"
    )


def _nearest(standing: Standing) -> str:
    return f"the nearest, {standing.planner}, {_how_near(standing)}"


def _cycle_words(standings: Sequence[Standing]) -> str:
    """The lowest median, of whom it is, and the next that reads differently."""
    best = gap_words(standings[0].median)
    first = [s.planner for s in standings if gap_words(s.median) == best]
    rest = [s for s in standings if gap_words(s.median) != best]
    if standings[0].median == inf:
        return "In cycles no planner has a plan for most points."
    many = f"{len(first)} of {len(standings)} planners" if len(first) > NAMED else listed(first)
    who = f"all {len(standings)} planners" if len(first) == len(standings) > 1 else many
    above = "at" if standings[0].median <= 0 else f"{best} above"
    words = (
        f"In cycles {who} {'is' if len(first) == 1 else 'are'} {above} the bound for any plan at the median"
    )
    return f"{words}; the next, {rest[0].planner}, {gap_words(rest[0].median)}." if rest else f"{words}."


def best_per_case(study: Study, metric: Metric) -> dict[tuple[object, ...], float]:
    """The lowest gap of any planner, per question."""
    best: dict[tuple[object, ...], float] = {}
    for row in study.rows:
        gap = study.gap(metric, row)
        if gap is not None:
            best[case(row)] = min(gap, best.get(case(row), inf))
    return best


def best_words(study: Study) -> str:
    """How many questions some planner answered with a plan that no other can beat."""
    best = best_per_case(study, PEAK if PEAK in study.metrics else CYCLES)
    met = sum(gap <= 0 for gap in best.values())
    return f"{count(met)} of {count(len(best))}"
