"""A method's graph and all its submodules in one linear order.

ExecuTorch's own planners see one graph at a time, and put a graph's tensors above those of its submodules.
Its emitter inlines submodules between jumps (exir/emit/_emitter.py), so here each has positions of its own,
inside of those of the node that runs it. The arms of a ``cond`` have different positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from chipmodel.executorch.graphs import FxModule, FxNode, PlannedSpec, operation, specs_of, submodules
from chipmodel.geometry.interval import Interval

COND, WHILE, MAP, SCAN = "cond", "while_loop", "map_impl", "scan"


@dataclass(slots=True, eq=False)
class InnerGraphs:
    """The node of that ``number`` in its graph, which runs submodules; each has its positions in ``runs``."""

    number: int
    node: FxNode
    runs: list[PlacedGraph]

    @property
    def kind(self) -> str:
        """What the node calls, such as ``COND``."""
        return operation(self.node)

    @property
    def results(self) -> list[PlannedSpec | None]:
        """The specs of the node's results; None for one that is no tensor."""
        return specs_of([self.node])


@dataclass(slots=True, eq=False)
class PlacedGraph:
    """A graph in its place in the linear order; ``spans`` has the positions of each of its nodes."""

    module: FxModule
    nodes: list[FxNode] = field(default_factory=list[FxNode])
    spans: list[Interval] = field(default_factory=list[Interval])
    inner: list[InnerGraphs] = field(default_factory=list[InnerGraphs])
    bound: dict[PlannedSpec, PlannedSpec | None] = field(
        default_factory=dict["PlannedSpec", "PlannedSpec | None"]
    )
    """What placeholders stand for outside of the graph: they have no bytes of their own."""

    @classmethod
    def alone(cls, module: FxModule) -> PlacedGraph:
        """A graph whose submodules take no positions."""
        nodes = list(module.graph.nodes)
        return cls(module, nodes, [Interval(number, number + 1) for number in range(len(nodes))])

    @property
    def outputs(self) -> list[PlannedSpec | None]:
        """The specs that the graph returns; None for what is no tensor."""
        return [spec for node in self.nodes if node.op == "output" for spec in specs_of(node.args)]

    def all_runs(self) -> Iterator[PlacedGraph]:
        """This run and those inside of it, outer ones first."""
        yield self
        for inner in self.inner:
            for run in inner.runs:
                yield from run.all_runs()


def laid_out(module: FxModule) -> PlacedGraph:
    """Positions from 0 on for a graph and its submodules.

    A node takes one position; one that runs submodules takes one where it begins, those of each submodule in
    turn, and one where it ends.
    """
    run = _laid_out(module, 0)
    _bind(run)
    return run


def _laid_out(module: FxModule, start: int) -> PlacedGraph:
    made = PlacedGraph(module)
    position = start
    for number, node in enumerate(module.graph.nodes):
        began = position
        position += 1
        runs: list[PlacedGraph] = []
        for submodule in submodules(module, node):
            runs.append(_laid_out(submodule, position))
            position = runs[-1].spans[-1].stop if runs[-1].spans else position
        if runs:
            position += 1
            made.inner.append(InnerGraphs(number, node, runs))
        made.nodes.append(node)
        made.spans.append(Interval(began, position))
    return made


def _bind(run: PlacedGraph) -> None:
    """Record what the placeholders of submodules stand for, outer graphs first."""
    for inner in run.inner:
        operands, sliced = _operands(inner)
        for each in inner.runs:
            placeholders = [specs_of([node])[0] for node in each.nodes if node.op == "placeholder"]
            for number, spec in enumerate(placeholders[: len(operands)]):
                if spec is not None and number not in sliced:
                    outside = operands[number]
                    each.bound[spec] = None if outside is None else run.bound.get(outside, outside)
            _bind(each)


def _operands(inner: InnerGraphs) -> tuple[list[PlannedSpec | None], range]:
    """What the placeholders of a node's submodules stand for, and the numbers of those that do not: into
    these ``map`` and ``scan`` copy a slice for each iteration. Source: ``_emit_map`` and ``_emit_scan``."""
    args = inner.node.args
    match inner.kind:
        case "cond":
            return specs_of(args[3:]), range(0)
        case "while_loop":
            return specs_of(args[2:]), range(0)
        case "map_impl":
            return specs_of(args[1:]), range(len(specs_of(args[1])))
        case "scan":
            carried = len(specs_of(args[1]))
            sliced = range(carried, carried + len(specs_of(args[2])))
            return [*inner.results[:carried], *specs_of(args[2:])], sliced
        case _:
            return [], range(0)
