"""The rows of a study as a sortable table, and the figures of each for its own view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from shlex import quote
from typing import Any

from chipmodel.answers.study_results import (
    CYCLES,
    KEY_DIGITS,
    PEAK,
    StudyResults,
    case,
    limit_text,
    swept_values,
    varied,
)
from chipmodel.answers.study_row import Row
from chipmodel.records import dataclass
from reports.study.scores import mergers_lose
from reports.study.words import space_words
from reports.words import count, exact_size, microjoules, percent, seconds_text

Value = int | float | str | None
MOST_FIELDS = 4
"""Varied fields that have a column each; more share one column."""


@dataclass(frozen=True, slots=True)
class StudyColumn:
    """A column: the text of a cell, and the value to sort by, None last."""

    key: str
    label: str
    text: Callable[[Row], str]
    value: Callable[[Row], Value]
    numeric: bool = True


def columns(study: StudyResults) -> list[StudyColumn]:
    """The settings that vary between points, and the results."""
    points = [row.point for row in study.rows]
    fixed = [_word("workload", lambda r: r.point.workload)]
    fixed += [_word(name, _point_text(name)) for name in varied(points, "chip")]
    fixed += _settings(study)
    names = varied(points, "packer", "merge", "streamer", "cascade")
    fixed += [_word(name, _point_text(name)) for name in names or ["packer"]]
    if len({point.seed for point in points}) > 1:
        fixed.append(StudyColumn("seed", "seed", lambda r: str(r.point.seed), lambda r: r.point.seed))
    time = _number("seconds", "time", lambda r: r.seconds, seconds_text)
    return [*fixed, _word("status", lambda r: r.status), *_peaks(study), *_cycles(study), time]


def _word(key: str, text: Callable[[Row], str]) -> StudyColumn:
    return StudyColumn(key, key, text, text, numeric=False)


def _point_text(name: str) -> Callable[[Row], str]:
    return lambda row: str(getattr(row.point, name))


def _settings(study: StudyResults) -> list[StudyColumn]:
    names = list(swept_values(study))
    if len(names) > MOST_FIELDS:
        return [_word("settings", lambda r: ", ".join(f"{n} {v}" for n, v in r.point.overrides))]
    return [_word(name, _override(name)) for name in names]


def _override(name: str) -> Callable[[Row], str]:
    return lambda row: dict(row.point.overrides).get(name, "")


def _number(
    key: str, label: str, value: Callable[[Row], float | None], text: Callable[[Any], str] = count
) -> StudyColumn:
    return StudyColumn(key, label, lambda r: _shown(value(r), text), value)


def _shown(value: float | None, text: Callable[[Any], str]) -> str:
    """The ``text`` of a value; nothing where it is not known."""
    return "" if value is None else text(value)


def _peaks(study: StudyResults) -> list[StudyColumn]:
    figures = [
        _number("peak", "peak B", lambda r: r.peak_bytes),
        _number("peak bound", "bound B", lambda r: PEAK.bound(r)),
        _number("peak gap", "peak gap", lambda r: PEAK.gap(r), percent),
    ]
    if mergers_lose(study.rows):
        figures.append(_number("merger bound", "merger's bound B", lambda r: r.merger_lower_bound_bytes))
        figures.append(_number("packer gap", "packer's gap", lambda r: r.packer_gap, percent))
    return figures


def _cycles(study: StudyResults) -> list[StudyColumn]:
    if all(row.total_cycles is None for row in study.rows):
        return []
    return [
        _number("cycles", "cycles", lambda r: r.total_cycles),
        _number("cycle bound", f"bound for {space_words(study)}", lambda r: CYCLES.bound(r)),
        _number("cycle gap", "cycles gap", lambda r: CYCLES.gap(r), percent),
        _number("ms", "ms", lambda r: r.milliseconds, "{:,.3f}".format),
        *([_number("uj", "µJ", lambda r: r.microjoules, microjoules)] if has_energy(study) else []),
    ]


def has_energy(study: StudyResults) -> bool:
    """Whether the energy of any run is known."""
    return any(row.microjoules is not None for row in study.rows)


def table(study: StudyResults) -> dict[str, object]:
    """All cells for the script: texts by row, numeric values by column."""
    made = columns(study)
    return {
        "columns": [[column.key, column.label, column.numeric] for column in made],
        "cells": [[column.text(row) for column in made] for row in study.rows],
        "values": [[column.value(row) for row in study.rows] if column.numeric else None for column in made],
    }


def details(study: StudyResults) -> list[dict[str, object]]:
    """What the view of each row shows."""
    cases: dict[tuple[object, ...], int] = {}
    return [
        {
            "key": row.key,
            "case": cases.setdefault(case(row), len(cases)),
            "facts": list(facts(study, row).items()),
            "command": f"chipmodel study {quote(study.file or study.name)} --only {row.key[:KEY_DIGITS]}",
            **({"error": row.error} if row.error else {}),
            **({"page": page} if (page := study.pages.get(row.key)) else {}),
            **({"steps": steps} if (steps := _steps(row)) else {}),
        }
        for row in study.rows
    ]


def facts(study: StudyResults, row: Row) -> Mapping[str, str]:
    """All figures of a row, with units."""
    point = row.point
    texts = {
        "Workload": point.workload,
        "Chip": point.chip,
        **dict(point.overrides),
        "Packer": point.packer,
        "Merger": point.merge,
        "Streamer": point.streamer,
        "Cascades": point.cascade,
        "Seed": str(point.seed),
        "Limits": limit_text(point),
        "Status": row.status + _of_its_merger(row),
        "Peak": _bytes(row.peak_bytes),
        "Own lower bound": _bytes(row.peak_lower_bound_bytes),
        "Best lower bound": _bytes(PEAK.bound(row)),
        "Peak gap": _shown(PEAK.gap(row), percent),
        **(_losses(row) if mergers_lose([row]) else {}),
        "Capacity": _bytes(row.capacity_bytes),
        "Psram used": _bytes(row.psram_bytes),
        "Psram capacity": _bytes(row.psram_capacity_bytes),
        "Fits": _fits(row),
        "Run time": _shown(row.milliseconds, "{:,.3f} ms".format),
        "Energy": _shown(row.microjoules, lambda energy: f"{microjoules(energy)} µJ"),
        "Cycles": _clocks(row.total_cycles),
        "Cycle bound": _bound(study, row),
        "Cycle gap": _shown(CYCLES.gap(row), percent),
        "With streamer sync": _clocks(row.sync_cycles),
        "NPU busy": _busy(row.npu_busy_cycles, row.total_cycles),
        "DMA busy": _busy(row.dma_busy_cycles, row.total_cycles),
        **{
            f"{stage.capitalize()} time": _shown(getattr(row, f"{stage}_seconds"), seconds_text)
            for stage in STAGES
        },
        "Answered": row.answered,
        "By": row.origin,
        "Code": f"older: {row.code}" if row.code and row.code != study.code else row.code,
        "Key": row.key,
    }
    return {label: text for label, text in texts.items() if text}


STAGES = ("schedule", "packer", "bound", "simulation")
"""What a point's processor time is told of."""


def _of_its_merger(row: Row) -> str:
    """Say that no plan of the merger has a lower peak, though another merger's may."""
    least = row.status == "feasible" and row.packer_gap == 0
    return f": the smallest peak of merger {row.point.merge}" if least else ""


def _losses(row: Row) -> Mapping[str, str]:
    """What of the peak's gap is the merger's, and what its packer's."""
    least = f"{_bytes(row.merger_lower_bound_bytes)}, {_shown(row.merger_gap, percent)} above the best bound"
    return {"Merger's own bound": least, "Packer's gap": _shown(row.packer_gap, percent)}


def _bound(study: StudyResults, row: Row) -> str:
    words = _clocks(CYCLES.bound(row))
    return f"{words}, for {row.bound_space}" if words and row.bound_space else words


def _fits(row: Row) -> str:
    if row.peak_bytes is None:
        return ""
    return "yes" if row.fits else f"no: {row.error}" if row.error else "no"


def _bytes(value: int | None) -> str:
    return _shown(value, exact_size)


def _clocks(value: int | None) -> str:
    return "" if value is None else f"{count(value)} cycles"


def _busy(value: int | None, total: int | None) -> str:
    return _clocks(value) + (f", {percent(value / total)} of the run" if value is not None and total else "")


def _steps(row: Row) -> list[list[str]]:
    """The planner's intermediate results: time, best peak and bound."""
    return [
        [seconds_text(step.seconds), _bytes(step.peak_bytes) or "no plan", _bytes(step.lower_bound_bytes)]
        for step in row.trajectory
    ]
