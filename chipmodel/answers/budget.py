"""Budgets of a firmware project: what a workload may need on a chip, and what it needs."""

from __future__ import annotations

from typing import ClassVar

from chipmodel.records import dataclass

UNITS = {
    "peak": "B",
    "cycles": "cycles",
    "latency": "ms",
    "energy": "µJ",
    "traffic": "B",
    "weights": "B",
    "psram": "B",
}
"""Every quantity that may have a limit, with its unit: bytes of SharedMemory, cycles, milliseconds and
microjoules of a run, bytes that cross the Psram in a run, bytes of weights, bytes of Psram that are taken."""


@dataclass(frozen=True, slots=True)
class BudgetLine:
    """One limit of one workload on one chip. ``value`` is None where there is no plan; where there is a value
    from ``before``, it may be at most a share ``growth`` above that."""

    entry: str
    quantity: str
    limit: float
    value: float | None
    before: float | None = None
    growth: float = 0.0
    KEYS: ClassVar = ("quantity", "unit", "limit", "value", "before", "kept")

    @property
    def kept(self) -> bool:
        """Whether the value is within the limit, and has not grown too much."""
        return self.value is not None and self.value <= self.limit and not self.grown

    @property
    def grown(self) -> bool:
        """Whether the value is too much above the one before."""
        if self.value is None or self.before is None:
            return False
        return self.value > self.before * (1 + self.growth)

    @property
    def unit(self) -> str:
        """The unit of both numbers."""
        return UNITS[self.quantity]


@dataclass(frozen=True, slots=True)
class BudgetEntry:
    """A workload on a chip: its lines, and why it has no plan that fits, where it has none."""

    name: str
    workload: str
    chip: str
    lines: tuple[BudgetLine, ...]
    refused: str | None = None
    KEYS: ClassVar = ("name", "workload", "chip", "kept", "refused", "limits=lines")

    @property
    def kept(self) -> bool:
        """Whether there is a plan that fits, and every limit is kept."""
        return not self.refused and all(line.kept for line in self.lines)


@dataclass(frozen=True, slots=True)
class BudgetAnswer:
    """Every entry of a budget file."""

    title: str
    entries: tuple[BudgetEntry, ...]
    KEYS: ClassVar = ("title", "kept", "budgets=entries")

    @property
    def kept(self) -> bool:
        """Whether all budgets are kept."""
        return all(entry.kept for entry in self.entries)
