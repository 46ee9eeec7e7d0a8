"""Events as bars: one each, or, where there are too many to draw, a few that keep every sum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from chipmodel.model.result import Result
from chipmodel.model.trace import Event, Unit

MOST_BARS = 6_000
"""More than this many bars take a browser seconds to draw."""


@dataclass(frozen=True, slots=True)
class Bar:
    """``events`` events of one unit and category, drawn over ``[start, stop)``. Merged bars lie end to
    end inside the stretch that their events share with other categories, each as long as its sum."""

    unit: Unit
    category: str
    """The event's cause, or its kind where it has none."""
    start: int
    stop: int
    name: str
    op: str
    bytes: int
    events: int = 1
    channel: int = 0
    held: int = 0
    """Cycles in which it stood still at work."""
    core: int = 0
    """Whose NPU it is, or whose memory the transfer was of."""
    index: int = -1
    """Of its (first) event in the trace."""


def bars(result: Result, most: int = MOST_BARS) -> tuple[Bar, ...]:
    """At most ``most`` bars (but at least one per unit and category), in order of (unit, core or channel,
    start)."""
    rows: list[tuple[Unit, int, int | None]] = [
        *(("npu", 0, core) for core in range(result.trace.cores)),
        *(("dma", channel, None) for channel in range(result.trace.channels)),
    ]
    indices = {id(event): index for index, event in enumerate(result.trace.events)}
    found = [_bar(e, indices[id(e)]) for row in rows for e in result.trace.of(*row)]
    resolution = max(1, result.trace.cycles // most)
    shown = found
    while len(shown) > most and resolution < 2 * result.trace.cycles:
        shown = [bar for stretch in _stretches(found, resolution) for bar in _merged(stretch)]
        resolution *= 2
    return tuple(shown)


def category(event: Event) -> str:
    """What an event is coloured by."""
    return event.cause or event.kind


def _bar(event: Event, index: int) -> Bar:
    held = sum(wait.cycles for wait in event.waits)
    span = event.start, event.stop
    return Bar(
        event.unit,
        category(event),
        *span,
        event.name,
        event.op,
        event.bytes,
        channel=event.channel,
        held=held,
        core=event.core,
        index=index,
    )


def _row(bar: Bar) -> tuple[Unit, int]:
    """What shares a row: all that one NPU did, or one channel."""
    return bar.unit, bar.core if bar.unit == "npu" else bar.channel


def _stretches(found: list[Bar], resolution: int) -> Iterator[list[Bar]]:
    """Neighbours of one unit, together at most ``resolution`` cycles long or alone."""
    stretch: list[Bar] = []
    for bar in found:
        if stretch and (_row(bar) != _row(stretch[0]) or bar.stop - stretch[0].start > resolution):
            yield stretch
            stretch = []
        stretch.append(bar)
    yield stretch


def _merged(stretch: list[Bar]) -> Iterator[Bar]:
    groups: dict[str, list[Bar]] = {}
    for bar in stretch:
        groups.setdefault(bar.category, []).append(bar)
    clock = stretch[0].start
    for group in groups.values():
        stop = clock + sum(b.stop - b.start for b in group)
        total = sum(b.bytes for b in group)
        held = sum(b.held for b in group)
        yield replace(group[0], start=clock, stop=stop, bytes=total, events=len(group), held=held)
        clock = stop
