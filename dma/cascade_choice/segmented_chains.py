"""All segments of all straight chains of a program, to cut the chains into."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from chipmodel.cascades.rewrite import CascadeChoice, cascade_op, with_cascades
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Op, Program
from chipmodel.npu.cycles import op_cycles
from dma.cascade_choice.chain_geometry import ChainGeometry
from dma.cascade_choice.reloads import Reloading, reloading_cascades
from dma.cascade_choice.segment_estimates import cascade_estimates
from dma.cascade_choice.segment_table import CascadeSegment, Chosen, SegmentTable, segment_table
from dma.cascade_choice.straight_chains import LiveAround, straight_chains
from dma.residency.tiling import cascade_bytes, least_weights, read_again

BANDS = (2, 3, 4, 6, 8)
"""Bands of columns that are looked at: of more, the halo is most of what is computed."""
NARROW = (1, 2, 3, 4)
"""Columns of a band's output for which further bands are looked at, where a limit on what is computed twice
says how many are worth it."""
Candidate = tuple[CascadeChoice, ...]
"""Cascades that a program may have together."""


@dataclass(frozen=True, slots=True)
class SegmentedChain:
    """A straight chain, and its segments; of those that end before an op the first is the single op."""

    geometry: ChainGeometry
    table: SegmentTable
    allowed: Chosen
    """Whether a cut may have a segment, by its number."""

    def ops(self, segment: CascadeSegment) -> Sequence[Op]:
        """The ops of a segment."""
        return self.geometry.ops[segment.ops.start : segment.ops.stop]

    def without(self, numbers: Collection[int]) -> SegmentedChain:
        """The chain without some of its segments and all that are equal to them."""
        allowed = self.allowed.copy()
        for number in numbers:
            allowed[self.table.same(number)] = False
        return replace(self, allowed=allowed)


def _run(geometry: ChainGeometry, table: SegmentTable) -> SegmentedChain:
    return SegmentedChain(geometry, table, np.ones(len(table), np.bool_))


PlacedSegment = tuple[SegmentedChain, CascadeSegment]
"""A segment and the chain that it is of."""


def segmented_chains(
    program: Program,
    chip: Chip,
    rolls: bool,
    weight_floor: int,
    chained: bool = False,
) -> list[SegmentedChain]:
    """Return every straight chain with its single ops, which keep room for ``weight_floor`` bytes of their
    weights and at least for one output channel's, and with its cascades. No tensor moves but inputs.
    ``chained`` is as in ``ChainGeometry``."""
    around = LiveAround(program, inputs_apart=True)
    return [
        _segmented(_geometry(program, chip, around, chain, chained), rolls, weight_floor)
        for chain in straight_chains(program.body)
    ]


def _geometry(
    program: Program, chip: Chip, around: LiveAround, chain: Interval, chained: bool
) -> ChainGeometry:
    ops = around.table.ops[chain.start : chain.stop]
    return ChainGeometry(program, chip, ops, chain.start, around, chained)


def _segmented(geometry: ChainGeometry, rolls: bool, weight_floor: int) -> SegmentedChain:
    singles = ((_single(geometry, index, weight_floor),) for index in range(len(geometry.ops)))
    single = segment_table([(), *singles])
    cascades = cascade_estimates(geometry, geometry.stripes(rolls), rolls)
    return _run(geometry, single.followed_by(cascades))


def with_reloads(
    chain: SegmentedChain, rolls: bool, reloading: Reloading, bands: Sequence[int] = (1,)
) -> SegmentedChain:
    """``chain`` with further cascades, which load some of their weights again, in ``bands`` of columns."""
    found = (reloading_cascades(chain.geometry, rolls, reloading, chain.table, each) for each in bands)
    return _run(chain.geometry, chain.table.followed_by(*(table for tables in found for table in tables)))


def band_counts(chain: SegmentedChain) -> tuple[int, ...]:
    """Return ``BANDS`` and the numbers of bands that are as wide as ``NARROW`` columns of any op."""
    columns = {each for each in chain.geometry.banded.columns if each}
    counts = {-(-each // width) for each in columns for width in NARROW}
    return tuple(sorted({*BANDS, *counts} - {1}))


def with_bands(
    chain: SegmentedChain, rolls: bool, budget: int, counts: Sequence[int] = BANDS
) -> SegmentedChain:
    """``chain`` with further cascades, in so many bands of columns, which need less than ``budget`` bytes."""
    geometry = chain.geometry

    def wanted(table: SegmentTable) -> Chosen:
        return table.bytes < budget

    banded = [
        cascade_estimates(geometry, geometry.stripes(rolls, bands), rolls, budget, wanted) for bands in counts
    ]
    return _run(geometry, chain.table.followed_by(*banded))


def _single(chain: ChainGeometry, index: int, weight_floor: int) -> CascadeSegment:
    op, weights = chain.ops[index], chain.weights[index]
    least = least_weights(chain.program, op, weight_floor)
    live = chain.around.through[chain.first + index]
    cycles = op_cycles(chain.chip.npu, op, op.work.rows, op.work.channels)
    return CascadeSegment(Interval(index, index + 1), (), live + least, cycles, weights)


def cascade_choices(segments: Sequence[PlacedSegment], rolls: bool) -> Candidate:
    """Return the cascades among ``segments``."""
    return tuple(
        CascadeChoice(
            tuple(op.name for op in chain.ops(segment)),
            segment.heights,
            rolls,
            tuple(chain.geometry.ops[segment.ops.start + index].name for index in segment.reloaded),
            segment.bands,
            segment.again,
        )
        for chain, segment in segments
        if segment.heights
    )


def exact_bytes(chain: SegmentedChain, segment: CascadeSegment, rolls: bool) -> int:
    """Return the bytes that a cascade needs by its exact geometry, inputs of the program in stripes; more
    than all others where the cascade is impossible."""
    program, ops = chain.geometry.program, chain.ops(segment)
    try:
        op = cascade_op(program, ops, cascade_choices([(chain, segment)], rolls)[0])
    except ValueError:
        return 1 << 62
    return bytes_within(chain, segment, op)


def bytes_within(chain: SegmentedChain, segment: CascadeSegment, op: Op) -> int:
    """Return the bytes that the cascade ``op`` needs next to whole tensors; inputs of the program come in
    stripes."""
    geometry = chain.geometry
    program, table = geometry.program, geometry.around.table
    first = geometry.streamed[segment.ops.start]
    left_out = {each.name for each in first if segment.ops.stop <= each.until}
    streamed = {name for name in op.inputs if table.may_stream(name)}
    counted = sum(program.tensors[name].bytes for name in streamed - left_out)
    kept = frozenset((*op.inputs, *op.outputs)) - streamed - read_again(op)
    return segment.outside - counted + cascade_bytes(program, op, kept)


def is_possible(program: Program, candidate: Candidate) -> bool:
    """Return whether the exact geometry allows these cascades."""
    try:
        with_cascades(program, candidate)
    except ValueError:
        return False
    return True
