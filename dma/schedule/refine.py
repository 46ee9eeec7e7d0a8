"""Better cuts: slices and stripes of a few ops at a time tried again, the whole schedule's forecast deciding.

A way to cut has one rule for all ops. What is best for one depends on its neighbours: what the DMA engine
still brings for them, and what it has to bring next. So ops are cut in a few other ways, first all that are
alike together and what costs most first, and what makes the forecast better stays.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping

from chipmodel.model.program import Op, ops
from chipmodel.model.schedule import Schedule, steps
from dma.residency.best_cuts import cuts
from dma.residency.tiling import NONE_KEPT, Tiling, slice_bytes, whole_tiling
from dma.schedule.forecast import transfer_times
from dma.schedule.policy import Room

MOST_TRIES = 400
SLICES = (*range(1, 13), *range(14, 26, 2), 28, 32, 40, 48, 64, 96, 128, 256, 512)
"""Slices of a block."""
NEAR = 4
"""Of those that fit, so many to each side of the number that an op has now."""

Try = Callable[[Mapping[str, Tiling]], float | None]
"""The forecast with some ops cut so, in cycles; None where that is no schedule."""


def refined(
    room: Room, schedule: Schedule, work: int, attempt: Try, enough: Callable[[], bool]
) -> dict[str, Tiling]:
    """Cuts of some ops with which ``attempt`` says least, after schedules of ``work`` steps together or once
    there is ``enough``; empty where nothing is better than the ``schedule``'s own."""
    best: dict[str, Tiling] = {}
    least = attempt(best)
    if least is None:
        return best
    listed = list(steps(schedule.body))
    left = min(MOST_TRIES, work // max(1, len(listed)))
    channels = {step.op: max(1, len(step.channels)) for step in reversed(listed)}
    for alike in _dearest(room, schedule, channels):
        for tiling in alternatives(room, alike[0], channels[alike[0].name]):
            if left <= 0 or enough():
                return best
            left -= 1
            cuts = best | {op.name: tiling for op in alike}
            cycles = attempt(cuts)
            if cycles is not None and cycles < least:
                least, best = cycles, cuts
    return best


def _dearest(room: Room, schedule: Schedule, channels: Mapping[str, int]) -> list[list[Op]]:
    """Ops that are alike, and then each on its own, by what the DMA engine moves for them and the NPU does:
    most first."""
    cost: Counter[str] = Counter()
    cycles_of = transfer_times(room.chip)
    listed = list(steps(schedule.body))
    for step in listed:
        cost[step.op] += step.cycles
    for transfer in schedule.transfers:
        cost[listed[transfer.due].op] += cycles_of(transfer.direction, transfer.bytes)
    alike: defaultdict[object, list[Op]] = defaultdict(list)
    for op, claim in zip(ops(room.program.body), room.claims, strict=True):
        kept = room.residency.kept.get(op.name, NONE_KEPT)
        whole = tuple(name in kept for name in op.inputs)
        striped = op.name in room.residency.striped
        weights = room.program.block_bytes(op)
        alike[op.work, weights, channels[op.name], claim, striped, whole].append(op)

    def by_cost(group: list[Op]) -> int:
        return -sum(cost[op.name] for op in group)

    several = [group for group in alike.values() if len(group) > 1]
    single = [[op] for op in ops(room.program.body)]
    return sorted(several, key=by_cost) + sorted(single, key=by_cost)


def alternatives(room: Room, op: Op, channels: int) -> Iterator[Tiling]:
    """Other cuts of ``op``, which has slices of so many ``channels`` now, within the memory left to it."""
    names = [each.name for each in ops(room.program.body)]
    at = names.index(op.name)
    if op.name in room.residency.striped:
        yield from _stripes(room, op, room.budget - room.residency.through[at])
    elif room.program.block_bytes(op):
        yield from _slices(room, op, room.budget - room.claims[at], channels)


def _stripes(room: Room, op: Op, left: int) -> Iterator[Tiling]:
    """The quickest alone, and those that ask least of both units together."""
    kept = room.residency.kept.get(op.name, NONE_KEPT)
    fitting = [cut for cut in cuts(room.program, room.chip, op, kept) if cut.bytes <= left]
    both = sorted(fitting, key=lambda cut: (cut.cycles + cut.dma // 2, cut.bytes))[:5]
    alone = sorted(fitting, key=lambda cut: (cut.cycles, cut.bytes))[:3]
    least = sorted(fitting, key=lambda cut: (cut.npu + cut.dma, cut.bytes))[:2]
    yield from dict.fromkeys(cut.tiling for cut in (*both, *alone, *least))


def _slices(room: Room, op: Op, left: int, channels: int) -> Iterator[Tiling]:
    total = op.work.channels
    widths = sorted({-(-total // count) for count in SLICES if count <= total})
    fitting = [width for width in widths if slice_bytes(room.program, op, width) <= left]
    now = min(range(len(fitting)), key=lambda i: abs(fitting[i] - channels), default=0)
    for at in sorted(range(len(fitting)), key=lambda i: abs(i - now))[: 2 * NEAR + 1]:
        if fitting[at] != channels:
            yield whole_tiling(op, fitting[at])
