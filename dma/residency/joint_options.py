"""Options to run an op with some of its tensors passing in stripes, for the joint decision.

Each is a tiling of ``dma.residency.best_cuts``: its bytes, the transfers that it adds and the cycles that the
NPU loses. Ops whose tensors take little memory have no options: nothing is gained by moving these to Psram.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from chipmodel.model.program import Op
from chipmodel.npu.cycles import op_cycles
from chipmodel.timing.transfer import transfer_cycles
from dma.residency.best_cuts import TilingForecast, cuts, slices_cycles
from dma.residency.chip_tiers import ChipTierProblem
from dma.residency.tiling import slice_bytes
from solvers.residency.problem import PassingOption, ResidencyItem

SMALL_OP_DIVISOR = 8
"""An op whose tensors together take less than budget / divisor bytes keeps them there."""
MAX_COMBINED_OPERANDS = 3
"""Operands up to which every set of them may pass; of more, all or a single one."""
MAX_OPTIONS_PER_SET = 6
"""Tilings offered for each set of tensors that pass: each is a variable of the solver."""


def stripe_options(tiers: ChipTierProblem, items: Sequence[ResidencyItem]) -> Iterator[PassingOption]:
    """Yield the options of all but small ops. ``items`` are the blocks of ``tiers``, then the weights."""
    for step, op in enumerate(tiers.table.ops):
        if op.allocates or op.sliced is not None:
            continue
        if _weights(items, step):
            yield from _sliced(tiers, items, step, op)
        operands = [
            tiers.index[n] for n in dict.fromkeys((*op.inputs, *op.outputs)) if items[tiers.index[n]].bytes
        ]
        comes = any(not items[i].made or items[i].ends for i in operands)
        if comes or sum(items[i].bytes for i in operands) * SMALL_OP_DIVISOR > tiers.budget:
            for passing in _sets(operands):
                yield from _passing(tiers, items, step, op, passing)


def _sets(operands: list[int]) -> Iterator[tuple[int, ...]]:
    sizes = range(1, len(operands) + 1) if len(operands) <= MAX_COMBINED_OPERANDS else (1, len(operands))
    for size in sizes:
        yield from combinations(operands, size)


def _passing(
    tiers: ChipTierProblem, items: Sequence[ResidencyItem], step: int, op: Op, passing: tuple[int, ...]
) -> Iterator[PassingOption]:
    names = {items[i].name for i in passing}
    kept = frozenset((*op.inputs, *op.outputs)) - names
    npu = op_cycles(tiers.chip.npu, op, op.work.rows, op.work.channels)
    once = sum(_once(items[i], step) for i in passing) + _weights(items, step)
    beside = sum(items[i].bytes for i in range(len(tiers.names)) if step in items[i].touches) - sum(
        items[i].bytes for i in passing
    )
    room = tiers.budget - beside
    for cut in _best([cut for cut in cuts(tiers.program, tiers.chip, op, kept) if cut.bytes <= room]):
        least = min(cut.bytes, _passing_weights(items, step))
        lost = cut.npu - npu + (cut.dma if cut.tiling.depth == 1 else cut.ends)
        yield PassingOption(step, passing, cut.bytes - least, max(0, lost), max(0, cut.dma - once))


def _sliced(
    tiers: ChipTierProblem, items: Sequence[ResidencyItem], step: int, op: Op
) -> Iterator[PassingOption]:
    """Options with all tensors in SharedMemory and two slices of weights at once, with lost cycles."""
    whole = op_cycles(tiers.chip.npu, op, op.work.rows, op.work.channels)
    least = _passing_weights(items, step)
    granule = tiers.chip.npu.array[1]
    widths = sorted(
        {
            min(w, op.work.channels)
            for w in (1, granule // 4, granule // 2, granule, 4 * granule, op.work.channels)
            if w
        }
    )
    best: int | None = None
    for width in widths:
        pieces = -(-op.work.channels // width)
        lost = slices_cycles(tiers.chip, op, width) - whole
        size = slice_bytes(tiers.program, op, width) * min(2, pieces)
        if best is None or lost < best:
            best = lost
            yield PassingOption(step, (), max(0, size - least), max(0, lost), _set_ups(tiers, op, pieces))


def _set_ups(tiers: ChipTierProblem, op: Op, pieces: int) -> int:
    size = tiers.program.block_bytes(op)
    once = transfer_cycles(tiers.chip, "weights", size)
    return max(0, pieces * transfer_cycles(tiers.chip, "weights", -(-size // pieces)) - once)


def _once(item: ResidencyItem, step: int) -> int:
    touch = item.touches.index(step)
    return int(item.loads[touch]) if touch or not item.made else int(item.store)


def _weights(items: Sequence[ResidencyItem], step: int) -> int:
    return sum(int(item.loads[0]) for item in items if not item.whole and item.touches[0] == step)


def _passing_weights(items: Sequence[ResidencyItem], step: int) -> int:
    """The bytes that are counted for the op's weights already."""
    return sum(item.passing[0] for item in items if not item.whole and item.touches[0] == step)


def _best(found: list[TilingForecast]) -> list[TilingForecast]:
    """The tilings that none beats in both bytes and cycles, evenly ``MAX_OPTIONS_PER_SET`` of many."""
    found.sort(key=lambda cut: (cut.bytes, cut.cost))
    front: list[TilingForecast] = []
    for cut in found:
        if not front or cut.cost < front[-1].cost * 0.995:
            front.append(cut)
    if len(front) <= MAX_OPTIONS_PER_SET:
        return front
    return [
        front[round(i * (len(front) - 1) / (MAX_OPTIONS_PER_SET - 1))] for i in range(MAX_OPTIONS_PER_SET)
    ]
