"""The window bound of a program: its ops along a path, with the data that each one reads."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction

from chipmodel.bounds.windows import OpRun, ReadData, window_bound
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Program
from chipmodel.model.short_path import ShortPath, short_path
from chipmodel.model.time_bound import Binding, ProofSegment, ProvenCycles, TimeBound, plan_space
from chipmodel.npu.least_costs import least_cycles, read_share, written_share
from chipmodel.rewrites.channel_parts import has_other_ops
from chipmodel.rewrites.weights_in_place import bounded_program
from chipmodel.timing.transfer import least_cost_anywhere
from chipmodel.verify.proven_cycles import MAX_PROVEN_RUNS, borders, segment_cycles

MAX_OP_RUNS = 20_000
"""Runs of ops on a path, of a loop four iterations, up to which there is a window bound (assumed: a second or
two)."""


def window_time_bound(
    program: Program, chip: Chip, path: Mapping[str, str], cascades: bool = False
) -> TimeBound | None:
    """The window bound along ``path`` (arms and iterations by name), of plans with ``cascades`` too. None for
    a chip with several cores, on which ops run at the same time, and for more than ``MAX_OP_RUNS``."""
    short = short_path(program, path, MAX_OP_RUNS) if chip.cores == 1 else None
    if short is None:
        return None
    ops = [op for op, _ in short.runs]
    if cascades:
        found = list(_segments(program, chip, short, cascades))
        total = sum(cycles for _, cycles in found)
    else:
        runs = _op_runs(program, chip, short)
        alone = window_bound(runs, chip.shared_memory.bytes, repeats=short.repeats)
        found = [(ProofSegment(s.unit, s.start, s.stop), s.cycles) for s in alone.segments]
        total = alone.cycles
    bindings = (Binding(s.unit, ops[s.start].name, ops[s.stop - 1].name, cycles) for s, cycles in found)
    return TimeBound(total, tuple(bindings))


def _segments(
    program: Program, chip: Chip, short: ShortPath, cascades: bool
) -> Iterator[tuple[ProofSegment, int]]:
    """The segments of the best window bound, each with the cycles that the verifier derives for it."""
    runs = _op_runs(program, chip, short)
    found = window_bound(runs, chip.shared_memory.bytes, list(borders(short, cascades)), short.repeats)
    for each in found.segments:
        segment = ProofSegment(each.unit, each.start, each.stop)
        yield segment, segment_cycles(program, chip, short, segment, cascades)


def proven_cycles(program: Program, chip: Chip, path: Mapping[str, str]) -> Iterator[ProvenCycles]:
    """Yield bounds along ``path`` with proofs, of plans with or without cascades, and a higher one of plans
    without; none of several cores, and of programs that have several inferences."""
    if chip.cores > 1 or program.inferences > 1:
        return
    program = bounded_program(program, chip)
    short = short_path(program, path, MAX_PROVEN_RUNS)
    if short is None:
        return
    least = 0
    for cascades in (True, False) if short.runs else ():
        found = list(_segments(program, chip, short, cascades))
        cycles = sum(each for _, each in found)
        if cycles > least:
            least, space = cycles, plan_space(cascades, has_other_ops(program))
            yield ProvenCycles(space, cycles, tuple(each for each, _ in found), tuple(path.items()))


def _op_runs(program: Program, chip: Chip, short: ShortPath) -> list[OpRun]:
    ops = [op for op, _ in short.runs]
    costs = LeastTransferCosts(chip)
    made: dict[str, int] = {}
    outputs = frozenset(program.outputs)
    last = {name: index for index, op in enumerate(ops) for name in op.outputs if name in outputs}
    runs: list[OpRun] = []
    reread = _reread_slices(short)
    for index, op in enumerate(ops):
        reads: list[ReadData] = []
        for name in dict.fromkeys(op.inputs):
            size = _bytes(program, name, read_share(op, name, 1))
            if size and not (name == op.sliced and name in reread):
                maker = made.get(name, -1)
                # Every iteration reads a slice of its own.
                key = (name, maker, index) if name == op.sliced else (name, maker)
                reads.append(ReadData(key, size, costs.load(size), maker))
        size = program.block_bytes(op)
        if size:
            reads.append(ReadData(("weights", op.weights), size, costs.weights(size)))
        written = [n for n in op.outputs if last.get(n) == index]
        stored = sum((costs.store(_bytes(program, n, written_share(op, n, 1))) for n in written), Fraction(0))
        runs.append(OpRun(op.name, least_cycles(chip.npu, op), tuple(reads), stored))
        made |= dict.fromkeys(op.outputs, index)
    return runs


def _reread_slices(short: ShortPath) -> frozenset[str]:
    """Sliced tensors of which some bytes may be read twice, so that they may have been kept."""
    reads, readers = Counter[str](), defaultdict[str, set[str]](set)
    for run, (op, _) in enumerate(short.runs):
        for name in dict.fromkeys(op.inputs):
            reads[name] += short.times(run, run + 1)
            readers[name].add(op.name)
    sliced = {(op.sliced, op.slices) for op, _ in short.runs if op.sliced is not None}
    return frozenset(n for n, slices in sliced if len(readers[n]) > 1 or reads[n] > slices)


def _bytes(program: Program, name: str, share: Fraction) -> int:
    return int(program.tensors[name].bytes * share)


class LeastTransferCosts:
    """The least DMA cycles of bytes that have a transfer of their own, from or to any memory.

    Where transfers are ``in_turn`` each one's set-up counts, whatever the channels."""

    def __init__(self, chip: Chip, in_turn: bool = False) -> None:
        # With several channels a set-up may pass while another transfer's data move.
        alone = in_turn or chip.dma.channels.count == 1
        self.load_once, self.load_each = least_cost_anywhere(chip, "load")
        self.store_once, self.store_each = least_cost_anywhere(chip, "store")
        self.weights_once, self.weights_each = least_cost_anywhere(chip, "weights")
        self.load_once *= alone
        self.store_once *= alone
        self.weights_once *= alone

    def load(self, size: int) -> Fraction:
        return self.load_once + size * self.load_each

    def weights(self, size: int) -> Fraction:
        return self.weights_once + size * self.weights_each

    def store(self, size: int) -> Fraction:
        return self.store_once + size * self.store_each if size else Fraction(0)
