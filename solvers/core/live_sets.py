"""Which buffers are alive together at some time."""

from __future__ import annotations

from collections.abc import Sequence

from chipmodel.geometry.interval import merged
from chipmodel.model.plan import Buffer


def live_sets(buffers: Sequence[Buffer]) -> list[set[int]]:
    """Return the largest sets of buffers (by index) that are alive at one position, in order of time.

    Empty buffers are in none. A set that is part of the one before or after it is left out, but where a
    buffer has holes in its life.
    """
    starts: dict[int, list[int]] = {}
    stops: dict[int, list[int]] = {}
    for i, buffer in enumerate(buffers):
        if buffer.bytes:
            for span in merged(buffer.live):
                starts.setdefault(span.start, []).append(i)
                stops.setdefault(span.stop, []).append(i)
    live: set[int] = set()
    result: list[set[int]] = []
    grown = False
    for time in sorted({*starts, *stops}):
        if time in stops:
            if grown:
                result.append(set(live))
            grown = False
            live.difference_update(stops[time])
        if time in starts:
            grown = True
            live.update(starts[time])
    return result
