"""Steps of a program's ops, and every transfer that the steps need."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import NO_SHARE, If, Loop, Node, Op, Program, ops
from chipmodel.model.schedule import Operand, Part, Phase, Step, StepArm, StepIf, StepLoop, StepNode
from chipmodel.npu.cycles import op_cycles, op_phases
from chipmodel.passes.liveness import scopes
from chipmodel.rewrites.in_place import left_to_move
from dma.residency.greedy import Residency, Segment
from dma.residency.tiling import Tiling
from dma.schedule.cascade_steps import cascade_plan, cascade_steps
from dma.schedule.lanes import Lane, Lanes, RollingLane
from dma.schedule.operands import Emission, OperandMaker, TransferNeed


def emit(program: Program, chip: Chip, residency: Residency, tilings: Mapping[str, Tiling]) -> Emission:
    """Return all steps of ``program``; each needed weight slice has a buffer of its own, to be replaced."""
    emitter = _Emitter(program, chip, residency, tilings)
    emitter.emission.body = emitter.nodes(program.body)
    for each in emitter.segments:
        emitter.segment_needs(*each)
    emitter.emission.straight_chain = scopes(emitter.emission.body).region
    return emitter.emission


class _Emitter(OperandMaker):
    def __init__(
        self, program: Program, chip: Chip, residency: Residency, tilings: Mapping[str, Tiling]
    ) -> None:
        super().__init__(program, chip, residency)
        self.tilings = tilings
        self.order = list(ops(program.body))
        self.next_op = 0
        self.opened = {(name, min(t.position for t in each.touches)) for _, name, each in self.segments}
        """Every buffer with the op's position at which it is loaded or first written."""

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
        lanes = self.lanes(op, tiling)
        total = tiling.count(op)
        costs: dict[tuple[int, int], tuple[int, tuple[Phase, ...]]] = {}
        result: list[Step] = []
        for index, (rows, channels) in enumerate(tiling.tiles(op)):
            shares = [op.reads(number, rows, channels) for number in range(len(op.inputs))]
            reads = [
                self._read(op, number, share, position, lanes, rows)
                for number, share in enumerate(shares)
                if self._is_operand(op, number, share, position)
            ]
            reads += self.weights(op, channels, lanes.weights)
            written = () if op.allocates and not self.resident(op.outputs[0], position) else op.outputs
            writes = [self._write(op, n, rows, channels, position, lanes.writes[n]) for n in written]
            if op.scratch:
                self.buffer(op.scratch.name, op.scratch.bytes, "scratch")
                writes.append(Operand(Part(op.scratch.name), op.scratch.name, Interval(0, op.scratch.bytes)))
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
        lanes = self.lanes(op, tiling)
        result: list[Step] = []
        for step, inner in cascade_steps(self, op, tiling, position, lanes):
            result.append(step)
            self.emission.inner_op[step.position] = inner
        self.lane_buffers(lanes)
        self.emission.op_steps[op.name] = (first, self.next_step - 1)
        self.emission.cascades.append(cascade_plan(op, tiling, Interval(first, self.next_step)))
        return result

    def lanes(self, op: Op, tiling: Tiling) -> Lanes:
        """The lanes of an op, those of inputs in rolling buffers among them."""
        lanes = Lanes(op, tiling.depth)
        for index, name in enumerate(op.inputs) if tiling.rolls else ():
            tensor = self.program.tensors[name]
            if ring := tiling.ring(op, index, tensor):
                named = lanes.reads[index].name
                lanes.rolling[index] = RollingLane(named, ring, tensor.bytes, tiling.depth)
        return lanes

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

    def _read(self, op: Op, index: int, share: Share, position: int, lanes: Lanes, rows: Interval) -> Operand:
        name = op.inputs[index]
        resident = self.resident(name, position)
        ring = self.ring(name)
        if resident and ring:
            return self.rolling(Part(name, share), resident, ring)
        if resident:
            touched = Interval(0, 0) if name in self._in_place(op) else self.touched(name, share)
            advance = 0 if op.collects else self.advance(op, name)
            return self.placed(Part(name), resident, touched, advance)
        part = Part(name, share)
        if index in lanes.rolling:
            return self.rolling_stripe(op, part, lanes.rolling[index], rows)
        # A tensor that is two operands is loaded once where both need the same part of it.
        alike = (lane for lane in lanes.reads[:index] if lane.part == part)
        return self.stripe(op, "load", part, next(alike, lanes.reads[index]))

    def _write(
        self, op: Op, name: str, rows: Interval, channels: Interval, position: int, lane: Lane
    ) -> Operand:
        share = op.writes(name, rows, channels)
        resident = self.resident(name, position)
        ring = self.ring(name)
        if resident and ring:
            return self.rolling(Part(name, share), resident, ring)
        if resident:
            written = self._written(op, name, share)
            return self.placed(Part(name, share), resident, written, self.advance(op, name))
        return self.stripe(op, "store", Part(name, share), lane)

    def _written(self, op: Op, name: str, share: Share) -> Interval | None:
        """Return the bytes that a step writes: of the output of a concat, as many as were not made there."""
        placed = self._in_place(op)
        if not placed:
            return self.touched(name, share)
        sizes = [self.program.tensors[n].bytes for n in takewhile(placed.__contains__, op.inputs)]
        left = self.program.tensors[name].bytes - sum(self.program.tensors[n].bytes for n in placed)
        return Interval(sum(sizes), sum(sizes) + left)

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
            part, advance = Part(stored, share), self.advance(op, stored)
            size = share.bytes(self.program.tensors[root].bytes)
            self.emission.needs.append(
                TransferNeed("store", "tensor", part, size, buffer, first, last, op.name, buffer, advance)
            )

    def _condition(self, node: If) -> Operand | None:
        """The operand that decides a branch if it is in SharedMemory before the branch; None if it is read
        from Psram, as its buffer is filled only after the branch."""
        if node.condition is None:
            return None
        resident = self.resident(node.condition, self.next_op)
        if resident is None or (resident, self.next_op) in self.opened:
            return None
        return self.placed(Part(node.condition), resident, None)
