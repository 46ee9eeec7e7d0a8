"""If, Loop and Scan in the importer's first pass: sub-graphs resolved, iterations counted, results' shapes.

What is not known before the network runs becomes a bound, and a note that names the node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workloads.from_onnx.bodies import Body, Control, Slice, State, localised, outside
from workloads.from_onnx.fold import INT64
from workloads.from_onnx.graph import Fact, Node, fault, live_nodes, read_nodes, sort_nodes
from workloads.from_onnx.input_shapes import empty_is_constant
from workloads.from_onnx.proto import GraphProto, module

if TYPE_CHECKING:
    from workloads.from_onnx.infer import Inference

BOOL = 9
ASSUMED_ITERATIONS = 10
"""Iterations of a loop of which nothing says how many it makes (assumed)."""
MOST_ITERATIONS = 1_000_000
"""More iterations than this are exporters' way to write "no limit"."""


def infer_control(inference: Inference, node: Node) -> None:
    """Adds the facts of the node's outputs, and the node with what it controls. Raises BadInput."""
    match node.op:
        case "If":
            _branch(inference, node)
        case "Loop":
            _loop(inference, node)
        case _:
            _scan(inference, node)


# -- If --------------------------------------------------------------------------------------------


def chosen_branch(inference: Inference, node: Node) -> GraphProto | None:
    """The branch of an If whose condition is known, under names of its own."""
    condition = inference.facts[node.input(0)] if node.input(0) else None
    if condition is None:
        raise fault(node, "it has no condition")
    if not condition.constant or condition.array is None or condition.array.size != 1:
        return None
    graph = _graph(node, "then_branch" if condition.array.item() else "else_branch", 0, len(node.outputs))
    return localised(graph, inference.tensors, {})


def _branch(inference: Inference, node: Node) -> None:
    bodies: list[Body] = []
    for name in ("then", "else"):
        graph = localised(_graph(node, f"{name}_branch", 0, len(node.outputs)), inference.tensors, {})
        bodies.append(_resolved(inference, node, name, graph, []))
    for index, name in enumerate(node.outputs):
        if name:
            results = [inference.facts[body.results[index]] for body in bodies]
            inference.facts[name] = replace(_joined(inference, node, results), name=name)
    captured = dict.fromkeys(n for body in bodies for n in outside(body.nodes, body.results))
    control = Control(tuple(bodies))
    inference.nodes.append(replace(node, control=control, captured=tuple(captured)))


def _joined(inference: Inference, node: Node, results: Sequence[Fact]) -> Fact:
    """What may be any of the results is as large as the largest."""
    kinds = {fact.element for fact in results}
    if len(kinds) > 1:
        raise fault(node, "its branches give tensors of different element types")
    largest = max(results, key=lambda fact: fact.elements)
    if len({fact.shape for fact in results}) > 1:
        shapes = " and ".join(str(list(fact.shape)) for fact in results)
        inference.approximate(node, f"its branches give the shapes {shapes}; the larger is taken for both")
    return Fact("", largest.shape, largest.element)


# -- Loop ------------------------------------------------------------------------------------------


def _loop(inference: Inference, node: Node) -> None:
    count = len(node.inputs) - 2
    if count < 0:
        raise fault(node, "it does not have its iteration count and condition")
    original = _graph(node, "body", 2 + count, 1 + count, more=True)
    firsts = node.inputs[2:]
    inside = [info.name for info in original.input]
    # What an iteration hands on as it is never changes.
    fixed = [original.output[1 + k].name == inside[2 + k] for k in range(count)]
    renames = {inside[2 + k]: firsts[k] for k in range(count) if fixed[k]}
    graph = localised(original, inference.tensors, renames)
    limit, least = _limit(inference, node)
    told = _declared_slices(inference, node, count) if limit is None else None
    likely = inference.iterations.get(node.name, told or 1 if limit is None else limit)
    counter, going, *states = (info.name for info in graph.input)
    facts = inference.facts
    facts[counter] = Fact(counter, (), INT64)
    facts[going] = _known(going, True)  # the body runs only where it is
    for k, name in enumerate(states):
        if not fixed[k]:
            facts[name] = _carried(inference, node, firsts[k], name)
    _example(inference, counter, max(0, likely - 1))
    body = _resolved(inference, node, "body", graph, [counter, going, *states])
    least, most = _iterations(inference, node, facts[body.results[0]], least, limit, told)
    carried = tuple(
        State(firsts[k], states[k], body.results[1 + k], _output(node, k))
        for k in range(count)
        if not fixed[k]
    )
    stacks = [Slice(_output(node, k), r) for k, r in enumerate(body.results[1:]) if k >= count]
    for k in range(count):
        if fixed[k] and _output(node, k):
            inference.alias(node, firsts[k], _output(node, k))
    decides = () if facts[body.results[0]].constant else body.results[:1]
    control = Control(
        (Body("body", body.nodes, decides),),
        least,
        most,
        counter,
        carried,
        (),
        tuple(s for s in stacks if s.whole),
    )
    shapes = {s.whole: (most, *facts[s.piece].shape) for s in stacks if s.whole}
    _finish(inference, node, control, shapes)


def _limit(inference: Inference, node: Node) -> tuple[int | None, int | None]:
    """The iteration count that the file fixes, if it does; and the least number of iterations, None for
    all."""
    limit: int | None = None
    if node.input(0):
        fact = inference.facts[node.input(0)]
        if fact.constant and fact.array is not None and fact.array.size == 1:
            limit = max(0, int(fact.array.item()))
            limit = limit if limit <= MOST_ITERATIONS else None
    least: int | None = None
    if node.input(1):
        fact = inference.facts[node.input(1)]
        if not fact.constant or fact.array is None:
            least = 0
        elif not fact.array.all():
            limit = 0
    return limit, least


def _declared_slices(inference: Inference, node: Node, count: int) -> int | None:
    """The iterations that the file tells by the shape of a stacked result."""
    for name in node.outputs[count:]:
        _, shape = inference.declared.get(name, (0, None))
        if name and shape:
            return shape[0]
    return None


def _iterations(
    inference: Inference, node: Node, going: Fact, least: int | None, limit: int | None, told: int | None
) -> tuple[int, int]:
    """The least and the most iterations; ``told`` are those of a stacked result that the file declares."""
    given = inference.iterations.get(node.name)
    ends = going.constant and going.array is not None and not going.array.all()
    if ends and limit != 0:
        limit = 1
    if given is not None:
        inference.iterations_used.add(node.name)
        if limit is not None and given > limit:
            raise fault(
                node, f"it makes at most {limit} iterations, not {given}", "give fewer in --iterations"
            )
        return given, given
    hint = f"--iterations {node.name}=N sets it"
    if told is not None:
        inference.notes.append(
            f"{node.label}: it makes {told} iterations, "
            f"as many as the file declares slices of its result ({hint})"
        )
        return told, told
    if limit is None:
        inference.notes.append(
            f"{node.label}: nothing in the file says how many iterations it makes; "
            f"{ASSUMED_ITERATIONS} are assumed "
            f"({hint})"
        )
    most = ASSUMED_ITERATIONS if limit is None else limit
    if going.constant and least is None:
        return most, most
    least = min(most, 1 if least is None else least)
    if limit is not None and least < most:
        inference.notes.append(
            f"{node.label}: data decide how many iterations it makes; "
            f"any number from {least} to {most} is taken "
            f"as equally likely ({hint})"
        )
    return least, most


# -- Scan ------------------------------------------------------------------------------------------


def _scan(inference: Inference, node: Node) -> None:
    old = inference.opsets[""] < 9
    operands = node.inputs[1:] if old else node.inputs
    scans = node.integer("num_scan_inputs", 0)
    count = len(operands) - scans
    if scans < 1 or count < 0:
        raise fault(node, f"it has {len(operands)} operands, and {scans} of them are scanned")
    original = _graph(node, "body", len(operands), count, more=True)
    graph = localised(original, inference.tensors, {})
    inside = [info.name for info in graph.input]
    facts = inference.facts
    lead = 1 if old else 0
    iterations: set[int] = set()
    for k, name in enumerate(operands):
        fact = facts[name]
        if lead and (not fact.shape or fact.shape[0] != 1):
            raise fault(node, f"its operand {name!r} is a batch", "export it with operator set 9 or newer")
        shape = fact.shape[lead:]
        if k >= count:
            axis = _axis(node, "scan_input_axes", k - count, len(shape))
            iterations.add(shape[axis])
            shape = (*shape[:axis], *shape[axis + 1 :])
        facts[inside[k]] = Fact(inside[k], shape, fact.element)
    if len(iterations) != 1:
        raise fault(node, f"its scanned operands have {sorted(iterations)} slices")
    most = iterations.pop()
    body = _resolved(inference, node, "body", graph, inside)
    states = tuple(State(operands[k], inside[k], body.results[k], _output(node, k)) for k in range(count))
    stacked = tuple(
        Slice(_output(node, k), result)
        for k, result in enumerate(body.results)
        if k >= count and _output(node, k)
    )
    shapes: dict[str, tuple[int, ...]] = {}
    for each in stacked:
        slice_ = facts[each.piece].shape
        index = node.outputs.index(each.whole) - count
        axis = _axis(node, "scan_output_axes", index, len(slice_) + 1)
        shapes[each.whole] = ((1,) * lead) + (*slice_[:axis], most, *slice_[axis:])
    scanned = tuple(Slice(operands[k], inside[k]) for k in range(count, len(operands)))
    _finish(
        inference,
        node,
        Control((Body("body", body.nodes, ()),), most, most, "", states, scanned, stacked),
        shapes,
    )


def _axis(node: Node, attribute: str, index: int, rank: int) -> int:
    axes = node.integers(attribute)
    axis = axes[index] if index < len(axes) else 0
    if not -rank <= axis < rank:
        raise fault(node, f"{attribute} has the axis {axis} of a tensor with {rank} axes")
    return axis % rank


# -- loops of both kinds ---------------------------------------------------------------------------


def _finish(
    inference: Inference, node: Node, control: Control, shapes: Mapping[str, tuple[int, ...]]
) -> None:
    """Facts of a loop's results; a loop of no iterations gives what it got."""
    facts = inference.facts
    (body,) = control.bodies
    for each in control.stacked:
        fact = Fact(each.whole, shapes[each.whole], facts[each.piece].element)
        facts[each.whole] = empty_is_constant(fact)
    for state in control.states:
        first, result = facts[state.first], facts[state.result]
        if result.element != first.element:
            raise fault(node, f"{state.inside!r} changes its element type from iteration to iteration")
        if result.shape != facts[state.inside].shape:
            inference.approximate(
                node,
                f"{state.inside!r} changes its shape from {list(facts[state.inside].shape)} to "
                f"{list(result.shape)} in an iteration; the first is taken for every iteration",
            )
        if state.last:
            if not control.most:
                inference.alias(node, state.first, state.last)
            else:
                facts[state.last] = Fact(state.last, first.shape, first.element)
    if not control.most:
        return
    results = (*body.results, *(s.result for s in control.states), *(each.piece for each in control.stacked))
    inside = {control.counter, *(s.inside for s in control.states), *(each.piece for each in control.scanned)}
    captured = [n for n in outside(body.nodes, results) if n not in inside]
    inference.nodes.append(replace(node, control=control, captured=tuple(captured)))


def _carried(inference: Inference, node: Node, first: str, name: str) -> Fact:
    if not first:
        raise fault(node, f"{name!r} has no first value")
    fact = inference.facts[first]
    if fact.array is not None:
        inference.examples[name] = fact.array
    return Fact(name, fact.shape, fact.element)


def _example(inference: Inference, name: str, value: int) -> None:
    import numpy

    inference.examples[name] = numpy.array(value, numpy.int64)


def _known(name: str, value: bool) -> Fact:
    import numpy

    return Fact(name, (), BOOL, True, numpy.array(value), name, BOOL)


def _graph(node: Node, attribute: str, inputs: int, outputs: int, more: bool = False) -> GraphProto:
    """A sub-graph with as many inputs and outputs as its node asks for (or, of outputs, ``more``)."""
    graph: Any = node.attributes.get(attribute)
    if not isinstance(graph, module("onnx").GraphProto):
        raise fault(node, f"it has no sub-graph {attribute}")
    if len(graph.input) != inputs:
        raise fault(node, f"its sub-graph {attribute} has {len(graph.input)} inputs and must have {inputs}")
    found = len(graph.output)
    if found < outputs or (found > outputs and not more):
        raise fault(node, f"its sub-graph {attribute} has {found} outputs and must have {outputs}")
    if more and len(node.outputs) > found - (node.op == "Loop"):
        raise fault(node, f"it has {len(node.outputs)} outputs, more than its sub-graph {attribute} gives")
    return graph


def _resolved(inference: Inference, node: Node, name: str, graph: GraphProto, inputs: Sequence[str]) -> Body:
    """The nodes of a sub-graph that are left to run, with facts for all its tensors."""
    inner = inference.inside(graph)
    known = {*inference.facts, *inference.unknown, *inputs}
    results = [info.name for info in graph.output]
    inner.run(live_nodes(sort_nodes(read_nodes(graph, inference.names), known), results))
    for result in results:
        if result not in inference.facts and result not in inference.unknown:
            raise fault(node, f"its sub-graph gives {result!r}, which nothing in it produces")
    inner.require(results)
    return Body(name, tuple(live_nodes(inner.nodes, results)), tuple(results))


def _output(node: Node, index: int) -> str:
    return node.outputs[index] if index < len(node.outputs) else ""
