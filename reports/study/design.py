"""The design space of a study that varies chips or their fields: memory and latency of each design."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from chipmodel.answers.study_results import StudyResults, swept_values
from chipmodel.answers.study_row import Row
from chipmodel.errors import BadInput
from chipmodel.files.sizes import format_bytes, parse_bytes
from chipmodel.records import dataclass

MEMORY = "shared_memory.bytes"
CHIP = "chip"
TOLERATED_SLOWDOWN = 0.05
"""The share by which a design may be slower than the best and still counts as fast enough (assumed)."""


@dataclass(frozen=True, slots=True)
class Design:
    """A workload on one design of a chip, with the fastest plan of each planner."""

    workload: str
    settings: tuple[tuple[str, str], ...]
    """Values of the varied fields, and the chip where there are several."""
    bytes: int
    """Size of SharedMemory."""
    rows: tuple[Row, ...]
    """The fastest row of every planner whose plan fits, the fastest of all first; empty where none fits."""
    costs: tuple[tuple[str, float], ...] = ()
    """The study's own columns."""
    failed: bool = False
    """Whether every row is an error, as where a chip cannot have such fields."""

    @property
    def row(self) -> Row | None:
        """The row of the fastest planner."""
        return self.rows[0] if self.rows else None

    @property
    def milliseconds(self) -> float:
        """Latency of the fastest plan. Only for designs that have one."""
        return milliseconds(self.rows[0])

    def value(self, name: str) -> str:
        """The design's value of a varied field or of a column, as text."""
        own = dict(self.costs)
        return f"{own[name]:.6g}" if name in own else dict(self.settings).get(name, "")

    @property
    def cheapness(self) -> tuple[Any, ...]:
        """What designs are sorted by where they do the same, the cheapest first: the study's columns, bytes
        of SharedMemory, then the other varied numbers in the order of ``axes``, each the less the better."""
        numbers = [number(name, value) or 0.0 for name, value in self.settings if name != CHIP]
        return tuple(cost for _, cost in self.costs), self.bytes, numbers


@dataclass(frozen=True, slots=True)
class SufficientMemory:
    """The smallest memory with which a workload's latency is within ``TOLERATED_SLOWDOWN`` of the best."""

    workload: str
    """With the chip, where memory is varied on several."""
    best: Design
    smallest: Design
    least: Design
    """The design with the smallest memory in which the workload fits."""

    @property
    def above(self) -> float:
        """The share by which the smallest is slower than the best."""
        return self.smallest.milliseconds / self.best.milliseconds - 1


def milliseconds(row: Row) -> float:
    """The latency of a plan that has one."""
    assert row.milliseconds is not None, "only rows of plans are compared"
    return row.milliseconds


def axes(study: StudyResults) -> tuple[str, ...]:
    """The varied fields of networks: SharedMemory first, the others in the study's order, the chip last."""
    networks = [row for row in study.rows if row.point.chip]
    names = list(swept_values(study))
    chips = len({row.point.chip for row in networks}) > 1
    if chips and MEMORY not in names and len({row.capacity_bytes for row in networks} - {None}) > 1:
        names.append(MEMORY)
    names.sort(key=lambda name: name != MEMORY)
    return (*names, *([CHIP] if chips else []))


def designs(study: StudyResults) -> tuple[Design, ...]:
    """Every workload on every design that has a row, in the study's order."""
    names = axes(study)
    groups: dict[tuple[str, tuple[tuple[str, str], ...]], list[Row]] = {}
    for row in study.rows:
        if row.point.chip:
            groups.setdefault((row.point.workload, _settings(row, names)), []).append(row)
    sizes = _sizes(study.rows)
    simulated = (
        Design(
            workload,
            settings,
            _bytes(rows, sizes),
            _fastest(study, rows),
            rows[0].costs,
            all(row.status == "failed" for row in rows),
        )
        for (workload, settings), rows in groups.items()
    )
    return tuple(design for design in simulated if design.bytes)


def columns_of_designs(study: StudyResults) -> tuple[str, ...]:
    """The study's own columns, in its order."""
    return tuple(dict.fromkeys(name for row in study.rows for name, _ in row.costs))


def _settings(row: Row, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    values = dict(row.point.overrides) | {CHIP: row.point.chip}
    return tuple((name, values[name]) for name in names if name in values)


def _fastest(study: StudyResults, rows: Iterable[Row]) -> tuple[Row, ...]:
    timed = [row for row in rows if row.fits and row.milliseconds is not None]
    timed.sort(key=lambda r: (milliseconds(r), r.peak_bytes, r.seconds, r.key))
    first: dict[str, Row] = {}
    for row in timed:
        first.setdefault(study.label(row), row)
    return tuple(first.values())


def _sizes(rows: Iterable[Row]) -> dict[str, int]:
    """SharedMemory of each chip, where some row does not override it."""
    plain = (r for r in rows if MEMORY not in dict(r.point.overrides))
    return {row.point.chip: row.capacity_bytes for row in plain if row.capacity_bytes is not None}


def _bytes(rows: Sequence[Row], sizes: dict[str, int]) -> int:
    """SharedMemory of the rows' design, from its settings where all rows failed."""
    known = [row.capacity_bytes for row in rows if row.capacity_bytes is not None]
    if known:
        return known[0]
    override = dict(rows[0].point.overrides).get(MEMORY)
    return sizes.get(rows[0].point.chip, 0) if override is None else int(number(MEMORY, override) or 0)


def number(name: str, value: str) -> float | None:
    """A field's value as a number, bytes for sizes; None for a word."""
    try:
        return parse_bytes(value) if name.endswith("bytes") else float(value)
    except (BadInput, ValueError):
        return None


def front(swept: Iterable[Design], name: str = MEMORY) -> tuple[Design, ...]:
    """The Pareto front of latency and memory, or the study's column ``name``: the least of it first. Of
    designs that are equal in both, it has the cheapest."""
    best: list[Design] = []

    def order(design: Design) -> tuple[Any, ...]:
        price = design.bytes if name == MEMORY else dict(design.costs)[name]
        return price, design.milliseconds, design.cheapness

    for design in sorted((d for d in swept if d.row), key=order):
        if not best or design.milliseconds < best[-1].milliseconds:
            best.append(design)
    return tuple(best)


def sufficient_memories(swept: Sequence[Design]) -> tuple[SufficientMemory, ...]:
    """The smallest sufficient memory of each workload, where memories differ; of each chip as well, where
    memory is varied on several."""
    groups: dict[tuple[str, str], list[Design]] = {}
    for design in swept:
        chip = design.value(CHIP) if design.value(MEMORY) else ""
        groups.setdefault((design.workload, chip), []).append(design)
    return tuple(
        _sufficient_memory(f"{workload} on {chip}" if chip else workload, group)
        for (workload, chip), group in groups.items()
        if len({design.bytes for design in group}) > 1 and any(design.row for design in group)
    )


def _sufficient_memory(workload: str, group: Sequence[Design]) -> SufficientMemory:
    fit = [design for design in group if design.row]
    best = min(fit, key=lambda d: (d.milliseconds, d.cheapness))
    near = [d for d in fit if d.milliseconds <= best.milliseconds * (1 + TOLERATED_SLOWDOWN)]
    smallest, least = (min(ds, key=lambda d: (d.bytes, d.milliseconds, d.cheapness)) for ds in (near, fit))
    return SufficientMemory(workload, best, smallest, least)


def design_words(study: StudyResults) -> str:
    """The smallest memory within 5% of the best latency: of each workload, or what all of them need."""
    answers = sufficient_memories(designs(study))
    if not answers:
        return ""
    near = f"within {TOLERATED_SLOWDOWN:.0%} of the best latency"
    if len(answers) == 1:
        only = answers[0]
        return f"The smallest memory {near} of {only.workload} is {format_bytes(only.smallest.bytes)}."
    if len(answers) <= 3:
        each = "; ".join(f"{format_bytes(a.smallest.bytes)} for {a.workload}" for a in answers)
        return f"The smallest memory {near}: {each}."
    most = max(a.smallest.bytes for a in answers)
    less = sum(a.smallest.bytes < most for a in answers)
    rest = f"; {less} of the {len(answers)} need{'s' if less == 1 else ''} less" if less else ""
    what = (
        "every workload on every chip" if any(a.smallest.value(CHIP) for a in answers) else "every workload"
    )
    return f"With {format_bytes(most)} of SharedMemory {what} is {near.replace('the', 'its')}{rest}."


def setting_words(design: Design, *without: str) -> str:
    """A design's settings in words, but those called ``without``."""
    parts = [
        value if name == CHIP else f"{name} {value}" for name, value in design.settings if name not in without
    ]
    return ", ".join(parts)
