"""IF and WHILE: their subgraphs as arms and loops of the importer's graph."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chipmodel.errors import BadInput
from workloads.from_onnx.counted_loops import CountedIterations, LoopBody, counted_iterations
from workloads.from_onnx.graph import CarriedTensor, ControlFlow, Fact, Subgraph
from workloads.from_onnx.loop_iterations import IterationBounds, loop_iterations
from workloads.from_onnx.subgraphs import outside
from workloads.from_tflite.context import SubgraphContext
from workloads.from_tflite.model_file import TfliteOperator
from workloads.from_tflite.operators import need, operator
from workloads.from_tflite.translation import translate

if TYPE_CHECKING:
    from collections.abc import Sequence

DEEPEST = 16
"""Control flow inside of control flow; deeper models are refused (assumed; limits time)."""


@operator("IF")
def branch(at: SubgraphContext, op: TfliteOperator) -> None:
    """Operands: the condition, then the inputs of both subgraphs."""
    given = [at.name(number) for number in op.inputs[1:]]
    bodies: list[Subgraph] = []
    captured: list[str] = []
    for arm, field in (("then", "ThenSubgraphIndex"), ("else", "ElseSubgraphIndex")):
        inside = _inside(at, op, field, given)
        results = tuple(inside.name(number) for number in inside.graph.outputs)
        need(op, len(results) == len(op.outputs), f"its {arm} subgraph has another number of outputs")
        bodies.append(Subgraph(arm, tuple(inside.nodes), results))
        captured += _captured(at, bodies[-1])
    node = at.node("If", [at.name(op.input(0))], at.outputs(op))
    control = ControlFlow(tuple(bodies))
    at.nodes[-1] = replace(node, captured=tuple(dict.fromkeys(captured)), control=control)


@operator("WHILE")
def loop(at: SubgraphContext, op: TfliteOperator) -> None:
    """The condition runs once more than the body: before the loop, and after each iteration."""
    first = [at.name(number) for number in op.inputs]
    before = _inside(at, op, "CondSubgraphIndex", first)
    at.nodes += before.nodes
    body = _inside(at, op, "BodySubgraphIndex", [])
    inside = [body.name(number) for number in body.graph.inputs]
    results = [body.name(number) for number in body.graph.outputs]
    need(op, len(inside) == len(results) == len(first) == len(op.outputs), "its subgraphs do not fit")
    after = _inside(at, op, "CondSubgraphIndex", results)
    going_on = after.name(after.graph.outputs[0])
    facts = at.state.facts
    goes_on = () if facts[going_on].constant else (going_on,)
    graph = Subgraph("body", (*body.nodes, *after.nodes), goes_on)
    carried = tuple(map(CarriedTensor, first, inside, results, at.outputs(op)))
    node = at.node("Loop", first, at.outputs(op))
    inside_loop = LoopBody(graph.nodes, carried, facts, asks_first=True)
    counted = counted_iterations(inside_loop, going_on)
    bounds = _bounds(facts[before.name(before.graph.outputs[0])], counted)
    at.state.loops.add(node.name)
    least, most = loop_iterations(at.state.reading, at.state.notes, node, facts[going_on], bounds, counted)
    if most == 0:
        at.nodes.pop()
        _pass_on(at, op, first)
        return
    control = ControlFlow((graph,), least, most, carried=carried)
    captured = tuple(dict.fromkeys(_captured(at, graph)))
    at.nodes[-1] = replace(node, captured=captured, control=control)


def _bounds(begins: Fact, counted: CountedIterations | None) -> IterationBounds:
    """What is known from the condition before the loop: that it does not run, or only that it may not."""
    if begins.constant and begins.array is not None:
        return IterationBounds(None if begins.array.all() else 0, None)
    return IterationBounds(None, None if counted is not None and counted.exact else 0)


def _pass_on(at: SubgraphContext, op: TfliteOperator, first: Sequence[str]) -> None:
    """Let the results of a loop without iterations be what it is given."""
    for number, name in zip(op.outputs, first, strict=True):
        at.name_of[number] = at.view(name, at.state.facts[at.name(number)].shape)


def _inside(at: SubgraphContext, op: TfliteOperator, field: str, given: Sequence[str]) -> SubgraphContext:
    """A subgraph of ``op`` as it runs on the tensors ``given``, or on tensors of its own."""
    state = at.state
    number = op.integer(field, -1)
    need(op, 0 <= number < len(state.model.subgraphs), f"there is no subgraph {number}")
    graph = state.model.subgraphs[number]
    need(op, not given or len(given) == len(graph.inputs), "its subgraph has another number of inputs")
    if state.depth >= DEEPEST:
        raise BadInput(f"operator {op.name}: control flow is more than {DEEPEST} levels deep")
    state.depth += 1
    inside = SubgraphContext(state, graph, given)
    translate(inside)
    state.depth -= 1
    return inside


def _captured(at: SubgraphContext, body: Subgraph) -> list[str]:
    """The tensors that a body reads and does not make."""
    names = outside(body.nodes, body.results)
    return [name for name in names if not at.state.facts[name].constant]
