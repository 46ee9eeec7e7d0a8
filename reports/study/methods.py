"""How a study was made, and what may be wrong with it: paragraphs that it writes of itself."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from chipmodel.answers.study_results import CYCLES, PEAK, StudyResults
from chipmodel.answers.study_row import Row
from chipmodel.answers.study_statistics import MOST_EXACT
from reports.study.words import best_per_case, listed, space_words
from reports.template import render_text
from reports.words import count, plural, seconds_text

LOOSE = 1.0
"""The gap above which a bound says little."""


def methods(study: StudyResults) -> list[str]:
    """The paragraphs of methods: cases, planners, bounds, statistics, and where it ran."""
    points = [row.point for row in study.rows]
    networks = [point for point in points if point.chip]
    dates = sorted(row.answered for row in study.rows if row.answered)
    values = {
        "study": study,
        "networks": networks,
        "same_buffers": all(point.buffers == "same" for point in networks),
        "times": sorted({point.time_limit for point in points if point.time_limit is not None}),
        "nodes": sorted({point.node_limit for point in points if point.node_limit is not None}),
        "seeds": len({point.seed for point in points}),
        "spent": _spent(study.rows),
        "PEAK": PEAK,
        "CYCLES": CYCLES,
        "spaces": space_words(study),
        "compared": any(len(study.scores(metric)) > 1 for metric in study.metrics),
        "most_exact": MOST_EXACT,
        "origins": list(dict.fromkeys(row.origin for row in study.rows if row.origin)),
        "days": dict.fromkeys(date[:10] for date in (*dates[:1], *dates[-1:])),
    }
    text = render_text("methods.txt.j2", values, {"count": count})
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def _spent(rows: Iterable[Row]) -> str:
    """The processor time of the median point by what it was spent on; empty where that is not known."""
    stages = ("schedule", "packer", "bound", "simulation")
    seconds_of = {s: [v for r in rows if (v := getattr(r, f"{s}_seconds")) is not None] for s in stages}
    spent = [f"{seconds_text(median(values))} for the {s}" for s, values in seconds_of.items() if values]
    return listed(spent, len(spent)) if spent else ""


def threats(study: StudyResults) -> list[str]:
    """What a reviewer should know before trusting the ranking, a sentence each."""
    rows = study.rows
    machines = len({row.origin.rpartition("; ")[2] for row in rows if row.origin})
    timed = sum(row.point.time_limit is not None for row in rows)
    sentences = [
        *_uncompared(study),
        *_alike(study),
        _number(
            sum(r.status == "does not fit" and bool(r.peak_bytes) for r in rows)
            if PEAK in study.metrics
            else 0,
            "plan does not fit its chip, and counts by peak alone",
            "plans do not fit their chip, and count by peak alone",
        ),
        _number(study.points - len(rows), "point has no answer yet", "points have no answer yet"),
        _number(sum(r.status == "failed" for r in rows), "point failed", "points failed"),
        _number(
            sum(r.status == "impossible" for r in rows),
            "point is impossible by its bytes alone, and counts for no planner",
            "points are impossible by their bytes alone, and count for no planner",
        ),
        _number(
            sum(bool(r.code) and r.code != study.code for r in rows),
            "row is of older code",
            "rows are of older code",
        ),
        f"The rows are of {machines} machines, so seconds are not comparable." if machines > 1 else "",
        f"{plural(timed, 'point')} had a limit in seconds: a faster machine may find better plans."
        if timed
        else "",
        *_loose(study),
        _modelled(study),
    ]
    return [sentence for sentence in sentences if sentence]


def _number(number: int, one: str, many: str) -> str:
    return "" if number <= 0 else f"{count(number)} {one if number == 1 else many}."


def _uncompared(study: StudyResults) -> Iterable[str]:
    for metric in study.metrics:
        ranking = study.rankings[metric.key]
        left = ranking.possible - ranking.cases
        if left:
            of = f"{plural(left, 'case')} of {count(ranking.possible)} {'is' if left == 1 else 'are'}"
            yield f"By {metric.noun}, {of} left out, because some planner has no plan."
        if ranking.unranked:
            names = listed(ranking.unranked)
            yield f"Not ranked by {metric.noun}, with a plan for at most half of the cases: {names}."


def _alike(study: StudyResults) -> Iterable[str]:
    """Several cases of a network are no independent sample, which p-values cannot know."""
    for metric in study.metrics:
        ranking = study.rankings[metric.key]
        networks = {row.point.workload for row in study.rows if metric.gap(row) is not None}
        if len(ranking.scores) > 1 and len(networks) < ranking.cases:
            yield (
                f"The {ranking.cases} cases by {metric.noun} are of {plural(len(networks), 'network')}, and "
                "those of one network are alike: independent cases would have larger p-values."
            )


def _modelled(study: StudyResults) -> str:
    """What is true of every study of networks: on a board, times may differ."""
    chips = list(dict.fromkeys(row.point.chip for row in study.rows if row.total_cycles is not None))
    if CYCLES not in study.metrics or not chips:
        return ""
    return f"Cycles are those of chipmodel's models, not of boards: {listed(chips)}."


def _loose(study: StudyResults) -> Iterable[str]:
    for metric in study.metrics:
        loose = sum(gap > LOOSE for gap in best_per_case(study, metric).values())
        if loose:
            where = f"{plural(loose, 'case')}, whose best plan is over 100% above it"
            yield f"The bound on {metric.noun} says little for {where}."
