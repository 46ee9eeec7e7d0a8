"""Which buffers are alive together at some time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chipmodel.geometry.interval import merged
from chipmodel.model.plan import Buffer


def live_sets(buffers: Sequence[Buffer]) -> list[set[int]]:
    """Return the largest sets of buffers (by index) that are alive at one position, in order of time.

    Empty buffers are in none. A set that is part of the one before or after it is left out, but where a
    buffer has holes in its life.
    """
    return [live for _, live in live_sets_in_time(buffers)]


def live_sets_in_time(buffers: Sequence[Buffer]) -> Iterator[tuple[int, set[int]]]:
    """Yield the first position of each of ``live_sets``, and the set."""
    starts: dict[int, list[int]] = {}
    stops: dict[int, list[int]] = {}
    for i, buffer in enumerate(buffers):
        if buffer.bytes:
            for span in merged(buffer.live):
                starts.setdefault(span.start, []).append(i)
                stops.setdefault(span.stop, []).append(i)
    live: set[int] = set()
    grown: int | None = None
    for time in sorted({*starts, *stops}):
        if time in stops:
            if grown is not None:
                yield grown, set(live)
            grown = None
            live.difference_update(stops[time])
        if time in starts:
            grown = time
            live.update(starts[time])
