"""``weight-pipeline``: weights just in time through one region of memory, by a profile of the network.

The network runs one op at a time, so a layer needs no weights but its own, and those of later layers may
overwrite the memory of earlier ones. How long every step computes and every load takes is known from the
chip's model in advance; each slice is loaded so that ``load_end + jitter <= start`` of its layer, and
otherwise as early as memory allows (``dma.streamers.weight_region``). Each straight chain of steps starts
without weights.

There is no buffer for the region: every slice is a buffer from the position of its load to its last
reader, and the packer places these and the tensors around them.

Source: the edge-framework patent (CN, 2021), weight pipeline (docs/references.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip import Chip
from chipmodel.model.planner_table import whole_setting
from chipmodel.model.program import Op, Program, ops
from chipmodel.model.schedule import Late, Schedule, steps
from dma.residency.greedy import Reserve
from dma.residency.tiling import least_weights, slice_bytes, sliced
from dma.schedule.forecast import ChainTransfer, TransferTimes, late_weights
from dma.schedule.operands import Emission, TransferNeed
from dma.schedule.streamer import IssuedTransfer, IssuePlan, MemoryBudget, Streamer, WeightSlices
from dma.streamers.ping_pong import TensorIssuer, extents, stripes
from dma.streamers.weight_region import StepChain, WeightSlice, issue_positions

NAME = "weight-pipeline"
SLICES_AT_ONCE = 4
"""Slices of a cut block that fit at once. Two would do for the DMA engine, but packers find no plan for large
buffers with overlapping lifetimes. Measured on ResNet-50 and MobileNetV2 (docs/decisions)."""
MAX_JITTER_CYCLES = 10**12
"""Core cycles; more is a typing error."""


def with_jitter(setting: str) -> Streamer:
    """Return the streamer with the core cycles of jitter that a user writes. Raises BadInput."""
    hint = f"core cycles, 0 to {MAX_JITTER_CYCLES:,}, as in {NAME}:500"
    jitter = whole_setting(NAME, setting, Interval(0, MAX_JITTER_CYCLES + 1), "jitter allowance", hint)
    return _streamer(f"{NAME}:{jitter}", jitter)


def _streamer(name: str, jitter: int) -> Streamer:
    def issue(memory: MemoryBudget, emission: Emission) -> IssuePlan:
        return _issue(memory, emission, jitter)

    def late(schedule: Schedule, chip: Chip) -> tuple[Late, ...]:
        return late_weights(schedule, chip, jitter)

    return Streamer(name, double_buffered=True, reserve=_reserve, slices=_slices, issue=issue, late=late)


def _reserve(program: Program, weight_floor: int) -> Reserve:
    """Room for the slice that an op reads, and for the next one; for no more than ``weight_floor`` of the
    next one where that is the block of a cascade, which cannot be cut: it may come late."""
    order = list(ops(program.body))
    least = [least_weights(program, op, weight_floor) for op in order]
    both = _with_next(program, order, least, weight_floor)
    return lambda op: both[op.name]


def _with_next(
    program: Program, order: list[Op], sizes: list[int], ahead: int | None = None
) -> Mapping[str, int]:
    """Bytes at each op of its own slice and the next; of a cascade's at most ``ahead`` bytes."""
    result: dict[str, int] = {}
    following = 0
    for op, size in zip(reversed(order), reversed(sizes), strict=True):
        block = program.block_bytes(op)
        result[op.name] = size + (size if size < block else following)
        coming = size if ahead is None or not op.cascade else min(size, ahead)
        following = coming if block else following
    return result


def _slices(memory: MemoryBudget) -> WeightSlices:
    """Whole blocks where two fit beside all else, otherwise slices of which ``SLICES_AT_ONCE`` do."""
    program, order = memory.program, list(ops(memory.program.body))
    channels: dict[str, int] = {}
    sizes: list[int] = []
    free = {op.name: memory.budget - claim for op, claim in zip(order, memory.claims, strict=True)}
    for op in order:
        block, left = program.block_bytes(op), free[op.name]
        part = max(left // SLICES_AT_ONCE, least_weights(program, op, memory.weight_floor))
        channels[op.name] = sliced(program, op, block if 2 * block <= left else part, memory.granule) or 1
        sizes.append(slice_bytes(program, op, channels[op.name]))
    both = _with_next(program, order, sizes)
    return WeightSlices(channels, lambda op: min(both[op.name], max(free[op.name], 0)))


def _issue(memory: MemoryBudget, emission: Emission, jitter: int) -> IssuePlan:
    kept = _slices(memory).bytes_at
    tensors = TensorIssuer(memory, emission, kept)
    issued = [*stripes(emission), *tensors.transfers()]
    free = {op.name: tensors.slack[op.name] + kept(op) for op in ops(memory.program.body)}
    positions = partial(issue_positions, jitter=jitter)
    weights = issued_weights(memory, emission, issued, room_of(emission, free), positions)
    return IssuePlan([*issued, *weights], {})


Room = Sequence[int]
"""The bytes for weights at each step."""


def room_of(emission: Emission, free: Mapping[str, int]) -> Room:
    """Return the room at the steps of ops that have so many bytes ``free`` for weights."""
    return [free[step.op] for step in steps(emission.body)]


def issued_weights(
    memory: MemoryBudget,
    emission: Emission,
    others: list[IssuedTransfer],
    room: Room,
    positions: Callable[[StepChain], Sequence[int]],
) -> list[IssuedTransfer]:
    """Return the loads of all weights, each issued at the one of ``positions`` that belongs to its slice."""
    regions = [range(span.start, span.stop) for span in extents(emission.straight_chain).values()]
    return [
        IssuedTransfer(need, need.buffer, position, need.first)
        for _, needs, chain in timed_chains(memory.chip, emission, others, room, regions)
        for need, position in zip(needs, positions(chain), strict=True)
    ]


def timed_chains(
    chip: Chip,
    emission: Emission,
    fixed: list[IssuedTransfer],
    room: Room,
    chains: Sequence[Sequence[int]],
) -> Iterator[tuple[int, list[TransferNeed], StepChain]]:
    """Yield the number, needs and timing of those of ``chains`` that read weights, by the positions of their
    steps. Steps are numbered from the position of the first one on."""
    number_of = {at: number for number, positions in enumerate(chains) for at in positions}
    place = {at: here for positions in chains for here, at in enumerate(positions, positions[0])}
    listed, cycles = list(steps(emission.body)), TransferTimes(chip)
    needs: dict[int, list[TransferNeed]] = defaultdict(list)
    weights = (need for need in emission.needs if need.kind == "weights")
    for need in sorted(weights, key=lambda need: need.first):
        needs[number_of[need.first]].append(need)
    transfers: dict[int, list[ChainTransfer]] = defaultdict(list)
    for issued in fixed:
        need, issue, due = issued.need, place[issued.issue], place[issued.due]
        transfer = ChainTransfer(need.direction, issue, due, cycles.of(need))
        transfers[number_of[issued.issue]].append(transfer)
    for number in sorted(needs):
        yield (
            number,
            needs[number],
            StepChain(
                first=chains[number][0],
                computes=tuple(listed[at].cycles for at in chains[number]),
                room=tuple(room[at] for at in chains[number]),
                slices=tuple(
                    WeightSlice(n.bytes, place[n.first], place[n.last], cycles.of(n)) for n in needs[number]
                ),
                fixed=tuple(transfers[number]),
            ),
        )


STREAMER = _streamer(NAME, 0)
