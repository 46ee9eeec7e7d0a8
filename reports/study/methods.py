"""How a study was made, and what may be wrong with it: paragraphs that it writes of itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from statistics import median

from chipmodel.answers.study_results import CYCLES, PEAK, StudyResults
from chipmodel.answers.study_row import Row
from chipmodel.answers.study_statistics import MOST_EXACT
from reports.study.words import best_per_case, listed, space_words
from reports.words import count, plural, seconds_text

LOOSE = 1.0
"""The gap above which a bound says little."""


def methods(study: StudyResults) -> list[str]:
    """The paragraphs of methods: cases, planners, bounds, statistics, and where it ran."""
    networks = [row for row in study.rows if row.point.chip]
    parts = [_cases(networks), _limits(study), _bounds(study), _statistics(study), _origins(study)]
    return [part for part in parts if part]


def _cases(networks: list[Row]) -> str:
    if not networks:
        return "A case is a packing problem; every packer looks for its smallest peak, whatever the capacity."
    words = (
        "A case is a network on a chip with its memory; every plan is simulated cycle by cycle. "
        "Streamers are compared on one case by cycles. "
    )
    if all(row.point.buffers == "same" for row in networks):
        return words + (
            "Packers are compared by the peak on the same buffers: those of the one schedule that each "
            "streamer makes with packer auto, whatever the capacity. Equal buffers are one case."
        )
    return words + (
        "Each packer has its own rounds of scheduling, so packers are compared by the peak only if they "
        "packed the same buffers."
    )


def _limits(study: StudyResults) -> str:
    points = [row.point for row in study.rows]
    seeds = len({point.seed for point in points})
    times = sorted({p.time_limit for p in points if p.time_limit is not None})
    nodes = sorted({p.node_limit for p in points if p.node_limit is not None})
    parts = [f"A point may take {each:g} s, without bound and simulation." for each in times]
    parts += [f"A search ends after {count(each)} nodes." for each in nodes]
    if seeds > 1:
        parts.append(
            f"Planners that search have {seeds} seeds, and a case counts their median; others count once."
        )
    stages = ("schedule", "packer", "bound", "simulation")
    found = {s: [v for r in study.rows if (v := getattr(r, f"{s}_seconds")) is not None] for s in stages}
    spent = [f"{seconds_text(median(values))} for the {s}" for s, values in found.items() if values]
    if spent:
        parts.append(f"Processor time of the median point: {listed(spent, len(spent))}.")
    return " ".join(parts)


def _bounds(study: StudyResults) -> str:
    parts = [
        "A gap is (value - bound) / bound. All rows of a question share the highest bound that one proved."
    ]
    if PEAK in study.metrics:
        parts.append(
            "No packing of the buffers has a peak below its bound, and optimal means that a plan meets it."
        )
    if CYCLES in study.metrics:
        parts.append(
            f"No plan on the chip is faster than the bound on cycles, which holds for {space_words(study)}."
        )
    return " ".join(parts)


def _statistics(study: StudyResults) -> str:
    if not any(len(study.scores(metric)) > 1 for metric in study.metrics):
        return ""
    return (
        "Planners are ranked by the median gap over the cases that all of them answered. p is of Wilcoxon's "
        "signed-rank test of the gaps against the first planner, two-sided, exact up to "
        f"{MOST_EXACT} cases, with Holm's correction; the performance profile is that of Dolan and Moré 2002."
    )


def _origins(study: StudyResults) -> str:
    found = dict.fromkeys(row.origin for row in study.rows if row.origin)
    dates = sorted(row.answered for row in study.rows if row.answered)
    if not found:
        return ""
    days = dict.fromkeys((dates[0][:10], dates[-1][:10]))
    return f"Answered {' to '.join(days)} by {'; and by '.join(found)}."


def threats(study: StudyResults) -> list[str]:
    """What a reviewer should know before trusting the ranking, a sentence each."""
    rows = study.rows
    found = [
        *_uncompared(study),
        *_alike(study),
        _too_large(study),
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
        _machines(rows),
        _timed(rows),
        *_loose(study),
        _modelled(study),
    ]
    return [sentence for sentence in found if sentence]


def _number(number: int, one: str, many: str) -> str:
    return "" if number <= 0 else f"{count(number)} {one if number == 1 else many}."


def _uncompared(study: StudyResults) -> Iterable[str]:
    for metric in study.metrics:
        found = study.rankings[metric.key]
        left = found.possible - found.cases
        if left:
            of = f"{plural(left, 'case')} of {count(found.possible)} {'is' if left == 1 else 'are'}"
            yield f"By {metric.noun}, {of} left out, because some planner has no plan."
        if found.unranked:
            names = listed(found.unranked)
            yield f"Not ranked by {metric.noun}, with a plan for at most half of the cases: {names}."


def _alike(study: StudyResults) -> Iterable[str]:
    """Several cases of a network are no independent sample, which p-values cannot know."""
    for metric in study.metrics:
        found = study.rankings[metric.key]
        networks = {row.point.workload for row in study.rows if metric.gap(row) is not None}
        if len(found.scores) > 1 and len(networks) < found.cases:
            yield (
                f"The {found.cases} cases by {metric.noun} are of {plural(len(networks), 'network')}, and "
                "those of one network are alike: independent cases would have larger p-values."
            )


def _too_large(study: StudyResults) -> str:
    """Plans that are compared though they are of no use on the chip."""
    found = Counter(r.point.packer for r in study.rows if r.status == "does not fit" and r.peak_bytes)
    if not found or PEAK not in study.metrics:
        return ""
    packers = listed([f"{number} of {packer}" for packer, number in found.most_common()], len(found))
    verb = "does not fit its chip, and counts" if found.total() == 1 else "do not fit their chip, and count"
    return f"{plural(found.total(), 'plan')} {verb} by peak alone: {packers}."


def _machines(rows: Iterable[Row]) -> str:
    machines = {row.origin.rpartition("; ")[2] for row in rows if row.origin}
    return (
        f"The rows are of {len(machines)} machines, so seconds are not comparable."
        if len(machines) > 1
        else ""
    )


def _timed(rows: Iterable[Row]) -> str:
    timed = sum(row.point.time_limit is not None for row in rows)
    return (
        f"{plural(timed, 'point')} had a limit in seconds: a faster machine may find better plans."
        if timed
        else ""
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
