"""What each step of a varied field brings: designs that are equal in all else, compared pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from chipmodel.answers.study_results import StudyResults
from chipmodel.records import dataclass
from reports.study.design import CHIP, Design, axes, designs, number
from reports.words import count, signed_percent

FLAT = 0.05
"""The change of latency up to which a chart would show a flat line, so that the figures stand alone."""


@dataclass(frozen=True, slots=True)
class FieldStep:
    """One step of a field, with the change of each pair's latency as a share of the first's."""

    name: str
    before: str
    after: str
    changes: tuple[float, ...]
    """Sorted; negative where the second is faster. Only of pairs that both fit."""
    fits: int
    """Pairs of which only the second fits, less those of which only the first does."""


def field_steps(study: StudyResults, swept: Sequence[Design] | None = None) -> tuple[FieldStep, ...]:
    """The steps of every varied field between neighbouring values: numbers by size, words in order."""
    known = designs(study) if swept is None else swept
    return tuple(step for name in axes(study) if name != CHIP for step in _steps(name, known))


def _steps(name: str, swept: Sequence[Design]) -> list[FieldStep]:
    by_value: dict[str, dict[object, Design]] = {}
    for design in swept:
        others = tuple(setting for setting in design.settings if setting[0] != name)
        if design.value(name):
            by_value.setdefault(design.value(name), {})[design.workload, others] = design
    values = list(by_value)
    if all(number(name, value) is not None for value in values):
        values.sort(key=lambda value: number(name, value) or 0.0)
    return [_step(name, (a, by_value[a]), (b, by_value[b])) for a, b in pairwise(values)]


def _step(
    name: str, first: tuple[str, dict[object, Design]], second: tuple[str, dict[object, Design]]
) -> FieldStep:
    both = [(design, second[1][key]) for key, design in first[1].items() if key in second[1]]
    pairs = [(a, b) for a, b in both if not a.failed and not b.failed]
    changes = sorted(b.milliseconds / a.milliseconds - 1 for a, b in pairs if a.row and b.row)
    return FieldStep(
        name, first[0], second[0], tuple(changes), sum(bool(b.row) - bool(a.row) for a, b in pairs)
    )


def is_flat(name: str, steps: Sequence[FieldStep]) -> bool:
    """Whether no step of the field, a number, changes any latency by more than ``FLAT``."""
    own = [step for step in steps if step.name == name]
    steady = all(abs(change) <= FLAT for step in own for change in step.changes)
    return steady and any(step.changes for step in own) and not any(step.fits for step in own)


STEP_HEADS = ("field", "step", ">median change", ">least", ">most", ">pairs", ">more fit")


def step_rows(steps: Sequence[FieldStep]) -> list[tuple[str, ...]]:
    """The steps under ``STEP_HEADS``."""
    return [
        (
            step.name,
            f"{step.before} to {step.after}",
            *(signed_percent(change) for change in _spread(step.changes)),
            count(len(step.changes)),
            f"{step.fits:+}" if step.fits else "",
        )
        for step in steps
        if step.changes or step.fits
    ]


def _spread(changes: Sequence[float]) -> tuple[float | None, ...]:
    return (median(changes), changes[0], changes[-1]) if changes else (None, None, None)
