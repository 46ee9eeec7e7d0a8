"""``exact``: what stays in SharedMemory by mixed-integer programming, for many tilings, refined by forecasts.

How large slices are, and what stays on chip besides them, is tried in several ways, and the fastest schedule
is used. Then ``dma.schedule.refine`` tiles single ops again. ``sync``, ``ping-pong``, ``weight-pipeline`` and
``prefetch-greedy`` are candidates too, so the forecast is never slower than theirs. Weights are loaded at the
positions of ``dma.streamers.weight_region``.

Not decided together: offsets (the packer's, afterwards, in its usual rounds), tensors that leave SharedMemory
(``dma.residency.joint``, the state search over memory tiers or ``dma.residency.greedy``, whichever gives the
fastest schedule) and the order of ops.

Source: chipmodel; tries the streamers of Wang et al. 2025 and of the edge-framework patent (CN, 2021) as
well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from chipmodel.geometry.interval import Interval
from chipmodel.model.planner_table import whole_setting
from chipmodel.model.program import Op, ops
from chipmodel.records import dataclass
from chipmodel.timing.transfer import transfer_cycles
from dma.residency.best_cuts import best_cut, quickest_slices, slices_cycles, whole_cut
from dma.residency.tiling import NONE_KEPT, Tiling, least_weights, slice_bytes, sliced
from dma.schedule.operands import Emission
from dma.schedule.streamer import (
    Decider,
    IssuedTransfer,
    IssuePlan,
    MemoryBudget,
    Recut,
    Streamer,
    StreamerPortfolio,
    WeightSlices,
)
from dma.streamers import ping_pong_across, prefetch_greedy, resident_knapsack
from dma.streamers.ping_pong import TensorIssuer, stripes
from dma.streamers.resident_slices import WHOLE_SHARE, issue_with_residents, resident_bytes
from dma.streamers.sync import one_buffer
from dma.streamers.weight_pipeline import Room, issued_weights, room_of
from dma.streamers.weight_region import issue_positions

NAME = "exact"
REFINED_STEPS = 8_000
"""Steps of all schedules together with which ``dma.schedule.refine`` may try other tilings of single ops."""
MAX_STEPS = 10**9
"""Steps that a user may ask for; more is a typing error."""
WEIGHT_FLOOR_DIVISORS = (8, 64)
"""Weight floors that are tried, as ``dma.schedule.build.WEIGHT_FLOOR_DIVISORS``."""
SLICES_AT_ONCE = (4, 2, 8, 1)
"""Slice sizes that are tried: this many slices of a block fit at once."""
DECIDERS: tuple[Decider, ...] = ("joint", "tiers", "greedy")

WIDER_SLICES_AT_ONCE = (1, 2, 3, 4, 6)
"""Slice sizes compared for a block that does not fit whole: this many slices fit at once."""
REQUIRED_SPEEDUP = 0.9
"""Share of the cycles: another slice size is taken if its estimate is below this."""
ALLOWED_SLOWDOWN = 1.001
"""Share of the NPU's cycles: weights that stay are cut into slices if this takes no longer."""
WHOLE_INPUT_DIVISOR = 4
"""An input's slice of an iteration is not cut if op and slice need at most this part of free memory."""


def with_steps(setting: str) -> StreamerPortfolio:
    """Return the portfolio that tries as many tilings of single ops as a user writes. Raises BadInput."""
    hint = f"0 to {MAX_STEPS:,}, as in {NAME}:20000"
    steps = whole_setting(NAME, setting, Interval(0, MAX_STEPS + 1), "number of steps to try", hint)
    return _portfolio(f"{NAME}:{steps}", steps)


def quick(name: str, decider: Decider, weight_floor_divisor: int, slices_at_once: int) -> Streamer:
    """Return one of the ways as ``name``: stripes by time, what stays by ``decider``, no single tilings."""
    variant = _Variant(decider, weight_floor_divisor, slices_at_once, 0)
    return replace(_streamer(variant), name=name, recut=None)


def _portfolio(name: str, steps: int) -> StreamerPortfolio:
    searched = (
        _streamer(_Variant(decider, divisor, slices_at_once, steps))
        for divisor in WEIGHT_FLOOR_DIVISORS
        for slices_at_once in SLICES_AT_ONCE
        for decider in DECIDERS
    )
    heuristics = prefetch_greedy.PORTFOLIO.candidates
    return StreamerPortfolio(
        name,
        candidates=(*heuristics, *searched),
        always_tried=len(heuristics),
        in_loops=(ping_pong_across.STREAMER, resident_knapsack.PROBE),
        searches_offsets=True,
    )


@dataclass(frozen=True, slots=True)
class _Variant:
    """One way to divide the memory, and the steps with which single ops are tiled again."""

    decider: Decider
    weight_floor_divisor: int
    slices_at_once: int
    steps: int


def _streamer(variant: _Variant, given: Mapping[str, Tiling] | None = None) -> Streamer:
    """The streamer of one variant, with the ``given`` tilings of some ops."""
    tilings = given or {}

    def slices(memory: MemoryBudget) -> WeightSlices:
        return _slices(memory, variant.slices_at_once, tilings)

    def issue(memory: MemoryBudget, emission: Emission) -> IssuePlan:
        return _issue(memory, emission, slices(memory).bytes_at, variant.steps > 0)

    def cut(memory: MemoryBudget, op: Op, left: int) -> Tiling | None:
        return tilings[op.name] if op.name in tilings else _cut(memory, op, left)

    def recut(cuts: Mapping[str, Tiling], quickly: bool) -> Streamer:
        return _streamer(replace(variant, steps=0) if quickly else variant, cuts)

    return Streamer(
        name=NAME,
        double_buffered=True,
        reserve=one_buffer,
        slices=slices,
        issue=issue,
        cut=cut,
        weight_floor_divisors=(variant.weight_floor_divisor,),
        decider=variant.decider,
        recut=Recut(recut, variant.steps),
    )


def _slices(memory: MemoryBudget, slices_at_once: int, given: Mapping[str, Tiling]) -> WeightSlices:
    """Slices of which ``slices_at_once`` fit beside all else, except for ops with ``given`` tilings."""
    program = memory.program
    channels: dict[str, int] = {}
    depths: dict[str, int] = {}
    stays = resident_bytes(memory)
    for op, claim, through in zip(ops(program.body), memory.claims, memory.residency.through, strict=True):
        left = memory.budget - claim - stays[op.name]
        limit = max(least_weights(program, op, memory.weight_floor), left // slices_at_once)
        channels[op.name] = quickest_slices(program, memory.chip, op, limit) or 1
        if memory.residency.staying.get(op.name, 0.0) > WHOLE_SHARE:
            channels[op.name] = _resident_width(memory, op, slices_at_once)
        elif program.block_bytes(op) > max(0, left):
            channels[op.name] = _fastest_width(memory, op, left, channels[op.name])
        striped = op.name in memory.residency.striped
        tiling = given.get(op.name) or (_cut(memory, op, memory.budget - through) if striped else None)
        if tiling is not None:
            channels[op.name] = tiling.channels
            depths[op.name] = tiling.depth if tiling.channels < op.work.channels else 1
    return WeightSlices(
        channels, lambda op: slice_bytes(program, op, channels[op.name]) * depths.get(op.name, 1)
    )


def _resident_width(memory: MemoryBudget, op: Op, slices: int) -> int:
    """Output channels of one of ``slices`` slices where these take the NPU hardly longer than the whole
    block, otherwise all channels: weights that stay are cut for the sake of the first iteration only."""
    width = sliced(memory.program, op, -(-memory.program.block_bytes(op) // slices), memory.granule)
    whole = slices_cycles(memory.chip, op, op.work.channels)
    cheap = width is not None and slices_cycles(memory.chip, op, width) <= whole * ALLOWED_SLOWDOWN
    return width if cheap and width else op.work.channels


def _fastest_width(memory: MemoryBudget, op: Op, left: int, width: int) -> int:
    """Output channels of a slice: ``width``, or a width that is much faster by an estimate.

    Loading and computing overlap in the estimate where two slices fit into ``left`` bytes.
    """
    program = memory.program
    load = transfer_cycles(memory.chip, "weights", program.block_bytes(op))

    def cycles(channels: int) -> int:
        npu, size = slices_cycles(memory.chip, op, channels), slice_bytes(program, op, channels)
        first = transfer_cycles(memory.chip, "weights", size)
        return max(npu, load - first) + first if 2 * size <= left else npu + load

    widths = [sliced(program, op, left // count, memory.granule) for count in WIDER_SLICES_AT_ONCE]
    fits = [w for w in (*widths, memory.granule) if w and slice_bytes(program, op, w) <= left]
    best = min((width, *fits), key=cycles)
    return best if cycles(best) < REQUIRED_SPEEDUP * cycles(width) else width


def _cut(memory: MemoryBudget, op: Op, left: int) -> Tiling | None:
    """The fastest stripes of ``op`` within ``left`` bytes; None where none fit."""
    kept = memory.residency.kept.get(op.name, NONE_KEPT)
    if memory.residency.staying:
        left -= resident_bytes(memory)[op.name]
    if op.sliced is not None and not op.collects:
        whole = whole_cut(memory.program, memory.chip, op, kept)
        if whole.bytes * WHOLE_INPUT_DIVISOR <= left:
            return whole.tiling  # its slice may be loaded during the iteration before
    cut = best_cut(memory.program, memory.chip, op, left, kept)
    return None if cut is None else cut.tiling


def _issue(
    memory: MemoryBudget, emission: Emission, slice_bytes_at: Callable[[Op], int], thorough: bool
) -> IssuePlan:
    tensors = TensorIssuer(memory, emission, slice_bytes_at)
    others = [*stripes(emission), *tensors.transfers()]
    free = {op.name: tensors.slack[op.name] + slice_bytes_at(op) for op in ops(memory.program.body)}

    def issue_rest(decided: frozenset[int], room: Room) -> list[IssuedTransfer]:
        rest = replace(emission, needs=[need for need in emission.needs if id(need) not in decided])
        fixed = [transfer for transfer in others if id(transfer.need) not in decided]
        return [*fixed, *issued_weights(memory, rest, fixed, room, issue_positions)]

    return issue_with_residents(memory, emission, room_of(emission, free), issue_rest, thorough)


PORTFOLIO = _portfolio(NAME, REFINED_STEPS)
