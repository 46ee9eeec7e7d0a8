"""Ways to run an op some of whose tensors pass through SharedMemory in stripes, for the joint decision.

Each comes from ``dma.residency.best_cuts``: bytes against what the DMA engine moves and the NPU loses. Ops
whose tensors take little of the memory always find them there: nothing is gained by passing them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from chipmodel.model.program import Op
from chipmodel.npu.cycles import op_cycles
from dma.residency.best_cuts import Cut, cuts, slices_cycles
from dma.residency.state_search import Asked
from dma.residency.tiling import slice_bytes
from dma.timing.transfer import transfer_cycles
from solvers.residency.problem import PassingOption, ResidencyItem

SMALL = 8
"""An op whose tensors take less than this part of the memory together keeps them there."""
MOST_PASSING = 3
"""Of more operands, all pass or one alone."""
MOST = 6
"""Ways for each set of tensors that pass."""


def menu(asked: Asked, items: Sequence[ResidencyItem]) -> Iterator[PassingOption]:
    """Options of all ops but small ones. ``items`` are the blocks of ``asked``, and then weights."""
    for step, op in enumerate(asked.table.ops):
        if op.allocates or op.sliced is not None:
            continue
        if _weights(items, step):
            yield from _sliced(asked, items, step, op)
        operands = [
            asked.index[n] for n in dict.fromkeys((*op.inputs, *op.outputs)) if items[asked.index[n]].bytes
        ]
        comes = any(not items[i].made or items[i].ends for i in operands)
        if comes or sum(items[i].bytes for i in operands) * SMALL > asked.budget:
            for passing in _sets(operands):
                yield from _ways(asked, items, step, op, passing)


def _sets(operands: list[int]) -> Iterator[tuple[int, ...]]:
    sizes = range(1, len(operands) + 1) if len(operands) <= MOST_PASSING else (1, len(operands))
    for size in sizes:
        yield from combinations(operands, size)


def _ways(
    asked: Asked, items: Sequence[ResidencyItem], step: int, op: Op, passing: tuple[int, ...]
) -> Iterator[PassingOption]:
    names = {items[i].name for i in passing}
    kept = frozenset((*op.inputs, *op.outputs)) - names
    npu = op_cycles(asked.chip.npu, op, op.work.rows, op.work.channels)
    once = sum(_once(items[i], step) for i in passing) + _weights(items, step)
    beside = sum(items[i].bytes for i in range(len(asked.names)) if step in items[i].touches) - sum(
        items[i].bytes for i in passing
    )
    room = asked.budget - beside
    for cut in _best([cut for cut in cuts(asked.program, asked.chip, op, kept) if cut.bytes <= room]):
        least = min(cut.bytes, _passing_weights(items, step))
        lost = cut.npu - npu + (cut.dma if cut.tiling.depth == 1 else cut.ends)
        yield PassingOption(step, passing, cut.bytes - least, max(0, lost), max(0, cut.dma - once))


def _sliced(asked: Asked, items: Sequence[ResidencyItem], step: int, op: Op) -> Iterator[PassingOption]:
    """Slices of weights beside tensors that all lie there: two of them in turn, and what the NPU loses."""
    whole = op_cycles(asked.chip.npu, op, op.work.rows, op.work.channels)
    least = _passing_weights(items, step)
    granule = asked.chip.npu.array[1]
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
        lost = slices_cycles(asked.chip, op, width) - whole
        size = slice_bytes(asked.program, op, width) * min(2, pieces)
        if best is None or lost < best:
            best = lost
            yield PassingOption(step, (), max(0, size - least), max(0, lost), _set_ups(asked, op, pieces))


def _set_ups(asked: Asked, op: Op, pieces: int) -> int:
    size = asked.program.block_bytes(op)
    once = transfer_cycles(asked.chip, "load", size)
    return max(0, pieces * transfer_cycles(asked.chip, "load", -(-size // pieces)) - once)


def _once(item: ResidencyItem, step: int) -> int:
    touch = item.touches.index(step)
    return int(item.loads[touch]) if touch or not item.made else int(item.store)


def _weights(items: Sequence[ResidencyItem], step: int) -> int:
    return sum(int(item.loads[0]) for item in items if not item.whole and item.touches[0] == step)


def _passing_weights(items: Sequence[ResidencyItem], step: int) -> int:
    """What is counted for the op's weights already."""
    return sum(item.passing[0] for item in items if not item.whole and item.touches[0] == step)


def _best(found: list[Cut]) -> list[Cut]:
    """Of those with more bytes only the quicker ones, and of many a few."""
    found.sort(key=lambda cut: (cut.bytes, cut.cycles + cut.dma // 2))
    front: list[Cut] = []
    for cut in found:
        worth = cut.cycles + cut.dma // 2
        if not front or worth < (front[-1].cycles + front[-1].dma // 2) * 0.995:
            front.append(cut)
    if len(front) <= MOST:
        return front
    return [front[round(i * (len(front) - 1) / (MOST - 1))] for i in range(MOST)]
