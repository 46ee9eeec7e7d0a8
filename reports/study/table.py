"""The rows of a study as a sortable table, and the figures of each for its own view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from shlex import quote

from chipmodel.answers.study_results import CYCLES, PEAK, StudyResults, case, limit_text, swept_values, varied
from chipmodel.answers.study_row import Row
from reports.study.scores import mergers_lose
from reports.study.words import space_words
from reports.words import count, microjoules, percent, seconds_text, size

Value = int | float | str | None
SHORT_KEY = 16
"""Digits of a key that name its point."""
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
    return [*fixed, _word("status", lambda r: r.status), *_peaks(study), *_cycles(study), _seconds()]


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


def _number(key: str, label: str, value: Callable[[Row], int | None]) -> StudyColumn:
    return StudyColumn(key, label, lambda r: "" if (v := value(r)) is None else count(v), value)


def _share(key: str, label: str, value: Callable[[Row], float | None]) -> StudyColumn:
    return StudyColumn(key, label, lambda r: "" if (v := value(r)) is None else percent(v), value)


def _peaks(study: StudyResults) -> list[StudyColumn]:
    found = [
        _number("peak", "peak B", lambda r: r.peak_bytes),
        _number("peak bound", "bound B", lambda r: PEAK.bound(r)),
        _share("peak gap", "peak gap", lambda r: PEAK.gap(r)),
    ]
    if mergers_lose(study.rows):
        found.append(_number("merger bound", "merger's bound B", lambda r: r.merger_lower_bound_bytes))
        found.append(_share("packer gap", "packer's gap", lambda r: r.packer_gap))
    return found


def _cycles(study: StudyResults) -> list[StudyColumn]:
    if all(row.total_cycles is None for row in study.rows):
        return []
    return [
        _number("cycles", "cycles", lambda r: r.total_cycles),
        _number("cycle bound", f"bound for {space_words(study)}", lambda r: CYCLES.bound(r)),
        _share("cycle gap", "cycles gap", lambda r: CYCLES.gap(r)),
        StudyColumn("ms", "ms", _milliseconds, lambda r: r.milliseconds),
        *([StudyColumn("uj", "µJ", _microjoules, lambda r: r.microjoules)] if has_energy(study) else []),
    ]


def has_energy(study: StudyResults) -> bool:
    """Whether the energy of any run is known."""
    return any(row.microjoules is not None for row in study.rows)


def _microjoules(row: Row) -> str:
    return "" if row.microjoules is None else microjoules(row.microjoules)


def _milliseconds(row: Row) -> str:
    return "" if row.milliseconds is None else f"{row.milliseconds:,.3f}"


def _seconds() -> StudyColumn:
    return StudyColumn("seconds", "time", lambda r: seconds_text(r.seconds), lambda r: r.seconds)


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
            "command": f"chipmodel study {quote(study.file or study.name)} --only {row.key[:SHORT_KEY]}",
            **({"error": row.error} if row.error else {}),
            **({"page": page} if (page := study.pages.get(row.key)) else {}),
            **({"steps": steps} if (steps := _steps(row)) else {}),
        }
        for row in study.rows
    ]


def facts(study: StudyResults, row: Row) -> Mapping[str, str]:
    """All figures of a row, with units."""
    point = row.point
    found = {
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
        "Peak gap": _percent(PEAK.gap(row)),
        **(_losses(row) if mergers_lose([row]) else {}),
        "Capacity": _bytes(row.capacity_bytes),
        "Psram used": _bytes(row.psram_bytes),
        "Psram capacity": _bytes(row.psram_capacity_bytes),
        "Fits": _fits(row),
        "Run time": "" if row.milliseconds is None else f"{row.milliseconds:,.3f} ms",
        "Energy": "" if row.microjoules is None else f"{microjoules(row.microjoules)} µJ",
        "Cycles": _clocks(row.total_cycles),
        "Cycle bound": _bound(study, row),
        "Cycle gap": _percent(CYCLES.gap(row)),
        "With streamer sync": _clocks(row.sync_cycles),
        "NPU busy": _busy(row.npu_busy_cycles, row.total_cycles),
        "DMA busy": _busy(row.dma_busy_cycles, row.total_cycles),
        **{f"{stage.capitalize()} time": _stage(row, stage) for stage in STAGES},
        "Answered": row.answered,
        "By": row.origin,
        "Code": f"older: {row.code}" if row.code and row.code != study.code else row.code,
        "Key": row.key,
    }
    return {label: text for label, text in found.items() if text}


STAGES = ("schedule", "packer", "bound", "simulation")
"""What a point's processor time is told of."""


def _stage(row: Row, stage: str) -> str:
    seconds: float | None = getattr(row, f"{stage}_seconds")
    return "" if seconds is None else seconds_text(seconds)


def _of_its_merger(row: Row) -> str:
    """Where no plan of the merger has a lower peak, though another merger's may."""
    least = row.status == "feasible" and row.packer_gap == 0
    return f": the smallest peak of merger {row.point.merge}" if least else ""


def _losses(row: Row) -> Mapping[str, str]:
    """What of the peak's gap is the merger's, and what its packer's."""
    least = f"{_bytes(row.merger_lower_bound_bytes)}, {_percent(row.merger_gap)} above the best bound"
    return {"Merger's own bound": least, "Packer's gap": _percent(row.packer_gap)}


def _bound(study: StudyResults, row: Row) -> str:
    words = _clocks(CYCLES.bound(row))
    return f"{words}, for {row.bound_space}" if words and row.bound_space else words


def _fits(row: Row) -> str:
    if row.peak_bytes is None:
        return ""
    return "yes" if row.fits else f"no: {row.error}" if row.error else "no"


def _bytes(value: int | None) -> str:
    if value is None:
        return ""
    return f"{count(value)} B" + (f" ({size(value)})" if value >= 1024 else "")


def _clocks(value: int | None) -> str:
    return "" if value is None else f"{count(value)} cycles"


def _percent(value: float | None) -> str:
    return "" if value is None else percent(value)


def _busy(value: int | None, total: int | None) -> str:
    return _clocks(value) + (f", {percent(value / total)} of the run" if value is not None and total else "")


def _steps(row: Row) -> list[list[str]]:
    """The planner's intermediate results: time, best peak and bound."""
    return [
        [seconds_text(step.seconds), _bytes(step.peak_bytes) or "no plan", _bytes(step.lower_bound_bytes)]
        for step in row.trajectory
    ]
