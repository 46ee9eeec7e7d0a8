"""What an op does on SharedMemory's ports, cycle by cycle.

An op is a row of phases (see ``chipmodel.model.schedule.Phase``); in each, the operands that move are read or
written side by side, each from its start to its end and again from its start where the NPU needs
it more than once, at even distances in time.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from chipmodel.chip.chip import Npu
from chipmodel.model.commands import Compute, Located
from chipmodel.model.schedule import Phase


@dataclass(frozen=True, slots=True)
class Stream:
    """``count`` accesses of ``width`` bytes, one every ``stride`` cycles from cycle ``start`` of the op
    on, which walk through ``[address, address + span)`` again and again."""

    start: int
    stride: int
    count: int
    width: int
    address: int
    span: int

    @property
    def lap(self) -> int:
        """Accesses from the start of the operand to its end."""
        return -(-self.span // self.width)

    @property
    def last(self) -> int:
        """The cycle of the last access."""
        return self.start + (self.count - 1) * self.stride

    def first_from(self, cycle: int) -> int:
        """The number of the first access in ``cycle`` of the op or later; it may be past the last."""
        return max(0, -(-(cycle - self.start) // self.stride))

    def place(self, index: int) -> int:
        """The address of access number ``index``."""
        return self.address + index % self.lap * self.width

    def at(self, cycle: int) -> int | None:
        """The address that is accessed in ``cycle`` of the op; None where there is none."""
        since = cycle - self.start
        if since < 0 or since % self.stride or since // self.stride >= self.count:
            return None
        return self.place(since // self.stride)


def streams(compute: Compute, npu: Npu) -> tuple[Stream, ...]:
    """All accesses of an op. Without phases, all operands move throughout."""
    found: list[Stream] = []
    start = 0
    for phase in compute.phases or (Phase("stream", compute.cycles),):
        for place, reads in _moving(compute, phase):
            port = npu.read_bytes_per_cycle if reads else npu.write_bytes_per_cycle
            again = phase.kind in ("inputs", "weights")
            found += _stream(place, start, phase.cycles, port, again)
        start += phase.cycles
    return tuple(found)


def _moving(compute: Compute, phase: Phase) -> list[tuple[Located, bool]]:
    """The operands that move in a phase, and whether each is read."""
    reads = [(place, True) for place in compute.reads]
    writes = [(place, False) for place in compute.writes]
    # The right side of a product of two tensors is loaded where another op's weights are.
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


def _stream(place: Located, start: int, cycles: int, port: Fraction, again: bool) -> list[Stream]:
    """``again``: the port is busy in every cycle, however small the operand is."""
    span = len(place.moved)
    if not span or not cycles:
        return []
    width = min(span, max(1, ceil(port)))
    count = cycles
    if not again:
        count = min(cycles, -(-span // width))
        width = max(width, -(-span // cycles))
    return [Stream(start, cycles // count, count, width, place.moved.start, span)]
