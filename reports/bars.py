"""Events as bars: one each, or, where there are too many to draw, a few that keep every sum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from chipmodel.result import Result
from chipmodel.trace import Event, Unit

MOST_BARS = 12_000
"""More than this many bars take a browser seconds to draw."""
UNITS: tuple[Unit, ...] = ("npu", "dma")


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


def bars(result: Result, most: int = MOST_BARS) -> tuple[Bar, ...]:
    """At most ``most`` bars (but at least one per unit and category), in order of (unit, start)."""
    found = [_bar(e) for unit in UNITS for e in result.trace.of(unit)]
    resolution = max(1, result.trace.cycles // most)
    shown = found
    while len(shown) > most and resolution < 2 * result.trace.cycles:
        shown = [bar for stretch in _stretches(found, resolution) for bar in _merged(stretch)]
        resolution *= 2
    return tuple(shown)


def category(event: Event) -> str:
    """What an event is coloured by."""
    return event.cause or event.kind


def _bar(event: Event) -> Bar:
    return Bar(event.unit, category(event), event.start, event.stop, event.name, event.op, event.bytes)


def _stretches(found: list[Bar], resolution: int) -> Iterator[list[Bar]]:
    """Neighbours of one unit, together at most ``resolution`` cycles long or alone."""
    stretch: list[Bar] = []
    for bar in found:
        if stretch and (bar.unit != stretch[0].unit or bar.stop - stretch[0].start > resolution):
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
        yield replace(group[0], start=clock, stop=stop, bytes=total, events=len(group))
        clock = stop
