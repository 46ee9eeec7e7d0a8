"""Sets of cascades that are worth planning, by a quick estimate of memory and cycles.

Each straight run of ops is cut into single ops and cascades by dynamic programming, once for each of several
budgets. What tensors and a cascade's weights take beyond the budget is taken from weights that could be
loaded early, and from what the packer loses between buffers.

Source: chipmodel. Vela chooses its cascades greedily, MCUNetV2 by a search over networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from chipmodel.chip.chip import Chip
from chipmodel.model.interval import Interval
from chipmodel.model.program import Program
from chipmodel.npu.cycles import op_cycles
from chipmodel.passes.cascades import CascadeChoice, with_cascades
from dma.cascades.cuts import cheapest_cut
from dma.cascades.segments import CascadeSegment, RunGeometry
from dma.cascades.straight_runs import LiveAround, straight_runs
from dma.timing.transfer import transfer_cycles

BUDGET_SHARES = tuple(Fraction(each, 16) for each in (16, 15, 14, 12, 10, 8, 6, 4))
"""Of the capacity, what tensors and a cascade's weights may take. Chosen."""
LEAST_WEIGHTS = Fraction(1, 64)
"""Of the capacity, what an op's weights need at least, as in ``dma.schedule.build``."""
WORTHWHILE = 0.995
"""Share of the estimated cycles without cascades, above which none is proposed. Chosen."""

Candidate = tuple[CascadeChoice, ...]


@dataclass(frozen=True, slots=True)
class _Run:
    """A straight run, and its segments by where they end."""

    geometry: RunGeometry
    ending: tuple[tuple[CascadeSegment, ...], ...]


def cascade_candidates(
    program: Program, chip: Chip, capacity: int, rolls: bool | None = None
) -> tuple[Candidate, ...]:
    """Sets of cascades that may make a plan in ``capacity`` bytes faster, the most promising first; none
    where everything runs as fast on its own. ``rolls`` is whether tensors inside lie in rolling buffers;
    None: where the chip can address them."""
    rolls = chip.npu.rolling_buffers if rolls is None else rolls
    around = LiveAround(program)
    runs = [_segments(program, chip, around, run, capacity, rolls) for run in straight_runs(program.body)]
    alone = _estimate(chip, capacity, _single_ops(runs))
    found: dict[Candidate, int] = {}
    for share in BUDGET_SHARES:
        segments = _cut(chip, runs, capacity, int(capacity * share))
        candidate = _choices(runs, segments, rolls)
        cycles = _estimate(chip, capacity, segments)
        if (
            candidate
            and candidate not in found
            and cycles < WORTHWHILE * alone
            and _is_valid(program, candidate)
        ):
            found[candidate] = cycles
    return tuple(sorted(found, key=found.__getitem__))


def _is_valid(program: Program, candidate: Candidate) -> bool:
    try:
        with_cascades(program, candidate)
    except ValueError:
        return False
    return True


def _segments(
    program: Program, chip: Chip, around: LiveAround, run: Interval, capacity: int, rolls: bool
) -> _Run:
    ops = around.table.ops[run.start : run.stop]
    geometry = RunGeometry(program, chip, ops, run.start, around)
    ending: list[tuple[CascadeSegment, ...]] = [()]
    for stop in range(1, len(ops) + 1):
        cascades = (each for each in geometry.cascades(stop, rolls) if each.bytes <= capacity)
        ending.append((_single(geometry, stop - 1, capacity), *cascades))
    return _Run(geometry, tuple(ending))


def _single(run: RunGeometry, index: int, capacity: int) -> CascadeSegment:
    op, weights = run.ops[index], run.weights[index]
    least = min(weights, int(capacity * LEAST_WEIGHTS))
    live = run.around.through[run.first + index]
    cycles = op_cycles(run.chip.npu, op, op.work.rows, op.work.channels)
    return CascadeSegment(Interval(index, index + 1), (), live + least, cycles, weights)


def _cut(chip: Chip, runs: Sequence[_Run], capacity: int, budget: int) -> list[tuple[_Run, CascadeSegment]]:
    def cost(segment: CascadeSegment) -> int:
        late = segment.bytes - budget
        cycles = segment.cycles + (transfer_cycles(chip, "load", late) if late > 0 else 0)
        excess = segment.bytes - capacity
        return cycles + (_spill_cycles(chip, excess) if excess > 0 else 0)

    return [(run, s) for run in runs for s in cheapest_cut(len(run.geometry.ops), run.ending, cost).segments]


def _spill_cycles(chip: Chip, excess: int) -> int:
    """Cycles to store bytes that do not fit, and to load them again."""
    return transfer_cycles(chip, "store", excess) + transfer_cycles(chip, "load", excess)


def _single_ops(runs: Sequence[_Run]) -> list[tuple[_Run, CascadeSegment]]:
    return [(run, segments[0]) for run in runs for segments in run.ending[1:]]


def _estimate(chip: Chip, capacity: int, segments: Sequence[tuple[_Run, CascadeSegment]]) -> int:
    """Cycles of segments one after another, where weights are loaded during the segment before as far as
    memory is left there."""
    total, before, free = 0, 0, 0
    for _, segment in segments:
        excess = max(0, segment.bytes - capacity)
        cycles = segment.cycles + (_spill_cycles(chip, excess) if excess else 0)
        early = min(segment.weights, max(0, free))
        load = transfer_cycles(chip, "load", segment.weights) if segment.weights else 0
        hidden = min(before, load * early // segment.weights) if segment.weights else 0
        total += cycles + load - hidden
        before, free = cycles, capacity - segment.bytes
    return total


def _choices(runs: Sequence[_Run], segments: Sequence[tuple[_Run, CascadeSegment]], rolls: bool) -> Candidate:
    return tuple(
        CascadeChoice(
            tuple(op.name for op in run.geometry.ops[segment.ops.start : segment.ops.stop]),
            segment.heights,
            rolls,
        )
        for run, segment in segments
        if segment.heights
    )
