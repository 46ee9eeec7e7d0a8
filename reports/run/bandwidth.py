"""Bandwidth of transfers over time, for the trace file."""

from __future__ import annotations

from collections.abc import Iterator

from chipmodel.answers.result import Result
from chipmodel.model.trace import Event

KINDS = ("load weights", "load tensor", "store tensor")
MOVE = "move"
"""The kind of transfers on a chip with further memories only."""


def transfers(result: Result) -> list[Event]:
    """The events that moved bytes."""
    return [e for e in result.trace.events if e.unit == "dma" and not e.cause and e.bytes]


def rates(result: Result) -> Iterator[tuple[int, dict[str, float]]]:
    """The cycle of each change, and MB/s by kind of transfer from then on; a transfer's bytes are spread
    evenly over its duration."""
    mhz, kinds = float(result.chip.core_mhz), (*KINDS, *([MOVE] if result.chip.memories else []))
    changes: dict[int, list[tuple[Event, bool]]] = {}
    for event in transfers(result):
        changes.setdefault(event.start, []).append((event, True))
        changes.setdefault(event.stop, []).append((event, False))
    active: dict[int, Event] = {}
    for cycle in sorted(changes):
        for event, begins in sorted(changes[cycle], key=lambda change: change[1]):
            if begins:
                active[event.channel] = event
            else:
                active.pop(event.channel, None)
        now = dict.fromkeys(kinds, 0.0)
        for event in active.values():
            now[event.kind] += event.bytes / event.cycles * mhz
        yield cycle, now
