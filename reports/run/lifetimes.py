"""When each buffer was alive in the run, in cycles instead of positions, and how many bytes were alive.

A step's time is that of its compute and of the NPU's waits for it, because its buffers are kept through both.
A loop visits its positions once per iteration, an arm that was not taken never.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import replace

from chipmodel.answers.result import Result
from chipmodel.geometry.interval import Interval, merged
from chipmodel.model.live_sets import live_bytes_curve
from chipmodel.model.trace import Trace
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class StepPass:
    """Steps visited in order of position: a loop body's next iteration begins the next pass."""

    positions: tuple[int, ...]
    times: tuple[Interval, ...]

    def alive(self, live: Interval) -> Interval:
        """Cycles from the first visited step of ``live`` to its last; empty if none was visited."""
        first = bisect_left(self.positions, live.start)
        last = bisect_left(self.positions, live.stop)
        if first == last:
            return Interval(0, 0)
        return Interval(self.times[first].start, self.times[last - 1].stop)


def passes(trace: Trace) -> tuple[StepPass, ...]:
    """The steps that the NPU executed, cut into passes wherever it goes back to an earlier position."""
    walks: list[list[tuple[int, Interval]]] = [[]]
    for position, time in _visits(trace):
        if walks[-1] and position < walks[-1][-1][0]:
            walks.append([])
        walks[-1].append((position, time))
    return tuple(StepPass(tuple(p for p, _ in w), tuple(t for _, t in w)) for w in walks if w)


def _visits(trace: Trace) -> Iterator[tuple[int, Interval]]:
    """Each compute's position and time. A wait for a load is part of the step after it, a wait for a store
    part of the step before it, as schedules order them."""
    position, start, stop = -1, 0, 0
    pending: int | None = None
    for event in trace.events:
        if event.unit != "npu" or event.cause == "finished":
            continue
        if not event.cause:
            if position >= 0:
                yield position, Interval(start, stop)
            position, start, stop = event.position, event.start if pending is None else pending, event.stop
            pending = None
        elif event.cause == "output" and pending is None:
            stop = event.stop
        elif pending is None:
            pending = event.start
    if position >= 0:
        yield position, Interval(start, stop)


def lifetimes(result: Result) -> dict[str, tuple[Interval, ...]]:
    """The cycles in which each buffer of the problem was alive, by name; empty in arms that were not taken.

    Spans that touch are joined: a buffer kept through a loop has one span, and one that lives for a part of
    the loop's body has one per iteration.
    """
    walks = passes(result.trace)
    return {
        b.name: merged(walk.alive(live) for walk in walks for live in b.live) for b in result.problem.buffers
    }


def alive_bytes(result: Result, spans: Mapping[str, tuple[Interval, ...]]) -> list[tuple[int, int]]:
    """``(cycle, bytes alive from then on)``, ascending, at every change; ends with 0 bytes."""
    problem = result.problem
    buffers = tuple(replace(buffer, live=spans[buffer.name]) for buffer in problem.buffers)
    return live_bytes_curve(replace(problem, buffers=buffers))
