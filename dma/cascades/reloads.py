"""Cascades whose large weights are loaded again for each turn of their op, where that saves SharedMemory.

These weights take turns in one buffer; the others stay. An op whose weights are loaded again should compute
many rows in a turn, and the ops around it few at a time, so that few rows are held.

Source: chipmodel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from dma.cascades.segments import CascadeSegment, RunGeometry

CROWDED = 0.5
"""Of the budget, bytes that a cascade needs with all its weights, if loading some again is worth a thought.
Chosen."""
STRIPES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Stripes of the last op. Chosen: more loads take too long."""


@dataclass(frozen=True, slots=True)
class Reloading:
    """Which weights are loaded again: those of at least ``large`` of the budget for the whole cascade."""

    budget: int
    large: tuple[float, ...]
    most_ops: int
    """Ops of a cascade that does so."""


def reloading_cascades(
    run: RunGeometry, stop: int, rolls: bool, reloading: Reloading, plain: Iterable[CascadeSegment]
) -> Iterator[CascadeSegment]:
    """Cascades that end before op ``stop`` of the run and need at most the budget, because they load large
    weights again. ``plain`` are those that do not."""
    small = {each.ops.start for each in plain if each.bytes <= reloading.budget * CROWDED}
    most = max(
        (stop - k for k in range(max(0, stop - reloading.most_ops), stop - 1) if k not in small), default=0
    )
    known: set[tuple[bool, ...]] = set()
    for share in reloading.large:
        large = tuple(size >= max(1, reloading.budget * share) for size in run.weights[:stop])
        if large in known or sum(large[stop - most :]) < 2:
            continue
        known.add(large)
        for segment in run.cascades(stop, rolls, _heights(run, large, rolls), most):
            if segment.ops.start not in small:
                chosen = tuple(i for i, k in enumerate(range(segment.ops.start, stop)) if large[k])
                if len(chosen) > 1 and segment.bytes - _saved(run, segment, chosen) <= reloading.budget:
                    yield _reloading(run, segment, chosen, rolls)


def _heights(run: RunGeometry, large: Sequence[bool], rolls: bool) -> Iterable[list[int]]:
    """By op, rows for a number of stripes: in the ops whose weights are ``large`` and the last one, or in the
    last one alone. The others compute one row at a time."""
    last, found = len(large) - 1, dict[tuple[int, ...], None]()
    total = run.op_rows[last]
    stripes = [count for count in (*STRIPES, total) if count <= min(total, STRIPES[-1])]
    for height in dict.fromkeys(-(-total // count) for count in stripes):
        each = [max(1, -(-rows * height // total)) for rows in run.op_rows[: last + 1]]
        many = (big or k == last for k, big in enumerate(large))
        found[tuple(rows if big else 1 for rows, big in zip(each, many, strict=True))] = None
        if rolls:
            found[(*(1 for _ in range(last)), height)] = None
    return map(list, found)


def _reloading(
    run: RunGeometry, segment: CascadeSegment, chosen: tuple[int, ...], rolls: bool
) -> CascadeSegment:
    """``segment`` with the weights of its ``chosen`` ops loaded again."""
    sizes = [run.weights[segment.ops.start + index] for index in chosen]
    return replace(
        segment,
        bytes=segment.bytes - _saved(run, segment, chosen),
        cycles=_cycles(run, segment, chosen, rolls),
        weights=segment.weights - sum(sizes),
        reloaded=chosen,
    )


def _saved(run: RunGeometry, segment: CascadeSegment, chosen: tuple[int, ...]) -> int:
    """Bytes that ``segment`` needs less where the weights of its ``chosen`` ops are loaded again."""
    sizes = [run.weights[segment.ops.start + index] for index in chosen]
    return sum(sizes) - max(sizes)


def _cycles(run: RunGeometry, segment: CascadeSegment, chosen: tuple[int, ...], rolls: bool) -> int:
    """NPU cycles, and those of the loads that no op hides whose weights stay."""
    first, last = segment.ops.start, segment.ops.stop - 1
    stripes = -(-run.op_rows[last] // segment.heights[-1])
    steps = [-(-run.op_rows[first + i] // segment.heights[i]) if rolls else stripes for i in chosen]
    loads = computing = 0
    for index, own in zip(chosen, steps, strict=True):
        # Another op's weights are needed at most so often in between.
        turns = min(own, sum(steps) - own + 1)
        loads += turns * run.load_cycles[first + index]
        computing += run.step_cycles(first + index, segment.heights[index])
    return segment.cycles + max(0, loads - max(0, segment.cycles - computing))
