"""All segments of all straight chains of a program, to cut the chains into."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
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
from dma.cascade_choice.stripe_heights import stripe_heights
from dma.residency.fitted import least_part
from dma.residency.tiling import cascade_bytes, least_weights, read_again

BANDS = (2, 3, 4, 6, 8)
"""Bands of columns that are looked at: of more, the halo is most of what is computed."""
NARROW = (1, 2, 3, 4)
"""Columns of a band's output for which further bands are looked at, where a limit on what is computed twice
says how many are worth it."""
FINE_HEIGHTS = tuple(factor << doubled for doubled in range(6) for factor in (3, 5, 7))
"""Rows of the last op in stripes between the powers of two, which are looked at for the cascades of a cut:
for all cascades they would take three times as long."""
EQUAL_HEIGHTS = (2, 4, 8, 16, 32)
"""Rows of every op in a step, whatever their strides."""
FEW_OPS = 6
"""Ops of the cascades that are looked at in these and in ``FINE_HEIGHTS`` where tensors do not fit
SharedMemory: with 4 BlazeFace takes up to 2.5 % longer."""
IMPOSSIBLE = 1 << 40
"""Cycles more of an op that only a cascade can run, as its smallest part does not fit: above any plan."""
Candidate = tuple[CascadeChoice, ...]
"""Cascades that a program may have together."""


@dataclass(frozen=True, slots=True)
class SegmentedChain:
    """A straight chain, and its segments; of those that end before an op the first is the single op."""

    geometry: ChainGeometry
    table: SegmentTable
    allowed: Chosen
    """Whether a cut may have a segment, by its number."""

    @property
    def single_ops(self) -> Iterator[CascadeSegment]:
        """Every op on its own."""
        return map(self.table.segment, self.table.bounds[1:-1])

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
    capacity: int | None = None,
    chained: bool = False,
) -> list[SegmentedChain]:
    """Return every straight chain with its single ops, which keep room for ``weight_floor`` bytes of their
    weights and at least for one output channel's, and with the cascades that need at most ``capacity`` bytes
    where all whole tensors are in Psram. Without that limit, no tensor moves but inputs. ``chained`` is as in
    ``ChainGeometry``."""
    around = LiveAround(program, inputs_apart=capacity is None)
    return [
        _segmented(_geometry(program, chip, around, chain, chained), rolls, weight_floor, capacity)
        for chain in straight_chains(program.body)
    ]


def _geometry(
    program: Program, chip: Chip, around: LiveAround, chain: Interval, chained: bool
) -> ChainGeometry:
    ops = around.table.ops[chain.start : chain.stop]
    return ChainGeometry(program, chip, ops, chain.start, around, chained)


def _segmented(
    geometry: ChainGeometry, rolls: bool, weight_floor: int, capacity: int | None
) -> SegmentedChain:
    singles = ((_single(geometry, index, weight_floor, capacity),) for index in range(len(geometry.ops)))
    single = segment_table([(), *singles])
    wanted = None if capacity is None else _in_psram(capacity)
    cascades = cascade_estimates(geometry, geometry.stripes(rolls), rolls, capacity, wanted)
    return _run(geometry, single.followed_by(cascades))


def _in_psram(capacity: int) -> Callable[[SegmentTable], Chosen]:
    """Which segments need at most ``capacity`` bytes where all whole tensors are in Psram."""
    return lambda table: table.least <= capacity


def with_reloads(
    chain: SegmentedChain, rolls: bool, reloading: Reloading, bands: Sequence[int] = (1,)
) -> SegmentedChain:
    """``chain`` with further cascades, which load some of their weights again, in ``bands`` of columns."""
    found = (reloading_cascades(chain.geometry, rolls, reloading, chain.table, each) for each in bands)
    return _run(chain.geometry, chain.table.followed_by(*(table for tables in found for table in tables)))


def with_fine_heights(
    chain: SegmentedChain, cut: Sequence[CascadeSegment], rolls: bool, capacity: int
) -> SegmentedChain:
    """``chain`` with further cascades, which end where those of ``cut`` do, in other stripes, perhaps
    with one op more before them, a row at a time; without segments that a cut may not have."""
    geometry, options = chain.geometry, list[tuple[int, int, list[int]]]()
    for each in cut:
        start, stop, rows = each.ops.start, each.ops.stop, geometry.op_rows[each.ops.stop - 1]
        for height in FINE_HEIGHTS if each.heights else ():
            if height < rows:
                rows_of = geometry.proportional(start, stop, height)
                options.append((stop, max(0, start - 1), [1, *rows_of] if start else rows_of))
    return _with_heights(chain, options, rolls, capacity)


def with_further_heights(chain: SegmentedChain, rolls: bool, capacity: int) -> SegmentedChain:
    """``chain`` with further cascades of up to ``FEW_OPS`` ops, in stripes of heights between the powers of
    two, or of as many rows of each op."""
    geometry, options = chain.geometry, list[tuple[int, int, list[int]]]()
    for stop in range(2, len(geometry.ops) + 1):
        start, rows = max(0, stop - FEW_OPS), geometry.op_rows[stop - 1]
        found = {tuple(geometry.proportional(start, stop, each)) for each in FINE_HEIGHTS if each < rows}
        found |= {(height,) * (stop - start) for height in EQUAL_HEIGHTS if height < rows}
        options += ((stop, start, list(each)) for each in sorted(found))
    return _with_heights(chain, options, rolls, capacity)


def _with_heights(
    chain: SegmentedChain, options: Sequence[tuple[int, int, Sequence[int]]], rolls: bool, capacity: int
) -> SegmentedChain:
    """``chain`` with cascades in stripes of such ``options``, without segments that a cut may not have."""
    stripes, wanted = stripe_heights(len(chain.geometry.ops), options), _in_psram(capacity)
    fine = cascade_estimates(chain.geometry, stripes, rolls, capacity, wanted)
    return _run(chain.geometry, chain.table.where(chain.allowed).followed_by(fine))


def band_counts(chain: SegmentedChain) -> tuple[int, ...]:
    """Return ``BANDS`` and the numbers of bands that are as wide as ``NARROW`` columns of any op."""
    columns = {each for each in chain.geometry.banded.columns if each}
    counts = {-(-each // width) for each in columns for width in NARROW}
    return tuple(sorted({*BANDS, *counts} - {1}))


def with_bands(
    chain: SegmentedChain, rolls: bool, budget: int, counts: Sequence[int] = BANDS, in_psram: bool = False
) -> SegmentedChain:
    """``chain`` with further cascades, in so many bands of columns, which need less than ``budget`` bytes,
    where whole tensors may be ``in_psram`` if they must."""
    geometry = chain.geometry

    def wanted(table: SegmentTable) -> Chosen:
        return (table.least if in_psram else table.bytes) < budget

    banded = [
        cascade_estimates(geometry, geometry.stripes(rolls, bands), rolls, budget, wanted) for bands in counts
    ]
    return _run(geometry, chain.table.followed_by(*banded))


def _single(chain: ChainGeometry, index: int, weight_floor: int, capacity: int | None) -> CascadeSegment:
    op, weights = chain.ops[index], chain.weights[index]
    least = least_weights(chain.program, op, weight_floor)
    live = chain.around.through[chain.first + index]
    cycles = op_cycles(chain.chip.npu, op, op.work.rows, op.work.channels)
    if capacity is not None and live > capacity < least_part(chain.program, op):
        cycles += IMPOSSIBLE
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


def exact_bytes(chain: SegmentedChain, segment: CascadeSegment, rolls: bool, in_psram: bool) -> int:
    """Return the bytes that a cascade needs by its exact geometry, if all that crosses its border passes in
    stripes (``in_psram``) or only inputs of the program; more than all others where the cascade is
    impossible."""
    program, ops = chain.geometry.program, chain.ops(segment)
    try:
        op = cascade_op(program, ops, cascade_choices([(chain, segment)], rolls)[0])
    except ValueError:
        return 1 << 62
    return cascade_bytes(program, op) if in_psram else bytes_within(chain, segment, op)


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
