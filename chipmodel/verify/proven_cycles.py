"""Verify bounds on cycles: each segment of a proof is derived again from the program and the chip.

Segments do not overlap in time, so what they take adds up. Where a segment begins, all ops before it have
ended and none of its own has begun; in a cascade ops take turns, so with cascades it begins and ends only
between two ops that no cascade has both of.

*npu*: the NPU computes the segment's ops one after another.
*dma*: the DMA engine moves the weights and tensors that its ops read and do not make, but for one
SharedMemory of bytes, those that take the most cycles, which may be there at its begin. The last segment also
stores the program's results that its ops make.

Where the chip leaves open which ops read their weights in place, weights take nothing.

It knows neither what bounds the cycles elsewhere nor how the segments were found.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction

from chipmodel.cascades.accumulation import accumulating
from chipmodel.cascades.shape import may_cascade
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Op, Program
from chipmodel.model.schedule import Traffic
from chipmodel.model.time_bound import ProofSegment, ProvenCycles, has_turns, plan_space
from chipmodel.npu.least_costs import least_cycles, read_share, written_share
from chipmodel.rewrites.splittable import has_other_ops
from chipmodel.rewrites.weights_in_place import bounded_program
from chipmodel.timing.transfer import least_cost_anywhere


def proof_faults(program: Program, chip: Chip, proof: ProvenCycles) -> Iterator[str]:
    """Describe why ``proof`` does not prove its cycles; nothing for a correct one."""
    stated = f"the bound of {proof.cycles:,} cycles ({proof.space})"
    if chip.cores > 1 or program.inferences > 1 or not is_straight(program):
        yield f"{stated} is of a chip with one core and a program without branches, loops and inferences"
        return
    program = bounded_program(program, chip)
    ops = [op for op in program.body if isinstance(op, Op)]
    cascades = has_turns(proof.space)
    space = plan_space(cascades, has_other_ops(program))
    if proof.space != space:
        yield f"{stated} holds only for {space}"
    allowed = set(borders(ops, cascades))
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
    proven = sum(segment_cycles(program, chip, segment, cascades) for segment in proof.segments)
    if proven != proof.cycles:
        yield f"{stated} is not proven: its segments take {proven:,}"


def is_straight(program: Program) -> bool:
    """Whether a program has neither branches nor loops, nor ops that read or make slices."""
    return all(isinstance(node, Op) and not node.sliced and not node.allocates for node in program.body)


def borders(ops: Sequence[Op], cascades: bool) -> Iterator[int]:
    """Yield where a segment may begin or end, as the number of the op after it."""
    for after in range(len(ops) + 1):
        inside = 0 < after < len(ops) and may_cascade(ops[after - 1]) and may_cascade(ops[after])
        if not (cascades and inside):
            yield after


def segment_cycles(program: Program, chip: Chip, segment: ProofSegment, columns: bool) -> int:
    """Return the least cycles of a segment, with ``columns`` of ops in bands of columns, as in cascades."""
    ops = [op for op in program.body if isinstance(op, Op)]
    if segment.unit == "npu":
        own = ops[segment.start : segment.stop]
        inner = (accumulating(program, op) if columns else op for op in own)
        return sum(least_cycles(chip.npu, op, columns=columns) for op in inner)
    return int(_Moved(program, chip, ops, columns).cycles(segment.start, segment.stop))


class _Moved:
    """What the DMA engine moves for some of the ops of a program."""

    def __init__(self, program: Program, chip: Chip, ops: Sequence[Op], columns: bool) -> None:
        self.program, self.chip, self.ops, self.columns = program, chip, ops, columns

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
        found: dict[Hashable, tuple[int, Fraction]] = {}
        made: set[str] = set()
        for number, op in enumerate(self.ops[start:stop], start):
            for name in op.inputs:
                share = read_share(op, name, 1, self.columns)
                known = name in made or name in found or name in op.absorbs
                if not known and (size := self._bytes(name, share)):
                    found[name] = size, self._cost("load", size)
            constants = [(name, self.program.weights[name].bytes) for name in op.weights]
            blocks = [(number, self.program.block_bytes(op))] if op.gathers else constants
            for key, size in blocks:
                if size:
                    found["weights", key] = size, size * least_cost_anywhere(self.chip, "weights")[1]
            made |= set(op.outputs)
        return found

    def _stored(self, start: int) -> Fraction:
        """Cycles to store the results that the ops from ``start`` on make."""
        maker = {name: op for op in self.ops for name in op.outputs}
        # What an op builds around its inputs may have been stored with those.
        late = {
            n for op in self.ops[start:] if not (start and op.absorbs) for n in op.outputs if maker[n] is op
        }
        shares = [
            (name, written_share(maker[name], name, 1)) for name in self.program.outputs if name in late
        ]
        sizes = [self._bytes(name, share) for name, share in shares]
        return sum((self._cost("store", size) for size in sizes if size), Fraction(0))

    def _bytes(self, name: str, share: Fraction) -> int:
        return int(self.program.tensors[name].bytes * share)

    def _cost(self, traffic: Traffic, size: int) -> Fraction:
        """The least cycles of a tensor. With several channels a set-up may pass while others move data."""
        once, each = least_cost_anywhere(self.chip, traffic)
        return (once if self.chip.dma.channels.count == 1 else 0) + size * each
