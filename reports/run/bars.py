"""Events of a trace as bars: one each, or fewer bars with the same sums where there are too many to draw."""

from __future__ import annotations

from collections.abc import Iterator

from chipmodel.answers.result import Result
from chipmodel.geometry.interval import Interval
from chipmodel.model.trace import Event, Unit
from chipmodel.records import dataclass

MOST_BARS = 6_000
"""More than this many bars take a browser seconds to draw."""


@dataclass(frozen=True, slots=True)
class Bar:
    """``events`` events of one unit and category, drawn over ``span``. A merged bar is as long as the sum of
    its events; the merged bars of a segment of time lie end to end."""

    event: Event
    """The first of its events."""
    index: int
    """The position of that one in the trace."""
    span: Interval
    bytes: int
    held: int
    """Cycles for which the unit stood still while at work."""
    events: int = 1


def bars_of(result: Result, most: int = MOST_BARS) -> tuple[Bar, ...]:
    """At most ``most`` bars (or one per unit and category), in order of (unit, core or channel, start)."""
    rows: list[tuple[Unit, int, int | None]] = [
        *(("npu", 0, core) for core in range(result.trace.cores)),
        *(("dma", channel, None) for channel in range(result.trace.channels)),
    ]
    indices = {id(event): index for index, event in enumerate(result.trace.events)}
    drawn = [_bar(e, indices[id(e)]) for row in rows for e in result.trace.of(*row)]
    resolution = max(1, result.trace.cycles // most)
    shown = drawn
    while len(shown) > most and resolution < 2 * result.trace.cycles:
        shown = [bar for segment in _segments(drawn, resolution) for bar in _merged(segment)]
        resolution *= 2
    return tuple(shown)


def category(event: Event) -> str:
    """The category that decides an event's colour: its cause of waiting, or its kind."""
    return event.cause or event.kind


def _bar(event: Event, index: int) -> Bar:
    held = sum(wait.cycles for wait in event.waits)
    return Bar(event, index, Interval(event.start, event.stop), event.bytes, held)


def _row(event: Event) -> tuple[Unit, int]:
    """The row of the chart: one for each NPU and each DMA channel."""
    return event.unit, event.core if event.unit == "npu" else event.channel


def _segments(bars_of_row: list[Bar], resolution: int) -> Iterator[list[Bar]]:
    """Neighbours of one row, together at most ``resolution`` cycles long or alone."""
    segment: list[Bar] = []
    for bar in bars_of_row:
        apart = segment and _row(bar.event) != _row(segment[0].event)
        if segment and (apart or bar.span.stop - segment[0].span.start > resolution):
            yield segment
            segment = []
        segment.append(bar)
    yield segment


def _merged(segment: list[Bar]) -> Iterator[Bar]:
    groups: dict[str, list[Bar]] = {}
    for bar in segment:
        groups.setdefault(category(bar.event), []).append(bar)
    clock = segment[0].span.start
    for group in groups.values():
        stop = clock + sum(len(b.span) for b in group)
        total, held = sum(b.bytes for b in group), sum(b.held for b in group)
        yield Bar(group[0].event, group[0].index, Interval(clock, stop), total, held, len(group))
        clock = stop
