"""Schedules in the ways of a path over the listed ones (``dma.columns``): cascades, tilings, what stays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, groupby, pairwise
from typing import NamedTuple

from chipmodel.cascades.rewrite import with_cascades
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share
from chipmodel.model.program import Op, Program
from chipmodel.model.schedule import BufferSpec, Schedule, steps
from dma.columns.chosen import ChosenWay
from dma.residency.by_ways import StayingTensors
from dma.residency.greedy import Residency, decide
from dma.residency.tiling import NONE_KEPT, Tiling, slice_bytes, sliced, stripe_bytes, striped
from dma.schedule.build import StreamRequest, emission_of, inside_bytes, schedule_of
from dma.schedule.forecast import TransferTimes
from dma.schedule.operands import Emission
from dma.schedule.streamer import IssuedTransfer, IssuePlan, MemoryBudget, Streamer, WeightSlices
from dma.streamers.idle_time import Span, bytes_at_steps, in_idle_time, weight_spans
from dma.streamers.ping_pong import TensorIssuer, stripes
from dma.streamers.sync import one_buffer

NAME = "shortest-path"
UNKNOWN = ChosenWay((), None, None, {}, {}, 0)
"""That of an op that no path has."""


class FreeMemoryUse(NamedTuple):
    """How a schedule uses the memory that its ways leave free: for stores after the step that makes what they
    store, and for weights before they are needed."""

    spared: int
    """64ths of SharedMemory that stay free, as buffers that fill all of it can hardly be packed."""
    in_turn: bool = False
    """Whether slices of weights pass through two buffers in turn where both have room."""


FREE_MEMORY_USES = (
    *map(FreeMemoryUse, (0, 1, 2, 4, 8, 16, 32)),
    FreeMemoryUse(64, in_turn=True),
    FreeMemoryUse(64),
)
"""The first one mostly takes the fewest cycles; the less is used, the easier buffers are packed."""


def program_in_ways(program: Program, ways: Sequence[ChosenWay]) -> Program:
    """Return ``program`` with the cascades of ``ways``. Raises ValueError where one is impossible."""
    return with_cascades(program, [way.cascade for way in ways if way.cascade])


def schedules_in_ways(
    request: StreamRequest, ways: Sequence[ChosenWay], uses: Sequence[FreeMemoryUse] = FREE_MEMORY_USES
) -> Iterator[Schedule]:
    """Yield a schedule of ``program_in_ways`` in which ops run in their ways for each of ``uses``.

    Raises DoesNotFit where tensors that the path does not follow leave too little room.
    """
    program, budget = request.program, request.budget
    ops = list(program.ops())
    by_name = {name: way for way in ways for name in way.ops}
    chosen = [by_name.get((*op.cascade, op)[0].name, UNKNOWN) for op in ops]
    tilings = {op.name: way.tiling for op, way in zip(ops, chosen, strict=True) if way.tiling}
    widths = {op.name: _width(request, op, tilings.get(op.name)) for op in ops}
    staying = StayingTensors(
        ops,
        [way.before for way in chosen],
        [way.after for way in chosen],
        [bool(op.cascade) or (op.name in tilings and tilings[op.name].count(op) > 1) for op in ops],
        [way.bytes for way in chosen],
    )
    inside = {op.name: inside_bytes(op) for op in ops}

    def reserve(op: Op) -> int:
        return slice_bytes(program, op, widths[op.name]) + inside[op.name]

    residency = decide(program, budget, reserve, request.spill, staying)
    through = tuple(live + inside[op.name] for op, live in zip(ops, residency.through, strict=True))
    residency = replace(residency, through=through)
    parts = (_stripes(program, op, residency, tilings) for op in ops)
    claims = tuple(live + size for live, size in zip(through, parts, strict=True))
    streamers = [
        Streamer(
            name=NAME,
            double_buffered=True,
            reserve=one_buffer,
            slices=partial(_slices, widths=widths),
            issue=partial(_issue, widths=widths, use=use),
            cut=partial(_cut, tilings=tilings, widths=widths),
        )
        for use in uses
    ]
    faster = {
        op.name: replace(tilings[op.name], striped=False)
        for op in ops
        if op.name in tilings.keys() - residency.striped and len(tilings[op.name].stripes(op)) > 1
    }
    memory = MemoryBudget(program, request.chip, budget, 0, residency, claims, faster)
    emission = emission_of(
        streamers[0], memory
    )  # Streamers that differ in what they issue have the same steps.
    for streamer in streamers:
        yield schedule_of(request, streamer, memory, emission)


def _cut(
    memory: MemoryBudget, op: Op, left: int, tilings: Mapping[str, Tiling], widths: Mapping[str, int]
) -> Tiling | None:
    """The stripes of the path, or those that move the fewest bytes."""
    kept, width = memory.residency.kept.get(op.name, NONE_KEPT), widths[op.name]
    room = left - slice_bytes(memory.program, op, width)
    return tilings.get(op.name) or striped(memory.program, op, room, width, True, kept)


def _width(request: StreamRequest, op: Op, tiling: Tiling | None) -> int:
    """The channels of a slice of weights; where none are known, of at most a quarter of the memory."""
    if op.cascade or not op.weights:
        return op.work.channels
    if tiling is not None:
        return tiling.channels
    return sliced(request.program, op, request.budget // 4, request.chip.npu.array[1]) or 1


def _stripes(program: Program, op: Op, residency: Residency, tilings: Mapping[str, Tiling]) -> int:
    """Bytes of the stripe buffers of an op whose tiling is known."""
    if op.name not in residency.striped or op.name not in tilings:
        return 0
    return stripe_bytes(program, op, tilings[op.name], residency.kept.get(op.name, NONE_KEPT))


def _slices(memory: MemoryBudget, widths: Mapping[str, int]) -> WeightSlices:
    return WeightSlices(widths, lambda op: slice_bytes(memory.program, op, widths[op.name]))


def _issue(
    memory: MemoryBudget, emission: Emission, widths: Mapping[str, int], use: FreeMemoryUse
) -> IssuePlan:
    tensors = TensorIssuer(memory, emission, _slices(memory, widths).bytes_at)
    others = [*stripes(emission), *tensors.transfers()]
    own = bytes_at_steps(emission, weight_spans(emission))
    taken = bytes_at_steps(emission, _spans(tensors, others))
    left = [memory.budget - size - much for size, much in zip(taken, own, strict=True)]
    spared = memory.budget * use.spared // 64
    spare = [max(0, more - spared) for more in left]
    others = _later(memory, emission, others, spare, tensors)
    room = [size + more for size, more in zip(own, spare, strict=True)]
    issued, buffers = in_idle_time(memory, emission, others, room)
    if use.in_turn:
        issued, buffers = _in_turn(issued, left)
    return IssuePlan([*others, *issued], buffers)


def _in_turn(issued: Sequence[IssuedTransfer], left: Sequence[int]) -> IssuePlan:
    """Let the slices of an op pass through two buffers in turn, each loaded while the one before is read,
    where there are bytes ``left`` for both."""
    transfers: list[IssuedTransfer] = []
    buffers: dict[str, BufferSpec] = {}
    in_order = sorted(issued, key=lambda load: load.need.first)
    for op, loads in groupby(in_order, key=lambda load: load.need.op):
        turns = [*loads]
        at_once = any(before.need.last >= load.need.first for before, load in pairwise(turns))
        size = max(load.need.bytes for load in turns)
        if at_once or min(left[turns[0].need.first : turns[-1].need.last + 1]) < size:
            transfers += turns
            continue
        for number, load in enumerate(turns):
            name = f"{op}.turn{number % 2}"
            buffers[name] = BufferSpec(name, size, kind="weights")
            issue = turns[number - 1].need.first if number else load.issue
            transfers.append(IssuedTransfer(load.need, name, issue, load.need.first))
    return IssuePlan(transfers, buffers)


def _spans(tensors: TensorIssuer, issued: Sequence[IssuedTransfer]) -> Iterator[Span]:
    """Those of all buffers but for those of weights."""
    positions = {name: [at for at, _ in touches] for name, touches in tensors.touches.items()}
    for transfer in issued:
        positions.setdefault(transfer.buffer, []).extend((transfer.issue, transfer.due))
    for name, spec in tensors.emission.buffers.items():
        if at := positions.get(name):
            yield Interval(min(at), max(at) + 1), spec.bytes


def _later(
    memory: MemoryBudget,
    emission: Emission,
    issued: list[IssuedTransfer],
    left: list[int],
    tensors: TensorIssuer,
) -> list[IssuedTransfer]:
    """Wait later for the last stores of buffers that no further step touches: until they end if steps wait
    for nothing, where nothing stored is loaded again by then and there are bytes ``left``."""
    cycles, ended = TransferTimes(memory.chip), [*accumulate(step.cycles for step in steps(emission.body))]
    last: dict[str, int] = {}
    loaded: dict[str, list[tuple[Share, int]]] = {}
    for each in issued:
        last[each.buffer] = max(each.due, last.get(each.buffer, -1))
        if each.need.direction == "load" and not each.need.part.weights:
            loaded.setdefault(each.need.part.name, []).append((each.need.part.share, each.issue))
    for name, touches in tensors.touches.items():
        last[name] = max(last.get(name, -1), *(at for at, _ in touches))
    found, clock = list(issued), 0
    for number in sorted(range(len(issued)), key=lambda number: issued[number].issue):
        each = issued[number]
        need, position = each.need, each.due
        if need.direction != "store":
            continue
        clock = max(clock, ended[each.issue]) + cycles.of(need)
        if last[each.buffer] > position:
            continue
        size, shares = emission.buffers[each.buffer].bytes, loaded.get(need.part.name, ())
        loads = (at for share, at in shares if at > position and share.overlaps(need.part.share))
        stop = min(loads, default=len(ended))
        while ended[position] < clock and position + 1 < stop and left[position + 1] >= size:
            if emission.straight_chain[position + 1] != emission.straight_chain[each.due]:
                break
            position += 1
            left[position] -= size
        found[number] = replace(each, due=position)
    return found
