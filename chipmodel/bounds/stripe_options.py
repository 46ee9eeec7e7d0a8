"""Options to stream tensors through SharedMemory during an op, each with the least that it costs.

An option stands for all tilings within a range of numbers of stripes (of rows) and slices (of channels): it
takes the bytes of the smallest tiles in that range, and the transfers and NPU cycles of the fewest. So for
any plan some option takes no more memory and costs no more.

Data that move while a tile computes take memory that the tile's own operands leave free: over n tiles at most
n times the memory, less the bytes of all tiles. So in a tiling that just fits little moves meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from typing import NamedTuple

from chipmodel.bounds.tiling_costs import (
    OpOnChip,
    PartRange,
    StreamedTiling,
    last_tile_bytes,
)
from solvers.residency.problem import PassingOption

PART_COUNTS = (1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 129, 257, 513, 1025, 1 << 40)
"""The ranges of numbers of stripes and slices begin at these (assumed: each at most doubles)."""
SLICE_COUNTS = (*range(1, 17), 20, 24, *PART_COUNTS[PART_COUNTS.index(33) :])
"""The same for slices alone, without stripes."""
MAX_OPTIONS = 8
"""Options for one set of streamed tensors, to limit the solver's problem (assumed)."""
MAX_TENSORS = 3
"""An op with more tensors has no options, and is bounded by its smallest stripes alone (assumed)."""


class StripeOption(NamedTuple):
    """The least costs of streaming some tensors of an op, beyond those of an op with all tensors whole."""

    bytes: int
    """Bytes of the streamed tensors' stripes, and of weights beyond one channel's."""
    npu: int
    """Further NPU cycles."""
    moved: int
    """Further DMA cycles."""
    meanwhile: int
    """How many of the bytes that move once can move while the op's tiles compute; negative where not even
    the bytes that move again can."""


def options(
    on_chip: OpOnChip, step: int, items: dict[str, int], sizes: Sequence[int], weights: bool
) -> Iterator[PassingOption]:
    """The options of the op at ``step``, for each set of its tensors that may be streamed.

    ``items`` are the indices of its tensors by name, ``sizes`` the bytes of all items. Without ``weights``
    the options leave these out, as they may have been loaded for an earlier run.
    """
    op = on_chip.op
    if len(items) > MAX_TENSORS or op.absorbs or not op.work.rows:
        return
    sized = {name: sizes[index] for name, index in items.items()}
    if weights:
        for found in slice_options(on_chip, _free_bytes(on_chip, sized)):
            yield PassingOption(step, (), found.bytes, found.npu, found.moved, None, found.meanwhile)
    for count in range(1, len(items) + 1):
        for names in combinations(items, count):
            kept = {name: size for name, size in sized.items() if name not in names}
            ending = last_tile_bytes(on_chip.program, op, frozenset(names))
            passing = tuple(items[name] for name in names)
            tiling = StreamedTiling(on_chip, frozenset(kept), weights, _free_bytes(on_chip, kept))
            for found in stripe_options(tiling):
                yield PassingOption(
                    step, passing, found.bytes, found.npu, found.moved, ending, found.meanwhile
                )


def _free_bytes(on_chip: OpOnChip, kept: Mapping[str, int]) -> int:
    """The bytes that operands ``kept`` whole leave; of two that lie in place the larger one counts."""
    op = on_chip.op
    shared = min(kept.get(op.overwrites, 0), kept.get(op.outputs[0], 0)) if op.overwrites else 0
    return on_chip.chip.shared_memory.bytes - sum(kept.values()) + shared


def stripe_options(tiling: StreamedTiling) -> list[StripeOption]:
    """At most ``MAX_OPTIONS`` within the capacity of ``tiling``. Where none fits, one that does not."""
    return _selected(list(_all_options(tiling)), tiling.capacity)


def slice_options(on_chip: OpOnChip, capacity: int) -> list[StripeOption]:
    """Options with all tensors whole and the weights in slices, within ``capacity`` bytes for the weights."""
    op = on_chip.op
    tiling = StreamedTiling(on_chip, frozenset((*op.inputs, *op.outputs)), True, capacity)
    if not tiling.weights or not tiling.channels:
        return []
    found = [_slice_option(tiling, low, high) for low, high in _ranges(tiling.channels, SLICE_COUNTS)]
    return _selected(found, capacity)


def _slice_option(tiling: StreamedTiling, slices: int, most: int) -> StripeOption:
    moved = int((slices - 1) * Fraction(tiling.on_chip.costs.any_load_once))
    meanwhile = tiling.meanwhile(PartRange(1, 1, slices, most))
    return StripeOption(tiling.slice_bytes(most), tiling.on_chip.npu(1, slices), moved, meanwhile)


def _selected(found: list[StripeOption], capacity: int) -> list[StripeOption]:
    """The Pareto-optimal options that fit, the most similar ones joined; if none fits the smallest."""
    found.sort(key=lambda option: (option.bytes, option.npu, option.moved, -option.meanwhile))
    front: list[StripeOption] = []
    for option in found:
        if option.bytes <= capacity and not any(_no_worse(each, option) for each in front):
            front.append(option)
    while len(front) > MAX_OPTIONS:
        losses = [_loss(a, b, capacity) for a, b in pairwise(front)]
        at = losses.index(min(losses))
        front[at : at + 2] = [_joined(front[at], front[at + 1])]
    return front or found[:1]


def _joined(a: StripeOption, b: StripeOption) -> StripeOption:
    """An option that costs no more than either."""
    bytes_, npu, moved, _ = map(min, a, b)
    return StripeOption(bytes_, npu, moved, max(a.meanwhile, b.meanwhile))


def _no_worse(a: StripeOption, b: StripeOption) -> bool:
    return a.npu <= b.npu and a.moved <= b.moved and a.meanwhile >= b.meanwhile


def _loss(a: StripeOption, b: StripeOption, capacity: int) -> float:
    """How much weaker the bound may become by joining two options: the differences in bytes relative to the
    capacity, plus those in cycles relative to their cycles."""
    cycles = max(a.npu + a.moved, b.npu + b.moved, 1)
    bytes_ = abs(a.bytes - b.bytes) + abs(a.meanwhile - b.meanwhile)
    return bytes_ / capacity + abs(a.npu - b.npu) / cycles + abs(a.moved - b.moved) / cycles


def _all_options(tiling: StreamedTiling) -> Iterator[StripeOption]:
    """For each range of parts: with all weights in memory; with slices of weights that are loaded again for
    each stripe; and with slices of weights for each of which the inputs are loaded again."""
    each, halo = tiling.on_chip.costs.any_load_each, tiling.halo()
    for stripes, most_stripes in _ranges(tiling.rows):
        for slices, most_slices in _ranges(tiling.channels):
            parts = PartRange(stripes, most_stripes, slices, most_slices)
            held = tiling.tile_bytes(most_stripes, most_slices)
            npu = tiling.on_chip.npu(stripes, slices)
            moved = tiling.set_ups(stripes, slices) + halo * each * (stripes - 1)
            meanwhile = tiling.meanwhile(parts, 0, halo, weights_whole=True)
            yield StripeOption(held + tiling.slice_bytes(1), npu, int(moved), meanwhile)
            if tiling.weights and most_slices > 1:
                held += tiling.slice_bytes(most_slices)
                inputs_again = tiling.inputs_again(slices) if stripes > 1 else 0
                for again in (tiling.weights * (stripes - 1), inputs_again):
                    meanwhile = tiling.meanwhile(parts, again, halo)
                    yield StripeOption(held, npu, int(moved + again * each), meanwhile)


def _ranges(total: int, counts: Sequence[int] = PART_COUNTS) -> Iterator[tuple[int, int]]:
    """Least and most parts of each range, up to ``total``."""
    for low, high in pairwise(counts):
        if low <= total:
            yield low, min(total, high - 1)
