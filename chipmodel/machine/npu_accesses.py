"""The accesses of an op to SharedMemory, cycle by cycle.

An op is a sequence of phases (see ``chipmodel.model.schedule.Phase``). In each phase some operands are read
or written at the same time, each from its start to its end at even intervals, and again from its start where
the NPU needs it more than once.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from chipmodel.hardware.chip import Npu
from chipmodel.model.commands import Compute, Located
from chipmodel.model.schedule import Phase
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class AccessStream:
    """``count`` accesses of ``width`` bytes to one operand, one every ``stride`` cycles from cycle ``start``
    of the op on; they pass over ``[address, address + span)`` repeatedly."""

    start: int
    stride: int
    count: int
    width: int
    address: int
    span: int

    @property
    def accesses_per_pass(self) -> int:
        """Accesses from the start of the operand to its end."""
        return -(-self.span // self.width)

    @property
    def last(self) -> int:
        """The cycle of the last access."""
        return self.start + (self.count - 1) * self.stride

    def first_from(self, cycle: int) -> int:
        """The index of the first access in ``cycle`` of the op or later; it may be past the last."""
        return max(0, -(-(cycle - self.start) // self.stride))

    def address_of(self, index: int) -> int:
        """The address of access number ``index``."""
        return self.address + index % self.accesses_per_pass * self.width

    def address_in(self, cycle: int) -> int | None:
        """The address that is accessed in ``cycle`` of the op; None for no access."""
        since = cycle - self.start
        if since < 0 or since % self.stride or since // self.stride >= self.count:
            return None
        return self.address_of(since // self.stride)


def access_streams(compute: Compute, npu: Npu) -> tuple[AccessStream, ...]:
    """All accesses of an op. Without phases, all operands are accessed throughout."""
    found: list[AccessStream] = []
    start = 0
    for phase in compute.phases or (Phase("stream", compute.cycles),):
        for place, reads in _operands(compute, phase):
            port = npu.read_bytes_per_cycle if reads else npu.write_bytes_per_cycle
            repeats = phase.kind in ("inputs", "weights")
            found += _stream(place, start, phase.cycles, port, repeats)
        start += phase.cycles
    return tuple(found)


def _operands(compute: Compute, phase: Phase) -> list[tuple[Located, bool]]:
    """The operands that are accessed in a phase, and whether each is read."""
    reads = [(place, True) for place in compute.reads]
    writes = [(place, False) for place in compute.writes]
    # The right operand of a product of two tensors is loaded in the phase for weights.
    weights = [read for read in reads if read[0].part.weights] or reads[1:2]
    match phase.kind:
        case "inputs":
            return [read for read in reads if read not in weights] or reads
        case "weights":
            return weights
        case "outputs":
            return writes
        case "stream":
            return reads + writes
        case "configure":
            return []


def _stream(place: Located, start: int, cycles: int, port: Fraction, repeats: bool) -> list[AccessStream]:
    """The accesses to one operand by a port of ``port`` bytes a cycle, none for an operand of no bytes. With
    ``repeats`` the port is busy in every cycle; otherwise it passes over the operand once."""
    span = len(place.moved)
    if not span or not cycles:
        return []
    width = min(span, max(1, ceil(port)))
    count = cycles
    if not repeats:
        count = min(cycles, -(-span // width))
        width = max(width, -(-span // cycles))
    return [AccessStream(start, cycles // count, count, width, place.moved.start, span)]
