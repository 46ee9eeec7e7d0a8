"""The design space of a study that sweeps chips or their fields: what each design costs and takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chipmodel.errors import BadInput
from chipmodel.files.sizes import format_bytes, parse_bytes
from chipmodel.model.study_row import Row
from reports.study.data import Study, swept_values

MEMORY = "shared_memory.bytes"
CHIP = "chip"
NEAR = 0.05
"""As near to the best latency as a designer would trade for memory."""


@dataclass(frozen=True, slots=True)
class Design:
    """A workload on one design of a chip, with the best plan of any planner."""

    workload: str
    settings: tuple[tuple[str, str], ...]
    """The swept fields, and the chip where there are several."""
    bytes: int
    """Of SharedMemory."""
    rows: tuple[Row, ...]
    """The quickest that fits of every planner, the quickest of all first; empty where nothing fits."""

    @property
    def row(self) -> Row | None:
        """The quickest of all planners."""
        return self.rows[0] if self.rows else None

    @property
    def milliseconds(self) -> float:
        """Of the quickest plan. Only for designs that have one."""
        return _milliseconds(self.rows[0])

    def value(self, name: str) -> str:
        """What the design has of a swept field."""
        return dict(self.settings).get(name, "")


@dataclass(frozen=True, slots=True)
class Enough:
    """The smallest memory of a workload whose latency is within ``NEAR`` of the best."""

    workload: str
    """And the chip, where there are several to sweep."""
    best: Design
    smallest: Design
    least: Design
    """The smallest memory in which it runs at all."""

    @property
    def above(self) -> float:
        """Share that the smallest is slower than the best."""
        return self.smallest.milliseconds / self.best.milliseconds - 1


def axes(study: Study) -> tuple[str, ...]:
    """The swept fields of networks, SharedMemory first, the others in the study's order; the chip last."""
    networks = [row for row in study.rows if row.point.chip]
    found = list(swept_values(study))
    chips = len({row.point.chip for row in networks}) > 1
    if chips and MEMORY not in found and len({row.capacity_bytes for row in networks} - {None}) > 1:
        found.append(MEMORY)
    found.sort(key=lambda name: name != MEMORY)
    return (*found, *([CHIP] if chips else []))


def designs(study: Study) -> tuple[Design, ...]:
    """Every workload on every design that was asked for and answered, in the study's order."""
    names = axes(study)
    groups: dict[tuple[str, tuple[tuple[str, str], ...]], list[Row]] = {}
    for row in study.rows:
        if row.point.chip:
            groups.setdefault((row.point.workload, _settings(row, names)), []).append(row)
    sizes = _sizes(study.rows)
    found = (
        Design(workload, settings, _bytes(rows, sizes), _quickest(study, rows))
        for (workload, settings), rows in groups.items()
    )
    return tuple(design for design in found if design.bytes)


def _settings(row: Row, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    values = dict(row.point.overrides) | {CHIP: row.point.chip}
    return tuple((name, values[name]) for name in names if name in values)


def _quickest(study: Study, rows: Iterable[Row]) -> tuple[Row, ...]:
    timed = [row for row in rows if row.fits and row.milliseconds is not None]
    timed.sort(key=lambda r: (_milliseconds(r), r.peak_bytes, r.seconds, r.key))
    first: dict[str, Row] = {}
    for row in timed:
        first.setdefault(study.label(row), row)
    return tuple(first.values())


def _milliseconds(row: Row) -> float:
    assert row.milliseconds is not None, "only rows with a time are compared"
    return row.milliseconds


def _sizes(rows: Iterable[Row]) -> dict[str, int]:
    """SharedMemory of each chip as far as some row without a change of it tells."""
    plain = (r for r in rows if MEMORY not in dict(r.point.overrides))
    return {row.point.chip: row.capacity_bytes for row in plain if row.capacity_bytes is not None}


def _bytes(rows: Sequence[Row], sizes: dict[str, int]) -> int:
    """Of the rows' design: as they tell, or as its settings do where all of them failed."""
    told = [row.capacity_bytes for row in rows if row.capacity_bytes is not None]
    if told:
        return told[0]
    said = dict(rows[0].point.overrides).get(MEMORY)
    return sizes.get(rows[0].point.chip, 0) if said is None else int(number(MEMORY, said) or 0)


def number(name: str, value: str) -> float | None:
    """A field's value as a number, bytes for sizes; None for a word."""
    try:
        return parse_bytes(value) if name.endswith("bytes") else float(value)
    except (BadInput, ValueError):
        return None


def front(found: Iterable[Design]) -> tuple[Design, ...]:
    """Those that no other beats in bytes and in milliseconds, the smallest memory first."""
    best: list[Design] = []
    for design in sorted((d for d in found if d.row), key=lambda d: (d.bytes, d.milliseconds)):
        if not best or design.milliseconds < best[-1].milliseconds:
            best.append(design)
    return tuple(best)


def enough(found: Sequence[Design]) -> tuple[Enough, ...]:
    """Per workload the smallest memory that is nearly as quick as any, where memories differ; per chip as
    well, where that is swept on several."""
    groups: dict[tuple[str, str], list[Design]] = {}
    for design in found:
        chip = design.value(CHIP) if design.value(MEMORY) else ""
        groups.setdefault((design.workload, chip), []).append(design)
    return tuple(
        _enough(f"{workload} on {chip}" if chip else workload, group)
        for (workload, chip), group in groups.items()
        if len({design.bytes for design in group}) > 1 and any(design.row for design in group)
    )


def _enough(workload: str, group: Sequence[Design]) -> Enough:
    fit = [design for design in group if design.row]
    best = min(fit, key=lambda d: (d.milliseconds, d.bytes))
    near = [d for d in fit if d.milliseconds <= best.milliseconds * (1 + NEAR)]
    smallest, least = (min(ds, key=lambda d: (d.bytes, d.milliseconds)) for ds in (near, fit))
    return Enough(workload, best, smallest, least)


def design_words(study: Study) -> str:
    """The smallest memory within 5% of the best latency: of each workload, or what all of them need."""
    answers = enough(designs(study))
    if not answers:
        return ""
    near = f"within {NEAR:.0%} of the best latency"
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
    return f"{format_bytes(most)} of SharedMemory bring {what} {near.replace('the', 'its')}{rest}."


def setting_words(design: Design, *without: str) -> str:
    """A design's settings in words, but those called ``without``."""
    parts = [
        value if name == CHIP else f"{name} {value}" for name, value in design.settings if name not in without
    ]
    return ", ".join(parts)
