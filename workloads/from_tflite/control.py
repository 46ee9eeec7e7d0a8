"""IF and WHILE: their subgraphs as arms and loops of the importer's graph."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chipmodel.errors import BadInput
from workloads.from_onnx.control_inference import ASSUMED_ITERATIONS
from workloads.from_onnx.graph import CarriedTensor, ControlFlow, OnnxNode, Subgraph
from workloads.from_tflite.context import SubgraphContext
from workloads.from_tflite.model_file import TfliteOperator, TfliteSubgraph
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
    node = at.plain_node("If", [at.name(op.input(0))], at.outputs(op))
    control = ControlFlow(tuple(bodies))
    at.nodes.append(replace(node, captured=tuple(dict.fromkeys(captured)), control=control))


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
    node = at.plain_node("Loop", first, at.outputs(op))
    iterations = _iterations(at, op, node, before.graph, body.graph)
    control = ControlFlow((graph,), iterations, iterations, carried=carried)
    captured = tuple(dict.fromkeys(_captured(at, graph)))
    at.nodes.append(replace(node, captured=captured, control=control))


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
    made = {name for node in body.nodes for name in node.writes}
    reads = [name for node in body.nodes for name in node.reads]
    return [
        name for name in (*reads, *body.results) if name not in made and not at.state.facts[name].constant
    ]


def _iterations(
    at: SubgraphContext, op: TfliteOperator, node: OnnxNode, condition: TfliteSubgraph, body: TfliteSubgraph
) -> int:
    """What the user says, what the file's counter and limit give, or an assumption with a note."""
    state = at.state
    if node.name in state.iterations:
        state.iterations_used.add(node.name)
        return state.iterations[node.name]
    counted = _counted(at, op, condition, body)
    if counted is not None:
        return counted
    what = (
        f"{node.label}: the file does not say how many iterations it makes; {ASSUMED_ITERATIONS} are assumed"
    )
    state.notes.append(f"{what} (--iterations {node.name}=N sets it)")
    return ASSUMED_ITERATIONS


def _counted(
    at: SubgraphContext, op: TfliteOperator, condition: TfliteSubgraph, body: TfliteSubgraph
) -> int | None:
    """The iterations of a loop whose condition compares counters with constants; None for others."""
    makers = {number: each for each in condition.operators for number in each.outputs}
    waiting = [condition.outputs[0]]
    found: list[int] = []
    for _ in range(len(makers) + 1):
        if not waiting:
            break
        maker = makers.get(waiting.pop())
        if maker is None:
            continue
        if maker.name == "LOGICAL_AND":
            waiting += maker.inputs
        elif maker.name == "LESS" and (count := _count(at, op, condition, body, maker)) is not None:
            found.append(count)
    return min(found, default=None)


def _count(
    at: SubgraphContext,
    op: TfliteOperator,
    condition: TfliteSubgraph,
    body: TfliteSubgraph,
    less: TfliteOperator,
) -> int | None:
    """The iterations until a counter that the body adds a constant to reaches a constant limit."""
    counter, limit = less.inputs[:2]
    if counter not in condition.inputs:
        return None
    place = condition.inputs.index(counter)
    first = _scalar(at.graph, op.input(place))
    last = _scalar(condition, limit)
    if last is None and limit in condition.inputs:
        passed = condition.inputs.index(limit)
        if body.outputs[passed] == body.inputs[passed]:
            last = _scalar(at.graph, op.input(passed))
    made = next((each for each in body.operators if body.outputs[place] in each.outputs), None)
    if made is None or made.name != "ADD" or body.inputs[place] not in made.inputs:
        return None
    others = [number for number in made.inputs if number != body.inputs[place]]
    step = _scalar(body, others[0]) if len(others) == 1 else None
    if first is None or last is None or step is None or step <= 0:
        return None
    return max(0, -(-(last - first) // step))


def _scalar(graph: TfliteSubgraph, number: int) -> int | None:
    value = graph.tensors[number].value if number >= 0 else None
    return int(value.reshape(-1)[0]) if value is not None and value.size == 1 else None
