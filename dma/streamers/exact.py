"""``exact``: when each weight slice is loaded, by search, with what is proven about it.

On each straight stretch ``solvers.loads.exact`` decides at which step every load is issued, and so the
order of the queue and how far ahead it goes. What a stretch is given is tried in several ways, and the
quickest schedule taken: how large slices are, and what stays on chip beside them. Then
``dma.schedule.refine`` cuts single ops again. ``sync``, ``ping-pong``, ``weight-pipeline`` and
``prefetch-greedy`` take part as they are, so the forecast is never slower than theirs.

Not decided together: offsets (the packer's, afterwards, with its usual rounds), tensors that leave
SharedMemory (``dma.residency.greedy``, or S1's search, whichever is quicker then) and the order of ops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from chipmodel.errors import BadInput
from chipmodel.model.program import Op, Program, ops
from chipmodel.model.schedule import BufferSpec
from dma.residency.best_cuts import best_cut, slices_cycles, whole_cut
from dma.residency.greedy import Reserve
from dma.residency.tiling import NONE_KEPT, Tiling, slice_bytes, sliced
from dma.schedule.forecast import Move
from dma.schedule.policy import Decider, Issued, Policy, Room
from dma.schedule.steps import Emission, Need
from dma.streamers import ping_pong_across, prefetch_greedy, sync
from dma.streamers import resident_knapsack as resident
from dma.streamers.early_loads import Early
from dma.streamers.ping_pong import Neighbours, stripes
from dma.streamers.resident_slices import ALL, decide_stays, held
from dma.streamers.sync import least_weights
from dma.streamers.weight_pipeline import stretches
from dma.streamers.weight_region import Stretch, issue_positions
from dma.timing.transfer import transfer_cycles
from solvers.core.outcome import Limits
from solvers.loads.exact import solve_stream
from solvers.loads.problem import StreamMove, StreamProblem, StreamSlice

NAME = "exact"
NODES = 2_000
"""States that the search looks at on each stretch of each way: a tenth of a second."""
REFINES = 4
"""Steps of schedules with other cuts for each of those states."""
GAP = 0.001
"""A stretch this near to its bound is not searched any further."""
MOST_NODES = 10**9
MOST_PLACES = 100_000
"""Slices times steps of a stretch that is searched; a longer one keeps the loads of
``dma.streamers.weight_region``."""
PARTS = (8, 64)
"""Ways to share the memory, as ``stream.PARTS_FOR_WEIGHTS``."""
DECIDERS: tuple[Decider, ...] = ("joint", "tiers", "greedy")
FITTING = (1, 2, 3, 4, 6)
MUCH = 0.9
HARDLY = 1.001
ROOMY = 4
"""A slice of an input that takes no more than this part of what is left is not cut any further."""
PIECES = (4, 2, 8, 1)
"""Ways to cut: this many slices of a block fit at once."""


def stream_problem(stretch: Stretch, since: Sequence[int] = ()) -> StreamProblem:
    """``stretch`` for ``solvers.loads.exact``, its first step being 0; its slices may be loaded from the
    positions ``since`` on, or from the first."""
    first = stretch.first
    moves = (StreamMove(m.direction, m.issue - first, m.due - first, m.cycles) for m in stretch.fixed)
    opens = since or [first] * len(stretch.slices)
    return StreamProblem(
        tuple(stretch.computes),
        tuple(stretch.room),
        tuple(
            StreamSlice(s.bytes, s.first - first, s.last - first, s.cycles, max(0, opening - first))
            for s, opening in zip(stretch.slices, opens, strict=True)
        ),
        tuple(moves),
    )


def _positions(needs: Sequence[Need], stretch: Stretch, since: Sequence[int], nodes: int) -> list[int]:
    hint = _hint(needs, stretch)
    if not nodes or len(stretch.slices) * len(stretch.computes) > MOST_PLACES:
        return hint
    problem = stream_problem(stretch, since)
    first = stretch.first
    return [first + p for p in _solved(problem, nodes, tuple(p - first for p in hint))]


def _hint(needs: Sequence[Need], stretch: Stretch) -> list[int]:
    """Weights by ``dma.streamers.weight_region``, all else where it is due."""
    positions = [need.first for need in needs]
    weights = [i for i, need in enumerate(needs) if need.kind == "weights"]
    room, fixed = list(stretch.room), list(stretch.fixed)
    for need, each in zip(needs, stretch.slices, strict=True):
        if need.kind != "weights":
            room[need.first - stretch.first] -= each.bytes
            fixed.append(Move("load", need.first, need.first, each.cycles))
    alone = replace(stretch, room=room, fixed=fixed, slices=[stretch.slices[i] for i in weights])
    for index, position in zip(weights, issue_positions(alone), strict=True):
        positions[index] = position
    return positions


@lru_cache(maxsize=256)
def _solved(problem: StreamProblem, nodes: int, hint: tuple[int, ...]) -> tuple[int, ...]:
    """Ways that cut alike ask for the same."""
    return solve_stream(problem, Limits(nodes=nodes), hint=hint, gap=GAP).positions


def _least(program: Program, keep: int) -> Reserve:
    return lambda op: least_weights(program, op, keep)


def _way(
    decider: Decider, part: int, pieces: int, nodes: int, told: Mapping[str, Tiling] | None = None
) -> Policy:
    """``told``: cuts of some ops, as they are."""

    def channels(room: Room) -> tuple[Mapping[str, int], Callable[[Op], int]]:
        return _channels(room, pieces, told or {})

    def issue(room: Room, emission: Emission) -> tuple[list[Issued], dict[str, BufferSpec]]:
        return _issue(room, emission, channels(room)[1], nodes)

    def cut(room: Room, op: Op, left: int) -> Tiling | None:
        return told[op.name] if told and op.name in told else _cut(room, op, left)

    def recut(cuts: Mapping[str, Tiling], quickly: bool) -> Policy:
        return _way(decider, part, pieces, 0 if quickly else nodes, cuts)

    return Policy(
        name=NAME,
        title=f"1/{part} of the memory for weights, {pieces} slices at once",
        source="",
        double=True,
        reserve=_least,
        channels=channels,
        issue=issue,
        cut=cut,
        parts=(part,),
        decider=decider,
        recut=recut,
        refines=REFINES * nodes,
    )


def _channels(
    room: Room, pieces: int, told: Mapping[str, Tiling]
) -> tuple[Mapping[str, int], Callable[[Op], int]]:
    """Slices of which ``pieces`` fit beside everything else, but for ops whose cuts are ``told``."""
    program = room.program
    channels: dict[str, int] = {}
    depths: dict[str, int] = {}
    stays = held(room)
    for op, claim, through in zip(ops(program.body), room.claims, room.residency.through, strict=True):
        left = room.budget - claim - stays[op.name]
        limit = max(least_weights(program, op, room.keep), left // pieces)
        channels[op.name] = sliced(program, op, limit, room.granule) or 1
        if room.residency.staying.get(op.name, 0.0) > ALL:
            channels[op.name] = _for_nothing(room, op, pieces)
        elif program.block_bytes(op) > max(0, left):
            channels[op.name] = _quickest(room, op, left, channels[op.name])
        striped = op.name in room.residency.striped
        tiling = told.get(op.name) or (_cut(room, op, room.budget - through) if striped else None)
        if tiling is not None:
            channels[op.name] = tiling.channels
            depths[op.name] = tiling.depth if tiling.channels < op.work.channels else 1
    return channels, lambda op: slice_bytes(program, op, channels[op.name]) * depths.get(op.name, 1)


def _for_nothing(room: Room, op: Op, pieces: int) -> int:
    """Output channels of so many slices where they take the NPU hardly longer, and else all: what stays is
    cut for the first iteration alone."""
    width = sliced(room.program, op, -(-room.program.block_bytes(op) // pieces), room.granule)
    whole = slices_cycles(room.chip, op, op.work.channels)
    cheap = width is not None and slices_cycles(room.chip, op, width) <= whole * HARDLY
    return width if cheap and width else op.work.channels


def _quickest(room: Room, op: Op, left: int, width: int) -> int:
    """Output channels a slice: ``width``, or what is much quicker, by what loading and computing take one
    beside the other where two slices fit, and else one after the other."""
    program = room.program
    load = transfer_cycles(room.chip, "load", program.block_bytes(op))

    def cycles(channels: int) -> int:
        npu, size = slices_cycles(room.chip, op, channels), slice_bytes(program, op, channels)
        first = transfer_cycles(room.chip, "load", size)
        return max(npu, load - first) + first if 2 * size <= left else npu + load

    widths = [sliced(program, op, left // pieces, room.granule) for pieces in FITTING]
    fits = [w for w in (*widths, room.granule) if w and slice_bytes(program, op, w) <= left]
    best = min((width, *fits), key=cycles)
    return best if cycles(best) < MUCH * cycles(width) else width


def _cut(room: Room, op: Op, left: int) -> Tiling | None:
    if room.residency.staying:
        left -= held(room)[op.name]
    if op.sliced is not None and not op.collects:
        whole = whole_cut(room.program, room.chip, op, room.residency.kept.get(op.name, NONE_KEPT))
        if whole.bytes * ROOMY <= left:
            return whole.tiling  # its slice may come during the iteration before
    cut = best_cut(room.program, room.chip, op, left, room.residency.kept.get(op.name, NONE_KEPT))
    return None if cut is None else cut.tiling


def _issue(
    room: Room, emission: Emission, beside: Callable[[Op], int], nodes: int
) -> tuple[list[Issued], dict[str, BufferSpec]]:
    neighbours = Neighbours(room, emission, beside)
    issued = [*stripes(emission), *neighbours.tensors()]
    early = Early(room, emission, issued, neighbours.take)
    free = {op.name: neighbours.slack[op.name] + beside(op) for op in ops(room.program.body)}

    def decisions(decided: frozenset[int], free: Mapping[str, int], quickly: bool) -> list[Issued]:
        some = replace(emission, needs=[need for need in emission.needs if id(need) not in decided])
        fixed = [d for d in early.fixed if id(d.need) not in decided]
        others = [need for need in early.needs if id(need) not in decided]
        for needs, stretch in list(stretches(room.chip, some, fixed, free, others)):
            since = [early.since(need, stretch.first) for need in needs]
            positions = _positions(needs, stretch, since, 0 if quickly else nodes)
            for need, position in zip(needs, positions, strict=True):
                fixed.append(Issued(need, need.buffer, position, need.first))
        return fixed

    return decide_stays(room, emission, free, decisions, nodes)


def _policy(name: str, nodes: int) -> Policy:
    ways = [_way(decider, part, pieces, nodes) for part in PARTS for pieces in PIECES for decider in DECIDERS]
    heuristics = prefetch_greedy.POLICY.rivals
    return Policy(
        name=name,
        title="when to load, searched for many ways to cut; exact:20000 looks at more",
        source="exact search; prefetch-greedy, S2 and S4 take part",
        double=True,
        reserve=_least,
        channels=sync.POLICY.channels,
        issue=sync.POLICY.issue,
        rivals=(*heuristics, *ways),
        in_loops=(ping_pong_across.POLICY, resident.KEEPING),
        sure=len(heuristics),
        squeezes=True,
    )


def _configured(setting: str) -> Policy:
    digits = setting.isascii() and setting.isdigit() and len(setting) <= len(str(MOST_NODES))
    if not digits or int(setting) > MOST_NODES:
        raise BadInput(
            f"{NAME}:{setting[:60]} is no number of states to look at",
            hint=f"0 to {MOST_NODES:,}, as in {NAME}:20000",
        )
    return _policy(f"{NAME}:{int(setting)}", int(setting))


POLICY = replace(_policy(NAME, NODES), configured=_configured)
