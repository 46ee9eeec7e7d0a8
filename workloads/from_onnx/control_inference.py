"""If, Loop and Scan in the importer's first pass: their sub-graphs, iterations, and shapes of results.

What is not known before the network runs becomes a bound, and a note that names the node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from workloads.from_onnx.constant_folding import INT64
from workloads.from_onnx.counted_loops import LoopBody, counted_iterations, makers_of
from workloads.from_onnx.graph import (
    CarriedTensor,
    ControlFlow,
    Fact,
    OnnxNode,
    SlicedTensor,
    Subgraph,
    fault,
    live_nodes,
    sort_nodes,
)
from workloads.from_onnx.input_shapes import empty_is_constant
from workloads.from_onnx.loop_iterations import MAX_ITERATIONS, IterationBounds, loop_iterations
from workloads.from_onnx.node_reading import read_nodes
from workloads.from_onnx.onnx_package import GraphProto, module
from workloads.from_onnx.shape_inference import ControlHandler, Inference
from workloads.from_onnx.subgraphs import localised, outside

BOOL = 9


# -- If --------------------------------------------------------------------------------------------


def _if(inference: Inference, node: OnnxNode) -> None:
    graph = _known_branch(inference, node)
    if graph is not None:
        _inline(inference, node, graph)
        return
    bodies: list[Subgraph] = []
    for name in ("then", "else"):
        graph = localised(_graph(node, f"{name}_branch", 0, len(node.outputs)), inference.tensors, {})
        bodies.append(_resolved(inference, node, name, graph, []))
    for index, name in enumerate(node.outputs):
        if name:
            results = [inference.facts[body.results[index]] for body in bodies]
            inference.facts[name] = replace(_joined(inference, node, results), name=name)
    captured = dict.fromkeys(n for body in bodies for n in outside(body.nodes, body.results))
    control = ControlFlow(tuple(bodies))
    inference.nodes.append(replace(node, control=control, captured=tuple(captured)))


def _known_branch(inference: Inference, node: OnnxNode) -> GraphProto | None:
    """The branch that an If with a constant condition takes."""
    condition = inference.facts[node.input(0)] if node.input(0) else None
    if condition is None:
        raise fault(node, "it has no condition")
    if not condition.constant or condition.array is None or condition.array.size != 1:
        return None
    graph = _graph(node, "then_branch" if condition.array.item() else "else_branch", 0, len(node.outputs))
    return localised(graph, inference.tensors, {})


def _inline(inference: Inference, node: OnnxNode, branch: GraphProto) -> None:
    """Put the nodes of ``branch`` in the place of the If."""
    inference.declare(branch)
    known = {*inference.facts, *inference.unknown}
    results = [info.name for info in branch.output]
    inference.run(live_nodes(sort_nodes(read_nodes(branch, inference.names), known), results))
    for name, inner in zip(node.outputs, results, strict=True):
        if name:
            if inner not in inference.facts and inner not in inference.unknown:
                raise fault(node, f"its branch gives {inner!r}, which nothing in it produces")
            inference.require([inner])
            inference.alias(node, inner, name)


def _joined(inference: Inference, node: OnnxNode, results: Sequence[Fact]) -> Fact:
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


def _loop(inference: Inference, node: OnnxNode) -> None:
    if len(node.inputs) < 2:
        raise fault(node, "it does not have its iteration count and condition")
    firsts = node.inputs[2:]
    count = len(firsts)
    original = _graph(node, "body", 2 + count, 1 + count, more=True)
    # What every iteration hands on as it is never changes.
    same = [k for k in range(count) if original.output[1 + k].name == original.input[2 + k].name]
    graph = localised(original, inference.tensors, {original.input[2 + k].name: firsts[k] for k in same})
    inputs = [info.name for info in graph.input]
    bounds = _bounds(inference, node, count)
    _declare_loop_inputs(inference, node, inputs, same, bounds)
    body = _resolved(inference, node, "body", graph, inputs)
    going_on = inference.facts[body.results[0]]
    pairs = zip(firsts, inputs[2:], body.results[1:], strict=False)
    moving = tuple(CarriedTensor(*names, "") for names in pairs)
    inside = LoopBody(makers_of(body.nodes), moving, inference.facts, inputs[0])
    counted = counted_iterations(inside, body.results[0])
    least, most = loop_iterations(inference, node, going_on, bounds, counted)
    for k in same:
        if _output(node, k):
            inference.alias(node, firsts[k], _output(node, k))
    carried = tuple(
        CarriedTensor(first, inputs[2 + k], body.results[1 + k], _output(node, k))
        for k, first in enumerate(firsts)
        if k not in same
    )
    stacked = _stacked(node, body.results[1:], count)
    decides = () if going_on.constant else body.results[:1]
    control = ControlFlow(
        (Subgraph("body", body.nodes, decides),), least, most, inputs[0], carried, stacked=stacked
    )
    shapes = {t.whole: (most, *inference.facts[t.piece].shape) for t in stacked}
    _finish(inference, node, control, shapes)


def _bounds(inference: Inference, node: OnnxNode, count: int) -> IterationBounds:
    limit: int | None = None
    if node.input(0):
        fact = inference.facts[node.input(0)]
        if fact.constant and fact.array is not None and fact.array.size == 1:
            limit = max(0, int(fact.array.item()))
            limit = limit if limit <= MAX_ITERATIONS else None
    least: int | None = None
    if node.input(1):
        fact = inference.facts[node.input(1)]
        if not fact.constant or fact.array is None:
            least = 0
        elif not fact.array.all():
            limit = 0
    declared = _declared_slices(inference, node, count) if limit is None else None
    return IterationBounds(limit, least, declared)


def _declared_slices(inference: Inference, node: OnnxNode, count: int) -> int | None:
    """The first axis that the file declares for one of the results after the ``count`` carried ones."""
    for name in node.outputs[count:]:
        _, shape = inference.declared.get(name, (0, None))
        if name and shape:
            return shape[0]
    return None


def _declare_loop_inputs(
    inference: Inference, node: OnnxNode, inputs: Sequence[str], same: Sequence[int], bounds: IterationBounds
) -> None:
    """Add facts of the body's inputs: counter, condition, and the carried tensors not in ``same``."""
    facts = inference.facts
    counter, condition, *carried = inputs
    facts[counter] = Fact(counter, (), INT64)
    facts[condition] = _known_condition(condition)
    for k, name in enumerate(carried):
        if k not in same:
            facts[name] = _first_value(inference, node, node.inputs[2 + k], name)
    known = (bounds.declared or 1) if bounds.limit is None else bounds.limit
    last = max(0, inference.iterations.get(node.name, known) - 1)
    inference.examples[counter] = _array(last)


# -- Scan ------------------------------------------------------------------------------------------


def _scan(inference: Inference, node: OnnxNode) -> None:
    batched = inference.opsets[""] < 9  # then a batch is the first axis of every operand
    operands = node.inputs[1:] if batched else node.inputs
    scans = node.integer("num_scan_inputs", 0)
    count = len(operands) - scans
    if scans < 1 or count < 0:
        raise fault(node, f"it has {len(operands)} operands, and {scans} of them are scanned")
    original = _graph(node, "body", len(operands), count, more=True)
    graph = localised(original, inference.tensors, {})
    inputs = [info.name for info in graph.input]
    most = _declare_scan_inputs(inference, node, dict(zip(inputs, operands, strict=True)), count)
    body = _resolved(inference, node, "body", graph, inputs)
    carried = tuple(
        CarriedTensor(operands[k], inputs[k], body.results[k], _output(node, k)) for k in range(count)
    )
    scanned = tuple(SlicedTensor(operands[k], inputs[k]) for k in range(count, len(operands)))
    stacked = _stacked(node, body.results, count)
    control = ControlFlow(
        (Subgraph("body", body.nodes, ()),), most, most, "", carried, scanned=scanned, stacked=stacked
    )
    batch = (1,) if batched else ()
    shapes = {
        t.whole: (*batch, *_stacked_shape(node, inference.facts[t.piece].shape, t, most, count))
        for t in stacked
    }
    _finish(inference, node, control, shapes)


def _declare_scan_inputs(
    inference: Inference, node: OnnxNode, operands: Mapping[str, str], count: int
) -> int:
    """Add facts of the body's inputs, ``count`` carried tensors and slices; the number of slices."""
    batched = inference.opsets[""] < 9
    slices: set[int] = set()
    for k, (inside, name) in enumerate(operands.items()):
        fact = inference.facts[name]
        if batched and (not fact.shape or fact.shape[0] != 1):
            raise fault(node, f"its operand {name!r} is a batch", "export it with operator set 9 or newer")
        shape = fact.shape[1:] if batched else fact.shape
        if k >= count:
            axis = _axis(node, "scan_input_axes", k - count, len(shape))
            slices.add(shape[axis])
            shape = (*shape[:axis], *shape[axis + 1 :])
        inference.facts[inside] = Fact(inside, shape, fact.element)
    if len(slices) != 1:
        raise fault(node, f"its scanned operands have {sorted(slices)} slices")
    return slices.pop()


def _stacked_shape(
    node: OnnxNode, piece: tuple[int, ...], tensor: SlicedTensor, slices: int, count: int
) -> tuple[int, ...]:
    index = node.outputs.index(tensor.whole) - count
    axis = _axis(node, "scan_output_axes", index, len(piece) + 1)
    return *piece[:axis], slices, *piece[axis:]


def _axis(node: OnnxNode, attribute: str, index: int, rank: int) -> int:
    axes = node.integers(attribute)
    axis = axes[index] if index < len(axes) else 0
    if not -rank <= axis < rank:
        raise fault(node, f"{attribute} has the axis {axis} of a tensor with {rank} axes")
    return axis % rank


# -- loops of both kinds ---------------------------------------------------------------------------


def _stacked(node: OnnxNode, results: Sequence[str], count: int) -> tuple[SlicedTensor, ...]:
    """The slices among a body's ``results``: those after ``count`` carried tensors that the node outputs."""
    pairs = ((_output(node, k), result) for k, result in enumerate(results) if k >= count)
    return tuple(SlicedTensor(whole, piece) for whole, piece in pairs if whole)


def _finish(
    inference: Inference, node: OnnxNode, control: ControlFlow, shapes: Mapping[str, tuple[int, ...]]
) -> None:
    """Add facts of a loop's outputs, and the node; without iterations, the outputs are its operands."""
    facts = inference.facts
    for each in control.stacked:
        fact = Fact(each.whole, shapes[each.whole], facts[each.piece].element)
        facts[each.whole] = empty_is_constant(fact)
    for tensor in control.carried:
        _check_unchanging(inference, node, tensor)
        if tensor.last and control.max_iterations:
            first = facts[tensor.first]
            facts[tensor.last] = Fact(tensor.last, first.shape, first.element)
        elif tensor.last:
            inference.alias(node, tensor.first, tensor.last)
    if control.max_iterations:
        read = outside(control.bodies[0].nodes, control.loop_results)
        captured = tuple(name for name in read if name not in control.loop_inputs)
        inference.nodes.append(replace(node, control=control, captured=captured))


def _check_unchanging(inference: Inference, node: OnnxNode, tensor: CarriedTensor) -> None:
    """Refuse a carried tensor that changes its element type, and approximate one that changes its shape."""
    first, inside, result = (inference.facts[n] for n in (tensor.first, tensor.inside, tensor.result))
    if result.element != first.element:
        raise fault(node, f"{tensor.inside!r} changes its element type from iteration to iteration")
    if result.shape != inside.shape:
        what = f"{tensor.inside!r} changes its shape from {list(inside.shape)} to {list(result.shape)}"
        inference.approximate(node, f"{what} in an iteration; the first is taken for every iteration")


def _first_value(inference: Inference, node: OnnxNode, first: str, name: str) -> Fact:
    if not first:
        raise fault(node, f"{name!r} has no first value")
    fact = inference.facts[first]
    if fact.array is not None:
        inference.examples[name] = fact.array
    return Fact(name, fact.shape, fact.element)


def _array(value: int) -> Any:
    import numpy

    return numpy.array(value, numpy.int64)


def _known_condition(name: str) -> Fact:
    """The condition as the body reads it: an iteration begins only where it holds."""
    import numpy

    return Fact(name, (), BOOL, True, numpy.array(True), name, BOOL)


def _graph(node: OnnxNode, attribute: str, inputs: int, outputs: int, more: bool = False) -> GraphProto:
    """The sub-graph in an attribute, checked to have so many inputs and outputs (``more``: at least)."""
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


def _resolved(
    inference: Inference, node: OnnxNode, name: str, graph: GraphProto, inputs: Sequence[str]
) -> Subgraph:
    """The nodes of a sub-graph that have to run, with facts for all its tensors."""
    inner = inference.inside(graph)
    known = {*inference.facts, *inference.unknown, *inputs}
    results = [info.name for info in graph.output]
    inner.run(live_nodes(sort_nodes(read_nodes(graph, inference.names), known), results))
    for result in results:
        if result not in inference.facts and result not in inference.unknown:
            raise fault(node, f"its sub-graph gives {result!r}, which nothing in it produces")
    inner.require(results)
    return Subgraph(name, tuple(live_nodes(inner.nodes, results)), tuple(results))


def _output(node: OnnxNode, index: int) -> str:
    return node.outputs[index] if index < len(node.outputs) else ""


CONTROL_HANDLERS: Mapping[str, ControlHandler] = {"If": _if, "Loop": _loop, "Scan": _scan}
"""Each adds the facts of its node's outputs and the node with its control flow. Raises BadInput."""
