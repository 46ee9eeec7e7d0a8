"""Better tilings: other slices and stripes for a few ops at a time, compared by the whole schedule's
forecast.

A streamer tiles all ops by one rule. What is best for one op depends on its neighbours: what the DMA engine
still loads for them, and what it has to load next. So a few other tilings are tried, first for all similar
ops together, the most expensive first, and what makes the forecast better is kept.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping

from chipmodel.model.program import Op, ops
from chipmodel.model.schedule import Schedule, steps
from dma.residency.best_cuts import cuts
from dma.residency.tiling import NONE_KEPT, Tiling, slice_bytes, whole_tiling
from dma.schedule.forecast import TransferTimes
from dma.schedule.streamer import MemoryBudget

MAX_ATTEMPTS = 400
"""Tilings that are tried for one schedule: each takes a schedule and its forecast."""
SLICE_COUNTS = (*range(1, 13), *range(14, 26, 2), 28, 32, 40, 48, 64, 96, 128, 256, 512)
"""Numbers of slices of a weight block that are tried."""
COUNTS_EACH_SIDE = 4
"""Slice counts tried to each side of the op's present one, of those that fit."""

CutForecast = Callable[[Mapping[str, Tiling]], float | None]
"""The forecast in cycles with the given tilings of some ops; None where there is no schedule with them."""


def refined(
    memory: MemoryBudget, schedule: Schedule, work: int, attempt: CutForecast, enough: Callable[[], bool]
) -> dict[str, Tiling]:
    """Return the tilings of some ops with the fastest forecast found; empty where none is faster than
    ``schedule``.

    The search ends after schedules of ``work`` steps together, or once ``enough`` returns True.
    """
    best: dict[str, Tiling] = {}
    least = attempt(best)
    if least is None:
        return best
    listed = list(steps(schedule.body))
    left = min(MAX_ATTEMPTS, work // max(1, len(listed)))
    channels = {step.op: max(1, len(step.channels)) for step in reversed(listed)}
    channels |= {cascade.name: 1 for cascade in schedule.cascades}
    for group in _most_expensive(memory, schedule, channels):
        for tiling in alternatives(memory, group[0], channels[group[0].name]):
            if left <= 0 or enough():
                return best
            left -= 1
            cuts = best | {op.name: tiling for op in group}
            cycles = attempt(cuts)
            if cycles is not None and cycles < least:
                least, best = cycles, cuts
    return best


def _most_expensive(memory: MemoryBudget, schedule: Schedule, channels: Mapping[str, int]) -> list[list[Op]]:
    """Groups of similar ops, then each op alone, those first that need the most cycles."""
    cost: Counter[str] = Counter()
    cycles_of = TransferTimes(memory.chip)
    listed = list(steps(schedule.body))
    cascade_of = {op: cascade.name for cascade in schedule.cascades for op in cascade.ops}
    owner = [cascade_of.get(step.op, step.op) for step in listed]
    for step, name in zip(listed, owner, strict=True):
        cost[name] += step.cycles
    for transfer in schedule.transfers:
        cost[owner[transfer.due]] += cycles_of.of(transfer)
    similar: defaultdict[object, list[Op]] = defaultdict(list)
    for op, claim in zip(ops(memory.program.body), memory.claims, strict=True):
        kept = memory.residency.kept.get(op.name, NONE_KEPT)
        whole = tuple(name in kept for name in op.inputs)
        striped = op.name in memory.residency.striped
        weights = memory.program.block_bytes(op)
        similar[op.work, weights, channels[op.name], claim, striped, whole].append(op)

    def by_cost(group: list[Op]) -> int:
        return -sum(cost[op.name] for op in group)

    several = [group for group in similar.values() if len(group) > 1]
    single = [[op] for op in ops(memory.program.body)]
    return sorted(several, key=by_cost) + sorted(single, key=by_cost)


def alternatives(memory: MemoryBudget, op: Op, channels: int) -> Iterator[Tiling]:
    """Other tilings of ``op``, whose slices have ``channels`` now, within the memory left to it."""
    names = [each.name for each in ops(memory.program.body)]
    at = names.index(op.name)
    if op.name in memory.residency.striped:
        yield from _stripes(memory, op, memory.budget - memory.residency.through[at])
    elif memory.program.block_bytes(op):
        yield from _slices(memory, op, memory.budget - memory.claims[at], channels)


def _stripes(memory: MemoryBudget, op: Op, left: int) -> Iterator[Tiling]:
    """The fastest stripes by three measures: with half of the DMA cycles added, alone, and by busy cycles."""
    kept = memory.residency.kept.get(op.name, NONE_KEPT)
    fitting = [cut for cut in cuts(memory.program, memory.chip, op, kept) if cut.bytes <= left]
    both = sorted(fitting, key=lambda cut: (cut.cost, cut.bytes))[:5]
    alone = sorted(fitting, key=lambda cut: (cut.cycles, cut.bytes))[:3]
    least = sorted(fitting, key=lambda cut: (cut.npu + cut.dma, cut.bytes))[:2]
    yield from dict.fromkeys(cut.tiling for cut in (*both, *alone, *least))


def _slices(memory: MemoryBudget, op: Op, left: int, channels: int) -> Iterator[Tiling]:
    total = op.work.channels
    widths = sorted({-(-total // count) for count in SLICE_COUNTS if count <= total})
    fitting = [width for width in widths if slice_bytes(memory.program, op, width) <= left]
    now = min(range(len(fitting)), key=lambda i: abs(fitting[i] - channels), default=0)
    for at in sorted(range(len(fitting)), key=lambda i: abs(i - now))[: 2 * COUNTS_EACH_SIDE + 1]:
        if fitting[at] != channels:
            yield whole_tiling(op, fitting[at])
