"""Operands of steps in their buffers, and the transfers that these need.

What a step needs from Psram, or writes to it, is first noted as a ``TransferNeed`` (what, in which buffer,
for which steps); the streamer then decides when each is issued.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from typing import Literal

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import WHOLE, Share
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Op, Program
from chipmodel.model.schedule import (
    BufferKind,
    BufferSpec,
    CascadePlan,
    Direction,
    Operand,
    Part,
    StepNode,
    Traffic,
    traffic_of,
)
from chipmodel.records import dataclass
from chipmodel.rewrites.in_place import AT_START
from dma.residency.greedy import Residency, Segment
from dma.residency.rings import SharedRing
from dma.residency.tiling import weight_share
from dma.schedule.lanes import Lane, RollingLane

NeedKind = Literal["weights", "tensor", "stripe"]


@dataclass(frozen=True, slots=True)
class TransferNeed:
    """A transfer that is not issued yet: ``part`` in a buffer for the steps ``first`` to ``last``.

    For a load those are the steps that read it, for a store the steps that write it. ``lane`` groups
    needs that follow one another through the same stripe buffers or ping-pong buffers.
    """

    direction: Direction
    kind: NeedKind
    part: Part
    bytes: int
    buffer: str
    first: int
    last: int
    op: str
    lane: str
    advance: int = 0
    """Bytes from a slice in Psram to the next iteration's, where the part is of the first of them."""
    at: int = 0
    """Bytes of its buffer before it, where it is a piece of weights."""
    within: str = ""
    """The buffer of all pieces, whose first bytes this one's has."""
    touched: Interval | None = None
    """The bytes of a rolling buffer that it fills."""
    earliest: int = 0
    """The first step at which these bytes are free, where it fills some of a rolling buffer."""
    memory: str = ""
    """The further memory in which it is expected; empty for Psram, or the weights' own memory."""

    @property
    def traffic(self) -> Traffic:
        return traffic_of(self.direction, self.part.weights, self.memory)


@dataclass
class Emission:
    """The steps of a program and the transfers that they need, before any is issued."""

    body: tuple[StepNode, ...] = ()
    needs: list[TransferNeed] = field(default_factory=list[TransferNeed])
    buffers: dict[str, BufferSpec] = field(default_factory=dict[str, BufferSpec])
    op_steps: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """First and last step of each op."""
    straight_chain: tuple[int, ...] = ()
    """The number of each step's straight chain, the same without a branch or loop between them."""
    inner_op: dict[int, str] = field(default_factory=dict[int, str])
    """The op of each step of a cascade; the step itself names the cascade."""
    cascades: list[CascadePlan] = field(default_factory=list[CascadePlan])


class OperandMaker:
    """Makes the operands of one step after another, each in the buffer that it has by ``residency``."""

    def __init__(self, program: Program, chip: Chip, residency: Residency) -> None:
        self.program, self.chip, self.residency = program, chip, residency
        self.emission = Emission()
        self.next_step: int = 0
        self.segments = list(_named_segments(residency))
        self.homes = {(root, t.position): name for root, name, each in self.segments for t in each.touches}
        """The buffer that holds a storage at an op's position."""
        for root, name, _ in self.segments:
            ring = residency.rings.get(root)
            self.buffer(name, ring.bytes if ring else program.tensors[root].bytes, "tensor")

    def resident(self, name: str, position: int) -> str | None:
        """The buffer that holds a whole tensor while op number ``position`` runs."""
        return self.homes.get((self.residency.storage[name], position))

    def ring(self, name: str) -> SharedRing | None:
        """The rolling buffer that a tensor shares with others; None for one of its own."""
        return self.residency.rings.get(self.residency.storage[name])

    def placed(self, part: Part, buffer: str, touched: Interval | None, advance: int = 0) -> Operand:
        """The operand of a resident tensor, which may share its buffer with others."""
        size = self.program.tensors[part.name].bytes
        place = self.residency.within.get(part.name, AT_START)
        alone = size == self.program.tensors[self.residency.storage[part.name]].bytes
        return Operand(
            part,
            buffer,
            touched,
            place.offset,
            None if alone else size,
            in_tensor=part.share != WHOLE,
            runs=place.runs,
            pitch=place.pitch,
            advance=advance,
        )

    def rolling(self, part: Part, buffer: str, ring: SharedRing) -> Operand:
        """The operand of a tensor in a rolling buffer that it shares with others."""
        first = ring.first[part.name]
        return Operand(part, buffer, self.in_ring(part, ring.bytes, first), rolls=True, first=first)

    def in_ring(self, part: Part, size: int, first: int = 0) -> Interval:
        """The bytes of a rolling buffer of ``size`` that ``part`` takes: all if they pass its end."""
        rows = self.touched(part.name, part.share) or Interval(0, self.program.tensors[part.name].bytes)
        start = (first + rows.start) % size
        wraps = start + len(rows) > size
        return Interval(0, size) if wraps else Interval(start, start + len(rows))

    def touched(self, name: str, share: Share) -> Interval | None:
        """The bytes of a tensor in the rows of ``share``; None for all."""
        if share == WHOLE:
            return None
        size = self.program.tensors[name].bytes
        start = size * share.rows.start // share.of_rows
        if share.banded:
            return Interval(start, size * share.rows.stop // share.of_rows)
        return Interval(start, min(size, start + share.bytes(size)))

    def advance(self, op: Op, name: str) -> int:
        """Bytes from the slice of a tensor that an iteration moves to the next one's; 0 if it has none."""
        return self.program.tensors[name].bytes // op.slices if name == op.sliced else 0

    def stripe(self, op: Op, direction: Direction, part: Part, lane: Lane) -> Operand:
        size, here = part.share.bytes(self.program.tensors[part.name].bytes), self.next_step
        advance = self.advance(op, part.name)
        need = TransferNeed(direction, "stripe", part, size, "", here, here, op.name, lane.name, advance)
        return self._passing(need, lane)

    def rolling_stripe(self, op: Op, part: Part, lane: RollingLane, stripe: Interval) -> Operand:
        """The operand of a step of a stripe in a rolling buffer, into which rows are loaded that are new."""
        here, needs, share = self.next_step, self.emission.needs, part.share
        for piece in lane.ring.pieces(lane.read(stripe, here)):
            loaded = Part(part.name, Share(piece, lane.ring.of_rows))
            touched = self.in_ring(loaded, lane.bytes)
            need = TransferNeed(
                *("load", "stripe", loaded, len(touched), lane.buffer, here, here, op.name, lane.name),
                touched=touched,
                earliest=lane.earliest,
            )
            lane.loads.append((len(needs), piece.stop))
            needs.append(need)
        for number, stop in reversed(lane.loads):
            if stop * share.of_rows <= share.rows.start * lane.ring.of_rows:
                break
            needs[number] = replace(needs[number], last=here)
        self.buffer(lane.buffer, lane.bytes, "stripe")
        return Operand(part, lane.buffer, self.in_ring(part, lane.bytes), rolls=True)

    def weights(self, op: Op, channels: Interval, lane: Lane, outer: Op | None = None) -> list[Operand]:
        """The weights of some channels of ``op``, which may be one of a cascade ``outer``."""
        block = self.program.block_bytes(op)
        if not block:
            return []
        share, here = weight_share(op, channels), self.next_step
        part, buffer = Part(op.name, share, weights=True), f"{lane.name}.{len(self.emission.needs)}"
        size = share.bytes(block)
        need = TransferNeed("load", "weights", part, size, buffer, here, here, (outer or op).name, "weights")
        return [self._passing(need, lane)]

    def reloaded_weights(self, op: Op, inner: Op, lane: Lane) -> list[Operand]:
        """The weights of ``inner`` in the one buffer of ``lane``, loaded unless they are there already."""
        part, size = Part(inner.name, weights=True), self.program.block_bytes(inner)
        here, name = self.next_step, lane.name
        need = TransferNeed("load", "stripe", part, size, name, here, here, op.name, name)
        return [self._passing(need, lane)]

    def _passing(self, need: TransferNeed, lane: Lane) -> Operand:
        """The operand of what ``need`` loads or stores through ``lane``, unless the part is there already."""
        needs = self.emission.needs
        if lane.part == need.part:
            needs[lane.need] = replace(needs[lane.need], last=need.last)
        else:
            number, lane.need = lane.advance(need.part, need.bytes), len(needs)
            needs.append(need if need.buffer else replace(need, buffer=f"{lane.name}.{number}"))
        found = needs[lane.need]
        return Operand(found.part, found.buffer, Interval(0, found.bytes))

    def buffer(self, name: str, size: int, kind: BufferKind) -> None:
        self.emission.buffers[name] = BufferSpec(name, size, kind=kind)


def _named_segments(residency: Residency) -> Iterator[tuple[str, str, Segment]]:
    """Yield each segment after its storage and the name of its buffer."""
    for root, segments in residency.segments.items():
        for index, segment in enumerate(segments):
            yield root, root if len(segments) == 1 else f"{root}#{index}", segment
