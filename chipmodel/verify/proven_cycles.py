"""Verify bounds on cycles: each segment of a proof is derived again from the program and the chip.

Segments do not overlap in time, so what they take adds up. Where a segment begins, all ops before it have
ended and none of its own has begun; in a cascade ops take turns, so with cascades it begins and ends only
between two ops that no cascade has both of.

*npu*: the NPU computes the segment's ops one after another.
*dma*: the DMA engine moves the weights and tensors that its ops read and do not make, but for one
SharedMemory of bytes, those that take the most cycles, which may be there at its begin. The last segment also
stores the program's results that its ops make.

A proof is of one path through branches and loops. Four iterations of a loop stand for all of them, and a
segment within the one that repeats counts as often (``chipmodel.model.short_path``).

Where the chip leaves open which ops read their weights in place, weights take nothing.

It knows neither what bounds the cycles elsewhere nor how the segments were found.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction

from chipmodel.cascades.accumulation import accumulating
from chipmodel.cascades.shape import may_cascade
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import If, Op, Program
from chipmodel.model.schedule import Traffic
from chipmodel.model.short_path import ShortPath, short_path
from chipmodel.model.time_bound import ProofSegment, ProvenCycles, has_turns, plan_space
from chipmodel.npu.least_costs import least_cycles, read_share, written_share
from chipmodel.rewrites.channel_parts import has_other_ops
from chipmodel.rewrites.weights_in_place import bounded_program
from chipmodel.timing.transfer import least_cost_anywhere

MAX_PROVEN_RUNS = 600
"""Runs of ops, of a loop four iterations, up to which bounds are proven (assumed: a second)."""
ITERATIONS = re.compile("0|[1-9][0-9]{0,6}")
"""Iterations of a loop in a proof's path."""


def proof_faults(program: Program, chip: Chip, proof: ProvenCycles) -> Iterator[str]:
    """Describe why ``proof`` does not prove its cycles; nothing for a correct one."""
    stated = f"the bound of {proof.cycles:,} cycles ({proof.space})"
    if chip.cores > 1 or program.inferences > 1:
        yield f"{stated} is of a chip with one core and a program of one inference"
        return
    if wrong := [name for name, given in proof.path if not _is_decision(program, name, given)]:
        yield f"{stated} is of a path that the program does not have: {wrong[0]!r}"
        return
    program = bounded_program(program, chip)
    path = {name: "0" if arms is None else arms[0] for name, arms in _decisions(program).items()}
    short = short_path(program, path | dict(proof.path), MAX_PROVEN_RUNS)
    if short is None:
        yield f"{stated} is of more than {MAX_PROVEN_RUNS} runs of ops"
        return
    cascades = has_turns(proof.space)
    space = plan_space(cascades, has_other_ops(program))
    if proof.space != space:
        yield f"{stated} holds only for {space}"
    allowed = set(borders(short, cascades))
    end = 0
    for segment in proof.segments:
        if (
            segment.start < end
            or not {segment.start, segment.stop} <= allowed
            or segment.stop <= segment.start
        ):
            yield f"{stated} has a segment that cannot be one: ops {segment.start} to {segment.stop}"
            return
        end = segment.stop
    proven = sum(segment_cycles(program, chip, short, segment, cascades) for segment in proof.segments)
    if proven != proof.cycles:
        yield f"{stated} is not proven: its segments take {proven:,}"


def _decisions(program: Program) -> dict[str, list[str] | None]:
    """The arms of each ``if`` by its name, and None for each ``loop``."""
    nodes = (node for node in program.nodes() if not isinstance(node, Op))
    return {n.name: [arm.name for arm in n.arms] if isinstance(n, If) else None for n in nodes}


def _is_decision(program: Program, name: str, given: str) -> bool:
    """Whether a path may have ``given`` for the node ``name``: an arm, or a number of iterations."""
    arms = _decisions(program).get(name, [])
    return ITERATIONS.fullmatch(given) is not None if arms is None else given in arms


def borders(short: ShortPath, cascades: bool) -> Iterator[int]:
    """Yield where a segment may begin or end, as the number of the run after it."""
    runs = short.runs
    for after in range(len(runs) + 1):
        inside = 0 < after < len(runs) and runs[after - 1][1] == runs[after][1]
        if not (cascades and inside and may_cascade(runs[after - 1][0]) and may_cascade(runs[after][0])):
            yield after


def segment_cycles(
    program: Program, chip: Chip, short: ShortPath, segment: ProofSegment, columns: bool
) -> int:
    """Return the least cycles of a segment, with ``columns`` of ops in bands of columns, as in cascades."""
    ops, span = [op for op, _ in short.runs], range(segment.start, segment.stop)
    if segment.unit == "npu":
        inner = ((run, accumulating(program, ops[run]) if columns else ops[run]) for run in span)
        return sum(short.times(r, r + 1) * least_cycles(chip.npu, op, columns=columns) for r, op in inner)
    moved = int(_Moved(program, chip, ops, columns).cycles(segment.start, segment.stop))
    return moved * short.times(segment.start, segment.stop)


class _Moved:
    """What the DMA engine moves for some of the ops of a program."""

    def __init__(self, program: Program, chip: Chip, ops: Sequence[Op], columns: bool) -> None:
        self.program, self.chip, self.ops, self.columns = program, chip, ops, columns
        traffics: tuple[Traffic, ...] = ("load", "store", "weights")
        self.costs: dict[Traffic, tuple[int, Fraction]] = {t: least_cost_anywhere(chip, t) for t in traffics}

    def cycles(self, start: int, stop: int) -> Fraction:
        """Cycles of ops ``[start, stop)``."""
        read = sorted(self._read(start, stop).values(), key=lambda each: each[1] / each[0])
        moved = sum((cycles for _, cycles in read), Fraction(0))
        room = self.chip.shared_memory.bytes if start else 0
        for size, cycles in reversed(read):
            there = min(size, room)
            moved -= cycles * there / size
            room -= there
        return moved + (self._stored(start) if stop == len(self.ops) else 0)

    def _read(self, start: int, stop: int) -> dict[Hashable, tuple[int, Fraction]]:
        """Bytes and cycles of all data that the ops read and do not make."""
        loads: dict[Hashable, tuple[int, Fraction]] = {}
        made: set[str] = set()
        for number, op in enumerate(self.ops[start:stop], start):
            for name in op.inputs:
                if name == op.sliced:
                    continue  # each iteration reads a slice, and the same ones may come again
                share = read_share(op, name, 1, self.columns)
                known = name in made or name in loads or name in op.absorbs
                if not known and (size := self._bytes(name, share)):
                    loads[name] = size, self._cost("load", size)
            constants = [(name, self.program.weights[name].bytes) for name in op.weights]
            blocks = [(number, self.program.block_bytes(op))] if op.gathers else constants
            for key, size in blocks:
                if size:
                    loads["weights", key] = size, size * self.costs["weights"][1]
            made |= set(op.outputs)
        return loads

    def _stored(self, start: int) -> Fraction:
        """Cycles to store the results that the ops from ``start`` on make."""
        last = {name: number for number, op in enumerate(self.ops) for name in op.outputs}
        makers = ((name, last[name], self.ops[last[name]]) for name in self.program.outputs if name in last)
        # What an op builds around its inputs may have been stored with those.
        shares = [
            (name, written_share(op, name, 1))
            for name, number, op in makers
            if start <= number and name != op.sliced and not (start and op.absorbs)
        ]
        sizes = [self._bytes(name, share) for name, share in shares]
        return sum((self._cost("store", size) for size in sizes if size), Fraction(0))

    def _bytes(self, name: str, share: Fraction) -> int:
        return int(self.program.tensors[name].bytes * share)

    def _cost(self, traffic: Traffic, size: int) -> Fraction:
        """The least cycles of a tensor. With several channels a set-up may pass while others move data."""
        once, each = self.costs[traffic]
        return (once if self.chip.dma.channels.count == 1 else 0) + size * each
