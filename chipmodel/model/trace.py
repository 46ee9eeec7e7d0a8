"""A run's events by unit, in cycles, and their sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal

from chipmodel.records import dataclass

Unit = Literal["npu", "dma"]
Cause = Literal["", "weights", "input", "output", "core", "nothing issued", "order", "finished"]
"""Why a unit did nothing: it waited for a weight block, for the load of a tensor, for the end of a store, for
another core's tensor, for a transfer to be issued, for an earlier transfer of the same bytes, or all of its
work was done. Empty for a unit at work."""

Hold = Literal["bank", "arbitration", "refresh", "cpu"]
"""Why a unit at work stalled for a cycle: the bank of SharedMemory served another access (bank conflict), the
DMA engine served another transfer, the Psram refreshed itself, or it served the CPU."""

Kind = Literal["compute", "load weights", "load tensor", "store tensor", "move", "wait"]
"""What a unit does; ``move``: the DMA engine, between two memories off chip."""


@dataclass(frozen=True, slots=True, order=True)
class Wait:
    """Cycles for which a unit at work stalled, and the op, transfer or ``CPU`` that it stalled for."""

    cause: Hold
    by: str
    cycles: int


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
    channel: int = 0
    """The channel of the DMA engine."""
    waits: tuple[Wait, ...] = ()
    """Stalls of a unit at work, in the order of (cause, by)."""
    core: int = 0
    """The core of the NPU, or of the SharedMemory that the DMA engine accesses."""

    @property
    def cycles(self) -> int:
        return self.stop - self.start

    @property
    def worked(self) -> int:
        """Cycles in which the unit made progress."""
        return 0 if self.cause else self.cycles - sum(wait.cycles for wait in self.waits)


@dataclass(frozen=True, slots=True)
class Trace:
    """Events in order of (start, unit, channel, core); those of each core's NPU, and of each of the DMA
    engine's channels, cover ``[0, cycles)`` without gap or overlap."""

    events: tuple[Event, ...]
    cycles: int
    path: Mapping[str, str]
    """The decision taken at each ``if`` (an arm's name) and ``loop`` (its iterations)."""
    channels: int = 1
    """Channels of the DMA engine."""
    cores: int = 1

    def of(self, unit: Unit, channel: int | None = None, core: int | None = None) -> tuple[Event, ...]:
        """The events of a unit: of one channel and core, or of all where none is given."""
        return tuple(
            e
            for e in self.events
            if e.unit == unit and channel in (None, e.channel) and core in (None, e.core)
        )

    def busy(self, unit: Unit, core: int | None = None) -> int:
        """Cycles in which ``unit`` made progress, summed over channels and, where none is given, cores."""
        return sum(e.worked for e in self.events if e.unit == unit and core in (None, e.core))

    def stalls(self, unit: Unit, core: int | None = None) -> Counter[str]:
        """Cycles for which ``unit`` waited or stalled, by cause; summed over cores where none is given."""
        totals: Counter[str] = Counter()
        for event in self.events:
            if event.unit != unit or core not in (None, event.core):
                continue
            if event.cause:
                totals[event.cause] += event.cycles
            else:
                for wait in event.waits:
                    totals[wait.cause] += wait.cycles
        return totals

    def held(self, unit: Unit) -> Counter[tuple[str, str, str]]:
        """Cycles for which ``unit`` stalled at work, by its op or transfer, the cause, and who held it up."""
        totals: Counter[tuple[str, str, str]] = Counter()
        for event in self.events:
            if event.unit == unit:
                for wait in event.waits:
                    totals[event.name, wait.cause, wait.by] += wait.cycles
        return totals

    def unaccounted(self) -> tuple[str, ...]:
        """Every unit and cycle range that no event or several cover, in words; empty for a correct trace."""
        faults: list[str] = []
        units: list[tuple[Unit, int, int | None]] = [
            *(("npu", 0, core) for core in range(self.cores)),
            *(("dma", channel, None) for channel in range(self.channels)),
        ]
        for unit, channel, core in units:
            clock = 0
            for event in self.of(unit, channel, core):
                if event.worked < 0 or any(wait.cycles < 1 for wait in event.waits):
                    faults.append(f"{unit}: {event.kind} {event.name!r} waits for longer than it lasts")
                if event.start != clock or event.stop <= event.start:
                    faults.append(
                        f"{unit}: {event.kind} {event.name!r} covers [{event.start}, {event.stop}) at {clock}"
                    )
                clock = event.stop
            if clock != self.cycles:
                faults.append(f"{unit}: events end at {clock}, the run at {self.cycles}")
        return tuple(faults)
