"""Schedule and Plan to commands: every position unrolled into waits, starts and computes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from chipmodel.commands import Branch, BranchArm, Command, Compute, DmaStart, DmaWait, Located, Repeat
from chipmodel.plan import Plan
from chipmodel.schedule import Operand, Part, Schedule, Step, StepIf, StepLoop, StepNode, Transfer, steps


def lower(schedule: Schedule, plan: Plan) -> tuple[Command, ...]:
    """The commands of ``schedule`` at the offsets of ``plan``.

    At a position: waits for the loads due that are under way, loads due at once, loads for later,
    compute, stores, waits for the stores due.
    """
    return _Lowering(schedule, plan).nodes(schedule.body)


class _Lowering:
    def __init__(self, schedule: Schedule, plan: Plan) -> None:
        self.schedule = schedule
        self.plan = plan
        self.op_at: Mapping[int, str] = {s.position: s.op for s in steps(schedule.body)}
        self.issued: dict[tuple[str, int], list[Transfer]] = defaultdict(list)
        self.due: dict[tuple[str, int], list[Transfer]] = defaultdict(list)
        for transfer in schedule.transfers:
            self.issued[transfer.direction, transfer.issue].append(transfer)
            self.due[transfer.direction, transfer.due].append(transfer)

    def nodes(self, body: tuple[StepNode, ...]) -> tuple[Command, ...]:
        commands: list[Command] = []
        for node in body:
            match node:
                case Step():
                    commands += self.step(node)
                case StepIf():
                    arms = tuple(BranchArm(arm.name, self.nodes(arm.body)) for arm in node.arms)
                    condition = self.located(node.condition) if node.condition else None
                    commands.append(Branch(node.name, arms, condition))
                case StepLoop():
                    commands.append(Repeat(node.name, node.trips, self.nodes(node.body)))
        return tuple(commands)

    def step(self, step: Step) -> list[Command]:
        here = step.position
        loads, due = self.issued["load", here], self.due["load", here]
        commands: list[Command] = [self.wait(t, here) for t in due if t.issue < here]
        commands += [self.start(t) for t in loads if t.due == here]
        commands += [self.wait(t, here) for t in due if t.issue == here]
        commands += [self.start(t) for t in loads if t.due > here]
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
            )
        )
        commands += [self.start(t) for t in self.issued["store", here]]
        commands += [self.wait(t, here) for t in self.due["store", here]]
        return commands

    def start(self, transfer: Transfer) -> DmaStart:
        at = self.located(Operand(transfer.part, transfer.buffer))
        owner = transfer.due if transfer.direction == "load" else transfer.issue
        name, direction, size = transfer.name, transfer.direction, transfer.bytes
        return DmaStart(name, direction, size, at, self.op_at[owner], transfer.psram, transfer.home)

    def wait(self, transfer: Transfer, position: int) -> DmaWait:
        return DmaWait(transfer.name, self.op_at[position])

    def located(self, operand: Operand) -> Located:
        part: Part = operand.part
        size = self.schedule.buffers[operand.buffer].bytes
        return Located(part, self.plan.offsets[operand.buffer], size, operand.touched)
