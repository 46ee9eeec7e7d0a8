"""Steps of a program's ops: operands in their buffers, and every transfer that the steps need.

What a step needs from Psram, or writes to it, is first noted as a ``TransferNeed`` (what, in which buffer,
for which steps); the streamer then decides when each is issued.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Literal

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import WHOLE, Share
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import NO_SHARE, If, Loop, Node, Op, Program, ops
from chipmodel.model.schedule import (
    BufferKind,
    BufferSpec,
    CascadePlan,
    Direction,
    Operand,
    Part,
    Phase,
    Step,
    StepArm,
    StepIf,
    StepLoop,
    StepNode,
    Traffic,
    traffic_of,
)
from chipmodel.npu.cycles import op_cycles, op_phases
from chipmodel.passes.liveness import scopes
from chipmodel.rewrites.in_place import AT_START, left_to_move
from dma.residency.greedy import Residency, Segment
from dma.residency.rings import SharedRing
from dma.residency.tiling import Tiling, weight_share
from dma.schedule.cascade_steps import cascade_plan, cascade_steps
from dma.schedule.lanes import Lane, Lanes

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


def emit(program: Program, chip: Chip, residency: Residency, tilings: Mapping[str, Tiling]) -> Emission:
    """Return all steps of ``program``; each needed weight slice has a buffer of its own, to be replaced."""
    emitter = _Emitter(program, chip, residency, tilings)
    emitter.emission.body = emitter.nodes(program.body)
    for each in emitter.segments:
        emitter.segment_needs(*each)
    emitter.emission.straight_chain = scopes(emitter.emission.body).region
    return emitter.emission


class _Emitter:
    def __init__(
        self, program: Program, chip: Chip, residency: Residency, tilings: Mapping[str, Tiling]
    ) -> None:
        self.program = program
        self.chip = chip
        self.residency = residency
        self.tilings = tilings
        self.emission = Emission()
        self.order = list(ops(program.body))
        self.next_op = 0
        self.next_step = 0
        self.segments = list(_named_segments(residency))
        self.homes = {(root, t.position): name for root, name, each in self.segments for t in each.touches}
        """The buffer that holds a storage at an op's position."""
        self.opened = {(name, min(t.position for t in each.touches)) for _, name, each in self.segments}
        """Every buffer with the op's position at which it is loaded or first written."""
        for root, name, _ in self.segments:
            ring = residency.rings.get(root)
            self.buffer(name, ring.bytes if ring else program.tensors[root].bytes, "tensor")

    def nodes(self, body: tuple[Node, ...]) -> tuple[StepNode, ...]:
        result: list[StepNode] = []
        for node in body:
            match node:
                case Op():
                    result += self.op(node)
                case If():
                    condition = self._condition(node)
                    arms = tuple(StepArm(arm.name, self.nodes(arm.body)) for arm in node.arms)
                    result.append(StepIf(node.name, arms, condition))
                case Loop():
                    result.append(StepLoop(node.name, node.iterations, self.nodes(node.body)))
        return tuple(result)

    def op(self, op: Op) -> list[Step]:
        if op.cascade:
            return self.cascade(op)
        tiling = self.tilings[op.name]
        position = self.next_op
        self.next_op += 1
        first = self.next_step
        lanes = Lanes(op, tiling.depth)
        total = tiling.count(op)
        costs: dict[tuple[int, int], tuple[int, tuple[Phase, ...]]] = {}
        result: list[Step] = []
        for index, (rows, channels) in enumerate(tiling.tiles(op)):
            shares = [op.reads(number, rows, channels) for number in range(len(op.inputs))]
            reads = [
                self._read(op, number, share, position, lanes)
                for number, share in enumerate(shares)
                if self._is_operand(op, number, share, position)
            ]
            reads += self.weights(op, channels, lanes.weights)
            written = () if op.allocates and not self.resident(op.outputs[0], position) else op.outputs
            writes = [self._write(op, n, rows, channels, position, lanes.writes[n]) for n in written]
            label = op.name if total == 1 else f"{op.name} [{index + 1}/{total}]"
            tile = (len(rows), len(channels))
            if tile not in costs:
                costs[tile] = self._cost(op, *tile)
            cycles, phases = costs[tile]
            here = self.next_step
            result.append(
                Step(here, op.name, rows, channels, cycles, tuple(reads), tuple(writes), label, phases)
            )
            self.next_step += 1
        self.lane_buffers(lanes)
        self.emission.op_steps[op.name] = (first, self.next_step - 1)
        return result

    def cascade(self, op: Op) -> list[Step]:
        """The steps of a cascade, under its own name: streamers know nothing of the ops inside."""
        position = self.next_op
        self.next_op += 1
        first = self.next_step
        tiling = self.tilings[op.name]
        lanes = Lanes(op, tiling.depth)
        result: list[Step] = []
        for step, inner in cascade_steps(self, op, tiling, position, lanes):
            result.append(step)
            self.emission.inner_op[step.position] = inner
        self.lane_buffers(lanes)
        self.emission.op_steps[op.name] = (first, self.next_step - 1)
        self.emission.cascades.append(cascade_plan(op, Interval(first, self.next_step)))
        return result

    def lane_buffers(self, lanes: Lanes) -> None:
        for lane in (*lanes.reads, *lanes.writes.values()):
            for number, size in lane.sizes.items():
                self.buffer(f"{lane.name}.{number}", size, "stripe")

    def _cost(self, op: Op, rows: int, channels: int) -> tuple[int, tuple[Phase, ...]]:
        left = left_to_move(self.program, op, self._in_place(op))
        if left is None:
            return 0, ()
        return op_cycles(self.chip.npu, left, rows, channels), op_phases(self.chip.npu, left, rows, channels)

    def _in_place(self, op: Op) -> frozenset[str]:
        """The inputs of a concat that were made in its output."""
        if op.name in self.residency.striped:
            return frozenset()
        storage = self.residency.storage
        return frozenset(n for n in op.absorbs if storage[n] == storage[op.outputs[0]])

    def _is_operand(self, op: Op, index: int, share: Share, position: int) -> bool:
        """Whether a part reads its share of an input: not a tensor in Psram of which only one slice is
        written, and not a piece of a concat that is none of the part's."""
        if share != NO_SHARE:
            return True
        return op.collects and self.resident(op.inputs[index], position) is not None

    def _read(self, op: Op, index: int, share: Share, position: int, lanes: Lanes) -> Operand:
        name = op.inputs[index]
        resident = self.resident(name, position)
        ring = self._ring(name)
        if resident and ring:
            return self.rolling(Part(name, share), resident, ring)
        if resident:
            touched = Interval(0, 0) if name in self._in_place(op) else self.touched(name, share)
            advance = 0 if op.collects else self._advance(op, name)
            return self.placed(Part(name), resident, touched, advance)
        part = Part(name, share)
        # A tensor that is two operands is loaded once where both need the same part of it.
        alike = (lane for lane in lanes.reads[:index] if lane.part == part)
        return self.stripe(op, "load", part, next(alike, lanes.reads[index]))

    def _write(
        self, op: Op, name: str, rows: Interval, channels: Interval, position: int, lane: Lane
    ) -> Operand:
        share = op.writes(name, rows, channels)
        resident = self.resident(name, position)
        ring = self._ring(name)
        if resident and ring:
            return self.rolling(Part(name, share), resident, ring)
        if resident:
            written = self._written(op, name, share)
            return self.placed(Part(name, share), resident, written, self._advance(op, name))
        return self.stripe(op, "store", Part(name, share), lane)

    def _advance(self, op: Op, name: str) -> int:
        """Bytes from the slice of a tensor that an iteration moves to the next one's; 0 if it has none."""
        return self.program.tensors[name].bytes // op.slices if name == op.sliced else 0

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

    def _ring(self, name: str) -> SharedRing | None:
        return self.residency.rings.get(self.residency.storage[name])

    def rolling(self, part: Part, buffer: str, ring: SharedRing) -> Operand:
        """The operand of a tensor in a rolling buffer that it shares with others."""
        first, rows = ring.first[part.name], self.touched(part.name, part.share)
        rows = rows or Interval(0, self.program.tensors[part.name].bytes)
        start = (first + rows.start) % ring.bytes
        wraps = start + len(rows) > ring.bytes
        touched = Interval(0, ring.bytes) if wraps else Interval(start, start + len(rows))
        return Operand(part, buffer, touched, rolls=True, first=first)

    def _written(self, op: Op, name: str, share: Share) -> Interval | None:
        """Return the bytes that a step writes: of the output of a concat, as many as were not made there."""
        placed = self._in_place(op)
        if not placed:
            return self.touched(name, share)
        sizes = [self.program.tensors[n].bytes for n in takewhile(placed.__contains__, op.inputs)]
        left = self.program.tensors[name].bytes - sum(self.program.tensors[n].bytes for n in placed)
        return Interval(sum(sizes), sum(sizes) + left)

    def touched(self, name: str, share: Share) -> Interval | None:
        """The bytes of a tensor in the rows of ``share``; None for all."""
        if share == WHOLE:
            return None
        size = self.program.tensors[name].bytes
        start = size * share.rows.start // share.of_rows
        if share.banded:
            return Interval(start, size * share.rows.stop // share.of_rows)
        return Interval(start, min(size, start + share.bytes(size)))

    def stripe(self, op: Op, direction: Direction, part: Part, lane: Lane) -> Operand:
        size, here = part.share.bytes(self.program.tensors[part.name].bytes), self.next_step
        advance = self._advance(op, part.name)
        need = TransferNeed(direction, "stripe", part, size, "", here, here, op.name, lane.name, advance)
        return self._passing(need, lane)

    def weights(self, op: Op, channels: Interval, lane: Lane) -> list[Operand]:
        block = self.program.block_bytes(op)
        if not block:
            return []
        share, here = weight_share(op, channels), self.next_step
        part, buffer = Part(op.name, share, weights=True), f"{lane.name}.{len(self.emission.needs)}"
        size = share.bytes(block)
        need = TransferNeed("load", "weights", part, size, buffer, here, here, op.name, "weights")
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

    def segment_needs(self, root: str, buffer: str, segment: Segment) -> None:
        """Add the load that begins a segment and the stores that write the tensor back."""
        size = self.program.tensors[root].bytes
        positions = [t.position for t in segment.touches]
        if segment.loaded:
            op = self.order[min(positions)]
            first, _ = self.emission.op_steps[op.name]
            last = self.emission.op_steps[self.order[max(positions)].name][1]
            self.emission.needs.append(
                TransferNeed(
                    "load", "tensor", Part(segment.brings or root), size, buffer, first, last, op.name, buffer
                )
            )
        for position in segment.stored:
            op = self.order[position]
            first, last = self.emission.op_steps[op.name]
            stored = next(n for n in op.outputs if self.residency.storage[n] == root)
            share = op.writes(stored, Interval(0, op.work.rows), Interval(0, op.work.channels))
            part, advance = Part(stored, share), self._advance(op, stored)
            size = share.bytes(self.program.tensors[root].bytes)
            self.emission.needs.append(
                TransferNeed("store", "tensor", part, size, buffer, first, last, op.name, buffer, advance)
            )

    def resident(self, name: str, position: int) -> str | None:
        return self.homes.get((self.residency.storage[name], position))

    def _condition(self, node: If) -> Operand | None:
        """The operand that decides a branch if it is in SharedMemory before the branch; None if it is read
        from Psram, as its buffer is filled only after the branch."""
        if node.condition is None:
            return None
        resident = self.resident(node.condition, self.next_op)
        if resident is None or (resident, self.next_op) in self.opened:
            return None
        return self.placed(Part(node.condition), resident, None)

    def buffer(self, name: str, size: int, kind: BufferKind) -> None:
        self.emission.buffers[name] = BufferSpec(name, size, kind=kind)


def _named_segments(residency: Residency) -> Iterator[tuple[str, str, Segment]]:
    """Yield each segment after its storage and the name of its buffer."""
    for root, segments in residency.segments.items():
        for index, segment in enumerate(segments):
            yield root, root if len(segments) == 1 else f"{root}#{index}", segment
