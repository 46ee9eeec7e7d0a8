"""Verify a plan's commands on an abstract machine that tracks the contents of every byte.

Nothing here is shared with the planners but the vocabulary. The machine follows the program's tree: it runs
every arm of every ``if`` from the same state, and every loop until its state repeats. It proves that each
step finds exactly its operands where the plan says they are, complete and of the newest definition; that no
byte of either memory is overwritten while it is needed or in flight; that nothing lies outside of
SharedMemory or Psram; and that the program's outputs end up in Psram.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from chipmodel.cascades.accumulation import in_cascades
from chipmodel.cascades.columns import op_columns
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import WHOLE
from chipmodel.hardware.chip import Chip
from chipmodel.model.commands import (
    Acquire,
    Branch,
    Command,
    Compute,
    DmaMove,
    DmaStart,
    DmaWait,
    Located,
    Release,
    Repeat,
    operands,
)
from chipmodel.model.fit import further_addresses
from chipmodel.model.program import If, Loop, Node, Op, Program, ops
from chipmodel.model.schedule import CascadeOps, Part
from chipmodel.model.tree import walk
from chipmodel.model.work import Recurrent
from chipmodel.verify.cascade_table import CascadeTable, adds_up_in_order
from chipmodel.verify.coverage import times_computed
from chipmodel.verify.memory_state import MemoryState
from chipmodel.verify.operands import operand_faults
from chipmodel.verify.parts import part_bytes, part_label, same_thing
from chipmodel.verify.psram import PsramMap, memory_fault, thing
from chipmodel.verify.rolling import load_faults, turn_faults
from chipmodel.verify.sequence import are_in_time, order_faults, sequence_faults
from chipmodel.verify.step_cost import cost_faults, inputs_in_place
from chipmodel.verify.transfers import moved_faults, slice_faults, transfer_faults

MAX_VIOLATIONS = 20
"""Violations that are reported; the rest would only make the message long."""
MAX_LOOP_ITERATIONS = 8
"""Iterations of a loop that are tried until the state of memory repeats. A correct plan's state repeats after
its second iteration; a loop whose state never does is reported."""


def verify(
    program: Program,
    commands: tuple[Command, ...],
    chip: Chip,
    cascades: Sequence[CascadeOps] = (),
    lent: Collection[str] = (),
) -> tuple[str, ...]:
    """Describe the first ``MAX_VIOLATIONS`` violations of a plan's commands; empty for a correct plan.

    ``program`` is the one that the plan is for, each op on its own; ``cascades`` says which of them the plan
    runs as one. Outputs that are ``lent`` to other cores may be gone at the end."""
    program = in_cascades(program, cascades)
    table = CascadeTable(program, cascades, commands)
    verifier = _CommandVerifier(program, chip, commands, table)
    verifier.violations += (
        *table.faults(),
        *sequence_faults(commands),
        *transfer_faults(commands, table.name_of),
        *slice_faults(program, commands, table),
        *table.band_faults(commands),
    )
    sizes = {name: tensor.bytes for name, tensor in program.tensors.items()}
    weights = {op.name: program.block_bytes(op) for op in verifier.ops.values()}
    highest = max((at.addresses.stop for each in walk(commands) for at in operands(each)), default=0)
    before = MemoryState.of(sizes, weights, min(highest, chip.shared_memory.bytes))
    for name in program.inputs:
        before.fill(name)
    state = verifier.block(program.body, commands, before)
    for name in program.outputs:
        if name in verifier.defined and name not in lent and not state.in_psram(name):
            verifier.report(f"output {name!r} is not completely in Psram at the end")
    verifier.violations += verifier.psram.faults(chip.off_chip_bytes)
    left = (*state.in_flight, *state.moving)
    verifier.violations += (f"transfer {name!r} is never waited for" for name in left)
    return tuple(dict.fromkeys(verifier.violations))[:MAX_VIOLATIONS]


class _CommandVerifier:
    def __init__(
        self, program: Program, chip: Chip, commands: tuple[Command, ...], cascades: CascadeTable
    ) -> None:
        self.program = program
        self.cascades = cascades
        self.psram = PsramMap(program, commands)
        self.chip = chip
        self.capacity = chip.shared_memory.bytes
        self.further = further_addresses(chip)
        self.ops = {op.name: op for op in ops(program.body)}
        self.defined = {name for op in self.ops.values() for name in op.outputs}
        self.looked_up = {op.name: op.inputs for op in self.ops.values() if op.gathers}
        self.violations: list[str] = []

    def report(self, text: str) -> None:
        self.violations.append(text)

    # -- the tree ------------------------------------------------------------------------------

    def block(self, body: tuple[Node, ...], commands: tuple[Command, ...], state: MemoryState) -> MemoryState:
        """Run the commands of one body and everything inside it; return the state after it."""
        nodes = {node.name: node for node in body}
        covered: dict[str, list[Compute]] = {}
        for command in commands:
            match command:
                case DmaStart():
                    self.start(command, state)
                case DmaMove():
                    self.move(command, state)
                case DmaWait():
                    self.violations += state.wait(command.name)
                case Compute():
                    self.begin_cascade(command, covered, state)
                    self.compute(command, state)
                    covered.setdefault(command.op, []).append(command)
                case Branch():
                    state = self.branch(nodes.get(command.name), command, state)
                case Repeat():
                    state = self.repeat(nodes.get(command.name), command, state)
                case Release() | Acquire():
                    self.hand_over(command, state)
        entered = [command.name for command in commands if isinstance(command, Branch | Repeat)]
        self._coverage(body, covered, entered)
        self.violations += order_faults(body, commands, self.cascades.first_of)
        self.violations += self.cascades.interrupted(commands)
        return state

    def hand_over(self, command: Release | Acquire, state: MemoryState) -> None:
        """Let other cores have a tensor, or find one of another core in Psram, as ``verify_cores`` proves."""
        if isinstance(command, Acquire):
            state.fill(command.tensor)
        elif not state.will_be_in_psram(command.tensor):
            self.report(f"{command.tensor!r} is released, which is not completely in Psram")

    def begin_cascade(self, step: Compute, covered: Mapping[str, list[Compute]], state: MemoryState) -> None:
        """Forget what a cascade's ops make: each of them could read the rows of the iteration before."""
        cascade = self.cascades.of_op.get(step.op)
        if cascade is None or any(op in covered for op in cascade.ops):
            return
        made = [name for op in cascade.ops if op in self.ops for name in self.ops[op].outputs]
        self.violations += (fault for name in made for fault in state.begin(name, f"step {step.label!r}"))

    def branch(self, node: Node | None, branch: Branch, state: MemoryState) -> MemoryState:
        if not isinstance(node, If):
            self.report(f"the plan branches at {branch.name!r}, the program does not")
            return state
        if branch.condition is not None:
            self._holds(branch.condition, Part(node.condition or ""), f"if {branch.name!r}", state)
        elif node.condition is not None and not state.in_psram(node.condition) and any(ops((node,))):
            self.report(f"if {branch.name!r} finds {node.condition!r} neither in SharedMemory nor in Psram")
        arms = {arm.name: arm for arm in branch.arms}
        if list(arms) != [arm.name for arm in node.arms]:
            self.report(f"if {branch.name!r} has arms {list(arms)}, not those of the program")
            return state
        ends = [self.block(arm.body, arms[arm.name].body, state.copy()) for arm in node.arms]
        joined = ends[0]
        for end in ends[1:]:
            if not end.same_transfers(joined):
                self.report(f"the arms of {branch.name!r} leave different transfers in flight")
            joined = joined.common(end)
        return joined

    def repeat(self, node: Node | None, loop: Repeat, state: MemoryState) -> MemoryState:
        if not isinstance(node, Loop) or node.iterations != loop.iterations:
            self.report(f"the plan's loop {loop.name!r} is not the program's")
            return state
        before = state
        after: MemoryState | None = None
        for _ in range(MAX_LOOP_ITERATIONS if loop.iterations else 0):
            end = self.block(node.body, loop.body, state.copy())
            after = end if after is None else after.common(end)
            if end == state:
                break
            state = end
        else:
            if loop.iterations:
                self.report(f"loop {loop.name!r} leaves memory in another state on every iteration")
        if after is None:
            return state
        if not after.same_transfers(before):
            self.report(f"loop {loop.name!r} leaves other transfers in flight than were so before it")
        return after.after_loop(before, {name for op in ops(node.body) for name in op.outputs})

    def _coverage(
        self, body: tuple[Node, ...], covered: dict[str, list[Compute]], entered: list[str]
    ) -> None:
        for node in body:
            if not isinstance(node, Op):
                if entered.count(node.name) != 1:
                    self.report(f"{node.name!r} runs {entered.count(node.name)} times in its block")
                continue
            tiles = covered.pop(node.name, [])
            if node.carried is not None and not adds_up_in_order(tiles, node):
                self.report(f"the steps of op {node.name!r} do not go through its rows one after another")
            some = any(tile.columns is not None for tile in tiles)
            times = times_computed(tiles, node, (op_columns(self.program, node) or 1) if some else 1)
            if self.cascades.computes_again(node.name):
                if not times.all():
                    self.report(f"the steps of op {node.name!r} do not compute all of its rows")
            elif (times != 1).any():
                self.report(f"the steps of op {node.name!r} do not cover its work exactly once")
            elif isinstance(node.work, Recurrent) and not are_in_time(tiles, node):
                self.report(f"the steps of op {node.name!r} begin a time step before all of the last")
        self.violations += (f"op {name!r} runs in another body than the program's" for name in covered)

    # -- single commands -----------------------------------------------------------------------

    def start(self, start: DmaStart, state: MemoryState) -> None:
        part, subject = start.at.part, f"transfer {start.name!r}"
        self._inside(start.at, subject)
        self.violations += load_faults(start, self._tensor_bytes(start.at)) if start.at.rolls else ()
        self.violations += self.psram.range_faults(start)
        size = part_bytes(self.program, self.ops, part)
        if size is None:
            self.report(f"{subject} moves {part.name!r}, which the program does not have")
        elif size != start.bytes:
            self.report(f"{subject} moves {start.bytes} bytes, but its part has {size}")
        elif start.bytes > start.at.bytes:
            self.report(f"{subject} moves {start.bytes} bytes into a buffer of {start.at.bytes}")
        if start.memory or self.further:  # without further memories all homes are checked together
            self._in_memory(start.memory, start.home, subject)
        if self.psram.reads_copy(start):
            if state.copies.get(thing(part)) != start.home:
                self.report(f"{subject} loads {part.name!r} from {start.home}, where no copy of it is")
        elif start.direction == "load" and not part.weights and not state.can_load(part):
            self.report(f"{subject} loads {part.name!r}, which is not completely in Psram")
        for name in self.looked_up.get(part.name, ()) if part.weights else ():
            if name not in self.defined and not state.in_psram(name):
                self.report(f"{subject} loads rows that {name!r} names, which is not completely in Psram")
        if start.direction == "store":
            self._holds(start.at, part, subject, state)
        self._check_overwriting(start, subject, state)
        self.violations += state.start(start)

    def _check_overwriting(self, start: DmaStart, subject: str, state: MemoryState) -> None:
        """Let a store destroy what else is in its bytes of Psram, and check that none of it is in flight."""
        for other in state.transfers:
            if self.psram.clash(start, other):
                self.report(f"{subject} uses bytes of Psram that {other.name!r} is moving")
        if start.direction == "store":
            state.lose_in_psram(self.psram.destroyed_by(start))
            state.lose_copies(start.home)

    def move(self, move: DmaMove, state: MemoryState) -> None:
        """Begin a move: what it copies must be complete, and what lies at its target is lost."""
        subject, part = f"transfer {move.name!r}", move.part
        size = part_bytes(self.program, self.ops, part)
        home_bytes = self.psram.home_bytes(part)
        self.violations += (*moved_faults(move, size, home_bytes),)
        self._in_memory(move.source, move.home, subject)
        self._in_memory(move.memory, move.target, subject)
        if not part.weights and not state.can_load(part):
            self.report(f"{subject} moves {part.name!r}, which is not completely at {move.home}")
        for other in state.transfers:
            if self.psram.clash(move, other):
                self.report(f"{subject} uses bytes off chip that {other.name!r} is moving")
        lost, weights = self.psram.under(move.target)
        if weights:
            self.report(f"{subject} writes {move.target}, where weights lie")
        state.lose_in_psram(lost)
        self.violations += state.move(move)

    def _in_memory(self, memory: str, home: Interval, subject: str) -> None:
        if fault := memory_fault(memory, home, self.chip.off_chip_bytes, self.further):
            self.report(f"{subject}: {fault}")

    def compute(self, step: Compute, state: MemoryState) -> None:
        op = self.ops.get(step.op)
        if op is None:
            self.report(f"step {step.label!r} runs {step.op!r}, which is not an op of the program")
            return
        subject = f"step {step.label!r}"
        if columns := tuple(self.cascades.column_faults(op, step)):
            self.violations += columns
            return
        self.violations += (
            *cost_faults(self.program, self.chip, op, step),
            *operand_faults(self.program, op, step, self.cascades),
            *self.psram.in_place_faults(op, step),
            *self._turn_faults(op, step),
        )
        for read in self.cascades.needed(op, step):
            self._holds(read, read.part, subject, state)
        for read in step.reads:
            if read.part.name in self.cascades.again and not read.part.weights:
                state.end(read.part.name)
        if op.allocates:
            self.violations += (fault for name in op.outputs for fault in state.allocate(name, subject))
            self._look_up_again(op.outputs, subject, state)
        for write in step.writes:
            if write.part.name in op.fills(step.rows):
                self._write(write, step, op, state)
        self._look_up_again(op.made(step.rows), subject, state)

    def _look_up_again(self, names: Collection[str], subject: str, state: MemoryState) -> None:
        """Forget the rows that ops have looked up by ``names``, which now name other rows."""
        stale = {op for op, inputs in self.looked_up.items() if not set(names).isdisjoint(inputs)}
        for start in state.in_flight.values():
            if start.at.part.weights and start.at.part.name in stale:
                self.report(f"{subject} decides which rows {start.name!r} loads, which is in flight")
        for op in stale:
            state.end(op, weights=True)

    def _turn_faults(self, op: Op, step: Compute) -> Iterator[str]:
        """What is wrong with places in rolling buffers, but for what a cascade makes."""
        for number, place in enumerate((*step.writes, *step.reads)):
            if place.rolls and self.cascades.comes_from_outside(op.name, place.part.name):
                tensor = self.program.tensors.get(place.part.name)
                total, rows = (tensor.bytes, tensor.stored.grid[0]) if tensor else (0, 0)
                turns, made = self.chip.npu.rolling_buffers, number < len(step.writes)
                for fault in turn_faults(place, total, rows, turns, made):
                    yield f"step {step.label!r} has {fault}"

    def _write(self, write: Located, step: Compute, op: Op, state: MemoryState) -> None:
        subject = f"step {step.label!r}"
        self._inside(write, subject)
        size = part_bytes(self.program, self.ops, write.part) or 0
        if write.bytes < size:
            self.report(f"{subject} writes {size} bytes into a buffer of {write.bytes}")
        placed = inputs_in_place(self.program, op, step)
        for read in step.reads:
            over = read.part.name in (op.overwrites, write.part.name) and read.offset == write.offset
            over = over and read.first == write.first
            if state.meet(read, write) and not over and read.part.name not in placed:
                self.report(
                    f"{subject} writes {part_label(write.part)} over its own operand {part_label(read.part)}"
                )
        if write.part.name in op.inputs and (op.collects or write.part.share != WHOLE):
            whole = write.rolls or write.in_tensor or write.part.share == WHOLE
            self.violations += state.update(write, subject, whole, passes=not op.collects)
        else:
            self.violations += state.write(write, subject)

    def _tensor_bytes(self, place: Located) -> int:
        tensor = self.program.tensors.get(place.part.name)
        return tensor.bytes if tensor else place.bytes

    def _holds(self, place: Located, part: Part, subject: str, state: MemoryState) -> None:
        self._inside(place, subject)
        if not same_thing(place.part, part):
            self.report(f"{subject} reads {part_label(part)} from the place of {part_label(place.part)}")
        if fault := state.missing(place):
            self.report(f"{subject}: {fault}")

    def _inside(self, place: Located, subject: str) -> None:
        used = Interval(place.offset, place.addresses.stop)
        if used.start < 0 or used.stop > self.capacity:
            self.report(f"{subject} uses bytes {used} of a memory of {self.capacity}")
