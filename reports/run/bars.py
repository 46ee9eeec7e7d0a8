"""Events of a trace as bars: one each, or fewer bars with the same sums where there are too many to draw."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from chipmodel.answers.result import Result
from chipmodel.geometry.interval import Interval
from chipmodel.model.trace import Event, Unit

MOST_BARS = 6_000
"""More than this many bars take a browser seconds to draw."""


@dataclass(frozen=True, slots=True)
class Bar:
    """``events`` events of one unit and category, drawn over ``[start, stop)``. A merged bar is as long as
    the sum of its events; the merged bars of a segment of time lie end to end."""

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
    """Cycles for which the unit stood still while at work."""
    core: int = 0
    """The core of the NPU, or of the SharedMemory that the transfer accessed."""
    index: int = -1
    """Position in the trace of its first event."""

    @property
    def span(self) -> Interval:
        """The cycles of the bar."""
        return Interval(self.start, self.stop)


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
        shown = [bar for segment in _segments(found, resolution) for bar in _merged(segment)]
        resolution *= 2
    return tuple(shown)


def category(event: Event) -> str:
    """The category that decides an event's colour: its cause of waiting, or its kind."""
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
    """The row of the chart: one for each NPU and each DMA channel."""
    return bar.unit, bar.core if bar.unit == "npu" else bar.channel


def _segments(found: list[Bar], resolution: int) -> Iterator[list[Bar]]:
    """Neighbours of one row, together at most ``resolution`` cycles long or alone."""
    segment: list[Bar] = []
    for bar in found:
        if segment and (_row(bar) != _row(segment[0]) or bar.stop - segment[0].start > resolution):
            yield segment
            segment = []
        segment.append(bar)
    yield segment


def _merged(segment: list[Bar]) -> Iterator[Bar]:
    groups: dict[str, list[Bar]] = {}
    for bar in segment:
        groups.setdefault(bar.category, []).append(bar)
    clock = segment[0].start
    for group in groups.values():
        stop = clock + sum(b.stop - b.start for b in group)
        total = sum(b.bytes for b in group)
        held = sum(b.held for b in group)
        yield replace(group[0], start=clock, stop=stop, bytes=total, events=len(group), held=held)
        clock = stop
