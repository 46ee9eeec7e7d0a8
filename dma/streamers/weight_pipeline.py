"""``weight-pipeline``: weights through one region of memory, by a profile of the network (S4).

The network runs one op at a time, so a layer needs no weights but its own, and those of later layers may
overwrite the region of earlier ones. What every step computes and every load takes is known from the
chip's model beforehand; each slice is loaded so that ``load_end + jitter <= start`` of its layer, and
otherwise as early as memory allows (``dma.streamers.weight_region``). Each Region of S2 (a straight stretch
of steps) starts cold.

There is no buffer for the region: every slice is a buffer from the position of its load to its last
reader, and the packer makes of them, and of the tensors around them, what it can.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from chipmodel.chip.chip import Chip
from chipmodel.errors import BadInput
from chipmodel.model.program import Op, Program, ops
from chipmodel.model.schedule import BufferSpec, Late, Schedule, Step, steps
from dma.residency.greedy import Reserve
from dma.residency.tiling import slice_bytes, sliced
from dma.schedule.forecast import Move, late_weights, transfer_times
from dma.schedule.policy import Issued, Policy, Room
from dma.schedule.steps import Emission, Need
from dma.streamers.ping_pong import Neighbours, stripes
from dma.streamers.sync import least_weights
from dma.streamers.weight_region import Slice, Stretch, issue_positions

NAME = "weight-pipeline"
SLICES = 4
"""Slices of a cut block that fit at once. Two would do for the DMA engine, but packers find no room for large
pieces whose lifetimes overlap in a row."""
MOST_JITTER = 10**12
"""Core cycles; more is a mistake of who typed it."""


def _reserve(program: Program, keep: int) -> Reserve:
    """Room for the slice that an op reads, and for the next one beside it."""
    order = list(ops(program.body))
    least = [least_weights(program, op, keep) for op in order]
    both = _with_next(program, order, least)
    return lambda op: both[op.name]


def _with_next(program: Program, order: list[Op], sizes: list[int]) -> Mapping[str, int]:
    """Bytes at each op of its own slices and of the next, which may be of the same op."""
    result: dict[str, int] = {}
    following = 0
    for op, size in zip(reversed(order), reversed(sizes), strict=True):
        block = program.block_bytes(op)
        result[op.name] = size + (size if size < block else following)
        following = size if block else following
    return result


def _channels(room: Room) -> tuple[Mapping[str, int], Callable[[Op], int]]:
    """Whole blocks where two of that size fit beside everything else, else slices of which ``SLICES`` do."""
    program, order = room.program, list(ops(room.program.body))
    channels: dict[str, int] = {}
    sizes: list[int] = []
    free = {op.name: room.budget - claim for op, claim in zip(order, room.claims, strict=True)}
    for op in order:
        block, left = program.block_bytes(op), free[op.name]
        part = max(left // SLICES, least_weights(program, op, room.keep))
        channels[op.name] = sliced(program, op, block if 2 * block <= left else part, room.granule) or 1
        sizes.append(slice_bytes(program, op, channels[op.name]))
    both = _with_next(program, order, sizes)
    return channels, lambda op: min(both[op.name], max(free[op.name], 0))


def _issue(room: Room, emission: Emission, jitter: int) -> tuple[list[Issued], dict[str, BufferSpec]]:
    beside = _channels(room)[1]
    neighbours = Neighbours(room, emission, beside)
    issued = [*stripes(emission), *neighbours.tensors()]
    free = {op.name: neighbours.slack[op.name] + beside(op) for op in ops(room.program.body)}
    for needs, stretch in list(stretches(room.chip, emission, issued, free)):
        for need, position in zip(needs, issue_positions(stretch, jitter), strict=True):
            issued.append(Issued(need, need.buffer, position, need.first))
    return issued, {}


def stretches(
    chip: Chip,
    emission: Emission,
    fixed: list[Issued],
    free: Mapping[str, int],
    others: Sequence[Need] = (),
) -> Iterable[tuple[list[Need], Stretch]]:
    """The straight stretches that read weights, or have ``others`` to load: those needs, and what is known of
    the time they have. Where the others are due there is room for them already."""
    inside: dict[int, list[Step]] = defaultdict(list)
    for step in steps(emission.body):
        inside[emission.stretch[step.position]].append(step)
    needs: dict[int, list[Need]] = defaultdict(list)
    weights = [need for need in emission.needs if need.kind == "weights"]
    for need in sorted((*weights, *others), key=lambda need: need.first):
        needs[emission.stretch[need.first]].append(need)
    there = Counter[int]()
    for need in others:
        there[need.first] += emission.buffers[need.buffer].bytes
    cycles = transfer_times(chip)

    def taken(need: Need) -> Slice:
        time = cycles("load", need.bytes)
        if need.kind == "weights":
            return Slice(need.bytes, need.first, need.last, time)
        return Slice(emission.buffers[need.buffer].bytes, need.first, need.first, time)

    moves: dict[int, list[Move]] = defaultdict(list)
    for decision in fixed:
        way, size = decision.need.direction, decision.need.bytes
        move = Move(way, decision.issue, decision.due, cycles(way, size))
        moves[emission.stretch[decision.issue]].append(move)
    for number, group in needs.items():
        yield (
            group,
            Stretch(
                first=inside[number][0].position,
                computes=[step.cycles for step in inside[number]],
                room=[free[step.op] + there[step.position] for step in inside[number]],
                slices=[taken(need) for need in group],
                fixed=moves[number],
            ),
        )


def _policy(name: str, jitter: int) -> Policy:
    def issue(room: Room, emission: Emission) -> tuple[list[Issued], dict[str, BufferSpec]]:
        return _issue(room, emission, jitter)

    def late(schedule: Schedule, chip: Chip) -> tuple[Late, ...]:
        return late_weights(schedule, chip, jitter)

    return Policy(
        name=name,
        title="weights just in time by a profile; weight-pipeline:500 has them 500 cycles before",
        source="S4 (inference frameworks), weight pipeline",
        double=True,
        reserve=_reserve,
        channels=_channels,
        issue=issue,
        late=late,
    )


def _configured(setting: str) -> Policy:
    digits = setting.isascii() and setting.isdigit() and len(setting) <= len(str(MOST_JITTER))
    if not digits or int(setting) > MOST_JITTER:
        raise BadInput(
            f"{NAME}:{setting[:60]} is no allowance for jitter",
            hint=f"core cycles, 0 to {MOST_JITTER:,}, as in {NAME}:500",
        )
    return _policy(f"{NAME}:{int(setting)}", int(setting))


POLICY = replace(_policy(NAME, 0), configured=_configured)
