"""What happened when: events of each unit, in cycles, and the sums that must add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Unit = Literal["npu", "dma"]
Cause = Literal["", "weights", "input", "output", "nothing issued", "finished"]
"""Why a unit waited: for a weight block, for a tensor to be loaded, for a store to end, for somebody
to issue a transfer, or because all of its work was done. Empty for a busy unit."""

Kind = Literal["compute", "load weights", "load tensor", "store tensor", "wait"]


@dataclass(frozen=True, slots=True)
class Event:
    """``unit`` is busy with (``cause`` empty) or waits for ``name`` during ``[start, stop)``."""

    unit: Unit
    start: int
    stop: int
    cause: Cause
    name: str
    """A step's label or a transfer's name."""
    op: str
    """The op that the step or transfer belongs to."""
    kind: Kind
    bytes: int = 0
    position: int = -1
    """The step computed, or waited for."""

    @property
    def cycles(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class Trace:
    """Events in order of (start, unit); per unit they cover ``[0, cycles)`` without gap or overlap."""

    events: tuple[Event, ...]
    cycles: int
    path: Mapping[str, str]
    """The decision taken at each ``if`` (an arm's name) and ``loop`` (its trips)."""

    def of(self, unit: Unit) -> tuple[Event, ...]:
        return tuple(e for e in self.events if e.unit == unit)

    def busy(self, unit: Unit) -> int:
        """Cycles in which ``unit`` worked."""
        return sum(e.cycles for e in self.events if e.unit == unit and not e.cause)

    def stalls(self, unit: Unit) -> Counter[str]:
        """Cycles that ``unit`` waited, by cause."""
        totals: Counter[str] = Counter()
        for event in self.events:
            if event.unit == unit and event.cause:
                totals[event.cause] += event.cycles
        return totals

    def unaccounted(self) -> tuple[str, ...]:
        """Every unit and cycle range that no event or more than one covers; empty when all is well."""
        faults: list[str] = []
        units: tuple[Unit, ...] = ("npu", "dma")
        for unit in units:
            clock = 0
            for event in self.of(unit):
                if event.start != clock or event.stop <= event.start:
                    faults.append(
                        f"{unit}: {event.kind} {event.name!r} covers [{event.start}, {event.stop}) at {clock}"
                    )
                clock = event.stop
            if clock != self.cycles:
                faults.append(f"{unit}: events end at {clock}, the run at {self.cycles}")
        return tuple(faults)
