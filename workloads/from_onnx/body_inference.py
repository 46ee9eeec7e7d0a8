"""Bodies of If, Loop and Scan in the importer's first pass: checked, and with facts for all their tensors.

Of an If with a constant condition the arm that is taken stands in its place, as does the only one that can
run on these shapes; of others the results are as large as the larger arm's. A loop hands out the last values
of carried tensors, and stacked slices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from chipmodel.errors import Unshaped
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
from workloads.from_onnx.node_reading import read_nodes
from workloads.from_onnx.onnx_package import GraphProto, module
from workloads.from_onnx.shape_inference import Inference
from workloads.from_onnx.subgraphs import localised, outside


def checked_graph(
    node: OnnxNode, attribute: str, inputs: int, outputs: int, more: bool = False
) -> GraphProto:
    """The sub-graph in an attribute, checked to have so many inputs and outputs (``more``: at least)."""
    graph: Any = node.attributes.get(attribute)
    if not isinstance(graph, module("onnx").GraphProto):
        raise fault(node, f"it has no sub-graph {attribute}")
    if len(graph.input) != inputs:
        raise fault(node, f"its sub-graph {attribute} has {len(graph.input)} inputs and must have {inputs}")
    declared = len(graph.output)
    if declared < outputs or (declared > outputs and not more):
        raise fault(node, f"its sub-graph {attribute} has {declared} outputs and must have {outputs}")
    if more and len(node.outputs) > declared - (node.op == "Loop"):
        raise fault(node, f"it has {len(node.outputs)} outputs, more than its sub-graph {attribute} gives")
    return graph


def resolved_body(
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


def output_name(node: OnnxNode, index: int) -> str:
    """The name of an output, empty where the node leaves it out."""
    return node.outputs[index] if index < len(node.outputs) else ""


def stacked_slices(node: OnnxNode, results: Sequence[str], count: int) -> tuple[SlicedTensor, ...]:
    """The slices among a body's ``results``: those after ``count`` carried tensors that the node outputs."""
    pairs = ((output_name(node, k), result) for k, result in enumerate(results) if k >= count)
    return tuple(SlicedTensor(whole, piece) for whole, piece in pairs if whole)


def finish_loop(
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


def infer_branch(inference: Inference, node: OnnxNode) -> None:
    """Append the nodes of the only arm that can run, or the node with both arms."""
    bodies = _shaped_arms(inference, node, _possible_arms(inference, node))
    for index, name in enumerate(node.outputs):
        if name and len(bodies) == 2:
            results = [inference.facts[body.results[index]] for body in bodies]
            inference.facts[name] = replace(_joined(inference, node, results), name=name)
    if len(bodies) == 1:
        inference.nodes.extend(bodies[0].nodes)
        for name, inner in zip(node.outputs, bodies[0].results, strict=True):
            if name:
                inference.alias(node, inner, name)
        return
    captured = dict.fromkeys(n for body in bodies for n in outside(body.nodes, body.results))
    control = ControlFlow(tuple(bodies))
    inference.nodes.append(replace(node, control=control, captured=tuple(captured)))


def _possible_arms(inference: Inference, node: OnnxNode) -> tuple[str, ...]:
    """The arms that the condition leaves: one of them where it is constant."""
    condition = inference.facts[node.input(0)] if node.input(0) else None
    if condition is None:
        raise fault(node, "it has no condition")
    if not condition.constant or condition.array is None or condition.array.size != 1:
        return "then", "else"
    return ("then",) if condition.array.item() else ("else",)


def _shaped_arms(inference: Inference, node: OnnxNode, names: Sequence[str]) -> list[Subgraph]:
    """The arms whose tensors have shapes and whose nodes become ops. A note names one that is dropped, which
    ``strict`` refuses, as a lone arm is refused."""
    bodies: list[Subgraph] = []
    for name in names:
        graph = localised(checked_graph(node, f"{name}_branch", 0, len(node.outputs)), inference.tensors, {})
        notes = len(inference.notes)
        try:
            body = resolved_body(inference, node, name, graph, [])
            if (node.name, name) in inference.refused:
                raise inference.refused[node.name, name]
            bodies.append(body)
        except Unshaped as error:
            if inference.reading.strict or (name == names[-1] and not bodies):
                raise
            del inference.notes[notes:]
            inference.notes.append(
                f"{node.label}: its arm {name!r} is left out, as it cannot run: {error.what}"
            )
    return bodies


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
