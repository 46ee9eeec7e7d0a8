"""The planners of a study as a table: over common cases, with what a reviewer asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median

from chipmodel.answers.study_results import PEAK, StudyMetric, StudyResults
from chipmodel.answers.study_row import Row
from chipmodel.answers.study_statistics import PlannerScore
from reports.page_parts import PageTable
from reports.study.words import p_words
from reports.words import count, percent, plural, seconds_text

TERMINAL_HEADS = ("median gap", "worst", "best of all", "p", "time")
"""The columns that 80 characters have room for."""


def score_cells(score: PlannerScore) -> Mapping[str, str]:
    """A planner's figures by the heads of their columns."""
    low, high = score.quartiles
    ties = f" + {count(score.ties)} tied" if score.ties else ""
    return {
        "median gap": percent(score.median),
        "quartiles": f"{percent(low)} to {percent(high)}",
        "worst": percent(score.worst),
        "at bound": count(score.at_bound),
        "best of all": f"{count(score.wins)}{ties}",
        "p": p_words(score.p_value).removeprefix("p ").removeprefix("= "),
        "seeds apart": "" if score.spread is None else percent(score.spread),
        "no plan": count(score.without) if score.without else "",
        "time": seconds_text(score.seconds),
    }


def mergers_lose(rows: Iterable[Row]) -> bool:
    """Whether a merger is known to have no plan at the bound of its buffers."""
    return any(row.merger_gap for row in rows)


def loss_cells(score: PlannerScore) -> Mapping[str, str]:
    """What a planner's merger loses, and what its packer, over its rows whose merger's bound is known."""
    merger, packer, least = _losses(score)
    texts = ("" if loss is None else percent(loss) for loss in (merger, packer))
    return dict(zip(LOSS_HEADS, (*texts, count(least) if least else ""), strict=True))


LOSS_HEADS = ("merger's loss", "packer's loss", "merger's least")
"""Medians of ``Row.merger_gap`` and ``Row.packer_gap``, and the peaks at the merger's own bound."""


def _losses(score: PlannerScore) -> tuple[float | None, float | None, int]:
    pairs = [(row.merger_gap, row.packer_gap) for row in score.rows]
    known = [(m, p) for m, p in pairs if m is not None and p is not None]
    if not known:
        return None, None, 0
    return median(m for m, _ in known), median(p for _, p in known), sum(p == 0 for _, p in known)


def score_table(study: StudyResults, metric: StudyMetric) -> PageTable:
    """The planners over common cases, with the columns in which any has something."""
    scores, ranking = study.scores(metric), study.rankings[metric.key]
    split = metric is PEAK and any(mergers_lose(score.rows) for score in scores)
    cells = [{**score_cells(score), **(loss_cells(score) if split else {})} for score in scores]
    heads = [head for head in cells[0] if any(cell[head] for cell in cells)]
    return PageTable(
        f"{metric.key}-planners",
        f"{'Peaks' if metric is PEAK else 'Cycles'} over {plural(ranking.cases, 'case')} that all planners "
        "answered",
        ("planner", *(f">{head}" for head in heads)),
        [(s.planner, *(c[head] for head in heads)) for s, c in zip(scores, cells, strict=True)],
        wide=tuple(f">{head}" for head in heads if head not in TERMINAL_HEADS),
    )


def statistics_table(
    study: StudyResults,
) -> tuple[tuple[str, ...], list[tuple[str | int | float | None, ...]]]:
    """The columns and rows of ``report --statistics``."""
    rows = [_line(metric, study, score) for metric in study.metrics for score in study.scores(metric)]
    return tuple(_STATISTICS), rows


_STATISTICS = (
    *(
        "metric",
        "planner",
        "cases",
        "possible_cases",
        "median_gap",
        "lower_quartile_gap",
        "upper_quartile_gap",
    ),
    *("mean_gap", "worst_gap", "at_bound", "wins", "ties", "without_plan", "seed_spread", "p_value_holm"),
    *("median_seconds", "median_merger_gap", "median_packer_gap", "at_merger_bound"),
)


def _line(
    metric: StudyMetric, study: StudyResults, score: PlannerScore
) -> tuple[str | int | float | None, ...]:
    ranking = study.rankings[metric.key]
    gaps = score.median, *score.quartiles, score.mean, score.worst
    counts = score.at_bound, score.wins, score.ties, score.without
    last = score.spread, score.p_value, score.seconds
    losses = _losses(score) if metric is PEAK else (None, None, None)
    return metric.key, score.planner, ranking.cases, ranking.possible, *gaps, *counts, *last, *losses
