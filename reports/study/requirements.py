"""Which designs of a study meet its requirements with every network, the cheapest first."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from chipmodel.answers.design_question import Requirements
from chipmodel.answers.study_results import StudyResults
from chipmodel.answers.study_row import Row
from chipmodel.files.sizes import format_bytes
from chipmodel.records import dataclass
from reports.study.design import Design, axes, columns_of_designs, designs, setting_words
from reports.words import count, microjoules, percent, plural

LISTED = 12
"""Designs in the table."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A design with the plan of each network that is nearest to the requirements."""

    design: Design
    """The one of the first network; settings and costs are those of all."""
    rows: tuple[Row, ...]
    """One for each network that fits, the one that is furthest above the requirements first."""
    missing: tuple[str, ...]
    """Networks without a plan that fits."""
    above: float
    """How far the worst of them is above a requirement, as a share of it: at most 0 where all are met."""

    @property
    def meets(self) -> bool:
        """Whether every network keeps to every requirement."""
        return not self.missing and self.above <= 0


def candidates(study: StudyResults) -> tuple[Candidate, ...]:
    """The designs that have rows of all networks: those that meet the requirements first, the cheapest before
    the others and the faster before those that cost the same; then the rest, the nearest first."""
    groups: dict[tuple[tuple[str, str], ...], list[Design]] = {}
    for design in (each for each in designs(study) if not each.failed):
        groups.setdefault(design.settings, []).append(design)
    networks = len({design.workload for group in groups.values() for design in group})
    complete = [_candidate(study.requirements, group) for group in groups.values() if len(group) == networks]
    return tuple(sorted(complete, key=lambda c: (*_distance(c), c.design.cheapness, c.above)))


def _distance(candidate: Candidate) -> tuple[bool, int, float]:
    """How far it is from the requirements: the same for all that meet them."""
    return (False, 0, 0.0) if candidate.meets else (True, len(candidate.missing), candidate.above)


def _candidate(asked: Requirements, group: Sequence[Design]) -> Candidate:
    best = [min(design.rows, key=lambda row: _above(asked, row)) for design in group if design.rows]
    best.sort(key=lambda row: _above(asked, row), reverse=True)
    missing = tuple(design.workload for design in group if not design.rows)
    return Candidate(group[0], tuple(best), missing, _above(asked, best[0]) if best else inf)


def _above(asked: Requirements, row: Row) -> float:
    """How far a plan is above the requirement that it is furthest above, as a share of that."""
    return max(value / limit - 1 if limit else value for value, limit in _figures(asked, row))


def _figures(asked: Requirements, row: Row) -> list[tuple[float, float]]:
    """What is required of a plan that fits: its value, and the most that it may be."""
    figures: list[tuple[float, float]] = []
    if asked.milliseconds is not None and row.milliseconds is not None:
        figures.append((row.milliseconds, asked.milliseconds))
    if asked.microjoules is not None:
        figures.append((inf if row.microjoules is None else row.microjoules, asked.microjoules))
    if asked.peak_bytes is not None and row.peak_bytes is not None:
        figures.append((row.peak_bytes, asked.peak_bytes))
    return figures


def requirement_words(study: StudyResults) -> str:
    """How many designs meet the requirements and the cheapest of them, or the nearest where none does."""
    if not study.requirements:
        return ""
    ranked = candidates(study)
    if not ranked:
        return "No design has rows of all networks yet."
    meet = sum(each.meets for each in ranked)
    first, asked = ranked[0], _asked_words(study.requirements)
    if not meet:
        one = (
            "The only design does not meet" if len(ranked) == 1 else f"None of {len(ranked):,} designs meets"
        )
        return f"{one} {asked}; the nearest is {_named(first)}: {_shortfall(study.requirements, first)}."
    verb = "meets" if meet == 1 else "meet"
    what = f"{meet:,} of {plural(len(ranked), 'design')} {verb} {asked} with every network"
    return f"{what}; the cheapest is {_named(first)}: {_reached(first)}."


def _asked_words(asked: Requirements) -> str:
    parts = [] if asked.milliseconds is None else [f"{asked.milliseconds:g} ms"]
    parts += [] if asked.microjoules is None else [f"{asked.microjoules:g} µJ"]
    parts += [] if asked.peak_bytes is None else [f"a peak of {format_bytes(asked.peak_bytes)}"]
    return ", ".join(parts[:-1]) + " and " * bool(parts[1:]) + parts[-1]


def _named(candidate: Candidate) -> str:
    """A design by its settings, its cost first."""
    costs = [f"{name} {value:.4g}" for name, value in candidate.design.costs]
    return ", ".join((*costs, setting_words(candidate.design))) or "the chip"


def _shortfall(asked: Requirements, candidate: Candidate) -> str:
    if candidate.missing:
        return f"{', '.join(candidate.missing)} {'does' if len(candidate.missing) == 1 else 'do'} not fit"
    return f"{_reached(candidate)}, {percent(candidate.above)} above what is required"


def _reached(candidate: Candidate) -> str:
    """The network that decides, with its figures."""
    row = candidate.rows[0]
    energy = "" if row.microjoules is None else f", {microjoules(row.microjoules)} µJ"
    time, peak = f"{row.milliseconds:,.3f} ms", format_bytes(row.peak_bytes or 0)
    return f"{row.point.workload} takes {time}{energy} and {peak}"


def design_heads(study: StudyResults) -> tuple[str, ...]:
    """The heads of the table of designs: settings, costs, the network that decides, its figures."""
    return (*axes(study), *columns_of_designs(study), "network", ">ms", ">peak", "against the requirement")


def design_rows(study: StudyResults) -> list[tuple[str, ...]]:
    """The first ``LISTED`` designs under ``design_heads``."""
    names = (*axes(study), *columns_of_designs(study))
    first = candidates(study)[:LISTED]
    return [(*(each.design.value(name) for name in names), *_decisive(each)) for each in first]


def _decisive(candidate: Candidate) -> tuple[str, str, str, str]:
    if candidate.missing:
        return candidate.missing[0], "", "", "does not fit"
    row = candidate.rows[0]
    word = "below" if candidate.above <= 0 else "above"
    share = "equal" if candidate.above == 0 else f"{percent(abs(candidate.above))} {word}"
    return row.point.workload, f"{row.milliseconds:,.3f}", f"{count(row.peak_bytes or 0)} B", share
