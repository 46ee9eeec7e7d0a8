"""Lower a schedule and its plan to commands: waits, transfer starts and computes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from chipmodel.model.commands import (
    Acquire,
    Branch,
    BranchArm,
    Command,
    Compute,
    DmaMove,
    DmaStart,
    DmaWait,
    Located,
    Release,
    Repeat,
)
from chipmodel.model.core_parts import CorePart
from chipmodel.model.nesting import waits_after
from chipmodel.model.plan import Plan
from chipmodel.model.schedule import (
    OffChipMove,
    Operand,
    Part,
    Schedule,
    Step,
    StepIf,
    StepLoop,
    StepNode,
    Transfer,
    steps,
)
from chipmodel.model.scopes import scopes
from chipmodel.model.tree import bodies


def lower(schedule: Schedule, plan: Plan, part: CorePart | None = None) -> tuple[Command, ...]:
    """The commands of ``schedule`` at the offsets of ``plan``; ``part`` is the core's, if there are several.

    At a position: waits for due moves and loads in flight, loads due at once, moves and loads for later,
    compute, stores, waits for due stores. After a branch or loop: waits for the loads that only some of its
    paths have waited for. Loads of other cores' tensors, or of rows that these name, come last among those
    due at once, each after the wait for its core; a tensor that other cores read is released after the last
    step that makes it, or of the cascade that does.
    """
    return _ScheduleLowering(schedule, plan, part).nodes(schedule.body, True)


class _ScheduleLowering:
    """``issued`` and ``due`` are by direction and position, ``waited_after`` by branch or loop; ``acquired``
    are the other cores' tensors that this core has waited for so far."""

    def __init__(self, schedule: Schedule, plan: Plan, part: CorePart | None) -> None:
        self.imports: Mapping[str, int] = part.imports if part else {}
        self.conditions = part.program.conditions if self.imports and part else {}
        looked_up = {op.name: op.inputs for op in part.program.ops() if op.gathers} if part else {}
        self.looked_up: Mapping[str, tuple[str, ...]] = looked_up
        self.acquired: set[str] = set()
        self.schedule = schedule
        self.plan = plan
        self.op_at: Mapping[int, str] = {s.position: s.op for s in steps(schedule.body)}
        self.last = {op: position for position, op in self.op_at.items()}
        self.exports: dict[str, list[str]] = defaultdict(list)
        last_of = {op: self.op_at[c.steps.stop - 1] for c in schedule.cascades for op in c.ops}
        for name, node in sorted(part.exports.items() if part else ()):
            self.exports[last_of.get(node, node)].append(name)
        self.loop_at: Mapping[int, str] = dict(_innermost_loops(schedule.body))
        self.issued: dict[tuple[str, int], list[Transfer]] = defaultdict(list)
        self.due: dict[tuple[str, int], list[Transfer]] = defaultdict(list)
        self.waited_after: dict[str, list[Transfer]] = defaultdict(list)
        self.moves_issued: dict[int, list[OffChipMove]] = defaultdict(list)
        self.moves_due: dict[int, list[OffChipMove]] = defaultdict(list)
        for move in schedule.moves:
            self.moves_issued[move.issue].append(move)
            self.moves_due[move.due].append(move)
        root = scopes(schedule.body).section
        for transfer in schedule.transfers:
            self.issued[transfer.direction, transfer.issue].append(transfer)
            self.due[transfer.direction, transfer.due].append(transfer)
            if fork := waits_after(root, transfer.issue, transfer.due):
                self.waited_after[fork].append(transfer)

    def nodes(self, body: tuple[StepNode, ...], top: bool = False) -> tuple[Command, ...]:
        commands: list[Command] = []
        for node in body:
            match node:
                case Step():
                    commands += self.step(node, top and self.last[node.op] == node.position)
                case StepIf():
                    if node.condition is None and node.name in self.conditions:
                        commands += self.acquire(self.conditions[node.name], node.name)
                    arms = tuple(BranchArm(arm.name, self.inner(arm.body)) for arm in node.arms)
                    condition = self.located(node.condition) if node.condition else None
                    commands.append(Branch(node.name, arms, condition))
                    commands += self.waits(node.name)
                    commands += self.releases(node.name) if top else ()
                case StepLoop():
                    commands.append(Repeat(node.name, node.iterations, self.inner(node.body)))
                    commands += self.waits(node.name)
                    commands += self.releases(node.name) if top else ()
        return tuple(commands)

    def inner(self, body: tuple[StepNode, ...]) -> tuple[Command, ...]:
        """The commands of an arm or loop body; what it acquires is not acquired on other paths."""
        outside = set(self.acquired)
        commands = self.nodes(body)
        self.acquired = outside
        return commands

    def acquire(self, tensor: str, op: str) -> list[Command]:
        """Wait for the core that makes ``tensor``, unless this core has done so before."""
        if tensor not in self.imports or tensor in self.acquired:
            return []
        self.acquired.add(tensor)
        return [Acquire(tensor, self.imports[tensor], op)]

    def waits(self, node: str) -> list[Command]:
        """Waits after a branch or loop for transfers that some paths through it have not waited for."""
        return [DmaWait(transfer.name, node) for transfer in self.waited_after[node]]

    def releases(self, node: str) -> list[Command]:
        return [Release(tensor, node) for tensor in self.exports[node]]

    def step(self, step: Step, last: bool) -> list[Command]:
        """The commands of a step; after the ``last`` one of its op, tensors for other cores are released."""
        here = step.position
        loads, due = self.issued["load", here], self.due["load", here]
        imported = [t for t in loads if self.from_other_cores(t)]
        commands: list[Command] = [DmaWait(move.name, step.op) for move in self.moves_due[here]]
        commands += [self.wait(t, here) for t in due if t.issue != here]
        commands += [self.start(t, here) for t in loads if t.due == here and t not in imported]
        for transfer in imported:
            awaited = self.from_other_cores(transfer)
            commands += [each for name in awaited for each in self.acquire(name, step.op)]
            commands.append(self.start(transfer, here))
        commands += [self.wait(t, here) for t in due if t.issue == here]
        commands += [self.move(move) for move in self.moves_issued[here]]
        commands += [self.start(t, here) for t in loads if t.due != here and t not in imported]
        commands.append(
            Compute(
                step.label,
                step.op,
                here,
                step.rows,
                step.channels,
                step.cycles,
                tuple(self.located(o) for o in step.reads),
                tuple(self.located(o) for o in step.writes),
                step.phases,
                step.columns,
                self.schedule.weights_in_place.get(step.op),
            )
        )
        commands += [self.start(t, here) for t in self.issued["store", here]]
        commands += self.releases(step.op) if last else ()
        commands += [self.wait(t, here) for t in self.due["store", here]]
        return commands

    def move(self, move: OffChipMove) -> DmaMove:
        """The command that issues ``move``, for the op at which it is waited for."""
        copied = (move.name, move.part, move.bytes, move.source, move.home, move.memory, move.target)
        return DmaMove(*copied, self.op_at[move.due])

    def from_other_cores(self, transfer: Transfer) -> list[str]:
        """The other cores' tensors that must be there: what is loaded, or what decides which rows are."""
        part = transfer.part
        names = self.looked_up.get(part.name, ()) if part.weights else (part.name,)
        return [name for name in names if name in self.imports]

    def start(self, transfer: Transfer, here: int) -> DmaStart:
        """The command that issues ``transfer`` at the position ``here``."""
        owner = transfer.due if transfer.direction == "load" else transfer.issue
        same_loop = self.loop_at[here] == self.loop_at[owner]
        advance = transfer.advance if same_loop else 0
        at = Operand(
            transfer.part,
            transfer.buffer,
            transfer.touched,
            at=transfer.at,
            bytes=transfer.bytes if transfer.at else None,
            rolls=transfer.touched is not None,
            in_tensor=transfer.in_tensor,
            advance=advance if transfer.in_tensor else 0,
        )
        return DmaStart(
            transfer.name,
            transfer.direction,
            transfer.bytes,
            self.located(at),
            self.op_at[owner],
            transfer.psram,
            transfer.home,
            transfer.runs,
            transfer.pitch,
            advance=advance,
            memory=transfer.memory,
        )

    def wait(self, transfer: Transfer, position: int) -> DmaWait:
        return DmaWait(transfer.name, self.op_at[position])

    def located(self, operand: Operand) -> Located:
        part: Part = operand.part
        size = self.schedule.buffers[operand.buffer].bytes if operand.bytes is None else operand.bytes
        return Located(
            part,
            self.plan.offsets[operand.buffer] + operand.at,
            size,
            operand.touched,
            operand.rolls,
            operand.in_tensor,
            operand.runs,
            operand.pitch,
            operand.advance,
            operand.buffer,
            operand.first,
        )


def _innermost_loops(body: tuple[StepNode, ...], loop: str = "") -> Iterator[tuple[int, str]]:
    """Every position and the innermost loop around it; empty where there is none."""
    for node in body:
        if isinstance(node, Step):
            yield node.position, loop
        for inner in bodies(node):
            yield from _innermost_loops(inner, node.name if isinstance(node, StepLoop) else loop)
