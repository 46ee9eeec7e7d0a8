"""The network as a graph: its ops, the boxes of branches, loops and cascades, and the tensors between ops."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal

from chipmodel.answers.result import Result
from chipmodel.machine.energy import RunEnergy
from chipmodel.model.program import If, Loop, Node, Op, Program
from chipmodel.model.schedule import Schedule, steps
from chipmodel.records import dataclass
from reports.run.totals import RunTotals


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """``tensor`` goes from node ``maker`` to node ``reader``. Nodes are numbered: ops in linear order, then
    the inputs of the program, then its outputs."""

    maker: int
    reader: int
    tensor: str
    kind: Literal["reads", "again", "decides"] = "reads"
    """``again``: in the next iteration of a loop; ``decides``: it chooses the arm that ``reader`` begins."""


@dataclass(slots=True)
class _Walk:
    found: list[GraphEdge] = field(default_factory=list[GraphEdge])
    ops: int = 0

    def along(self, body: tuple[Node, ...], makers: dict[str, tuple[int, ...]]) -> None:
        """Add the flows of ``body``; ``makers`` are those of each tensor so far, several after arms."""
        for node in body:
            if isinstance(node, Op):
                self._read(node.inputs, makers, self.ops)
                makers.update(dict.fromkeys(node.outputs, (self.ops,)))
                self.ops += 1
            elif isinstance(node, If):
                self._branch(node, makers)
            else:
                self._loop(node, makers)

    def _read(self, tensors: tuple[str, ...], makers: Mapping[str, tuple[int, ...]], reader: int) -> None:
        for name in dict.fromkeys(tensors):
            self.found += [GraphEdge(maker, reader, name) for maker in makers.get(name, ())]

    def _branch(self, node: If, makers: dict[str, tuple[int, ...]]) -> None:
        merged: defaultdict[str, dict[int, None]] = defaultdict(dict)
        for arm in node.arms:
            first, inner = self.ops, dict(makers)
            self.along(arm.body, inner)
            if self.ops > first and node.condition is not None:
                deciding = makers.get(node.condition, ())
                self.found += [GraphEdge(maker, first, node.condition, "decides") for maker in deciding]
            for name, numbers in inner.items():
                merged[name] |= dict.fromkeys(numbers)
        makers.update({name: tuple(numbers) for name, numbers in merged.items()})

    def _loop(self, node: Loop, makers: dict[str, tuple[int, ...]]) -> None:
        first, before = len(self.found), dict(makers)
        self.along(node.body, makers)
        again = [
            GraphEdge(maker, flow.reader, flow.tensor, "again")
            for flow in self.found[first:]
            if flow.tensor in node.carried and flow.maker in before[flow.tensor]
            for maker in makers[flow.tensor]
            if maker not in (*before[flow.tensor], flow.reader)
        ]
        self.found += dict.fromkeys(again)


def flows(program: Program) -> tuple[GraphEdge, ...]:
    """Every tensor from each node that makes it to each that reads it, in linear order of the readers.

    After an ``if`` a tensor comes from each arm that writes it; a tensor that a ``loop`` carries goes back to
    its readers in the body.
    """
    walk, number = _Walk(), sum(1 for _ in program.ops())
    makers: dict[str, tuple[int, ...]] = {
        name: (number + index,) for index, name in enumerate(program.inputs)
    }
    walk.along(program.body, makers)
    for index, name in enumerate(program.outputs, number + len(program.inputs)):
        walk.found += [GraphEdge(maker, index, name) for maker in makers.get(name, ())]
    return tuple(walk.found)


def buffer_ops(schedule: Schedule) -> dict[str, tuple[str, ...]]:
    """For each buffer the ops whose steps use it, or what it is the first bytes of: those that write it, then
    those that read it."""
    ops_of: defaultdict[str, dict[str, None]] = defaultdict(dict)
    listed = tuple(steps(schedule.body))
    for step in listed:
        for operand in step.writes:
            ops_of[operand.buffer][step.op] = None
    for step in listed:
        for operand in step.reads:
            ops_of[operand.buffer][step.op] = None
    for name, spec in schedule.buffers.items():
        if spec.within:
            ops_of[name] = ops_of[spec.within]
    return {name: tuple(ops) for name, ops in ops_of.items()}


Group = tuple[str, str, int]
"""The name of a box, its kind, and the number of the box around it; -1 for none."""


def _groups(result: Result) -> tuple[list[Group], list[int]]:
    """The boxes, each after the one around it, and the number of the innermost one of each op."""
    groups: list[Group] = []
    inside: list[int] = []
    cascades = {name: plan.name for plan in result.schedule.cascades for name in plan.ops}

    def box(name: str, kind: str, around: int) -> int:
        groups.append((name, kind, around))
        return len(groups) - 1

    def walk(body: tuple[Node, ...], around: int) -> None:
        made: dict[str, int] = {}
        for node in body:
            if isinstance(node, Op):
                cascade = cascades.get(node.name)
                if cascade is not None and cascade not in made:
                    made[cascade] = box(cascade, "cascade", around)
                inside.append(around if cascade is None else made[cascade])
            elif isinstance(node, If):
                branch = box(node.name, "if", around)
                for arm in node.arms:
                    walk(arm.body, box(arm.name, "arm", branch))
            else:
                words = f"{node.name}, {'up to ' if node.chances else ''}{node.iterations:,} iterations"
                walk(node.body, box(words, "loop", around))

    walk(result.program.body, -1)
    return groups, inside


def network(
    result: Result, sums: RunTotals, energy: RunEnergy | None
) -> dict[str, Mapping[str, object] | Sequence[object]]:
    """The graph as the page's script draws it: ``ops`` with their name, kind, box, runs, first and last
    cycle, and values by ``measures``; ``inputs`` and ``outputs``; ``groups``; ``edges``, in the end with how
    a tensor goes if it is not just read."""
    program = result.program
    groups, inside = _groups(result)
    spans: dict[str, tuple[int, int]] = {}
    for event in result.trace.of("npu"):
        if not event.cause:
            first, last = spans.get(event.op, (event.start, event.stop))
            spans[event.op] = min(first, event.start), max(last, event.stop)
    measures = {
        "stall": [op.stall_cycles for op in sums.ops],
        "time": [op.compute_cycles + op.stall_cycles for op in sums.ops],
        "bytes": [op.loaded_bytes + op.stored_bytes for op in sums.ops],
        **({"energy": [round(1000 * energy.op_microjoules(op.name)) for op in sums.ops]} if energy else {}),
    }
    return {
        "ops": [
            [op.name, op.kind, inside[index], op.runs, *spans.get(op.name, (0, 0))]
            for index, op in enumerate(sums.ops)
        ],
        "measures": measures,
        "inputs": program.inputs,
        "outputs": program.outputs,
        "groups": groups,
        "edges": [
            [flow.maker, flow.reader, flow.tensor, program.tensors[flow.tensor].bytes]
            + ([flow.kind] if flow.kind != "reads" else [])
            for flow in flows(program)
        ],
    }
