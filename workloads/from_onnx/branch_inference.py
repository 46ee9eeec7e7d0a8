"""If in the first pass: the branch that is taken where that is known, else both, with the larger results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from workloads.from_onnx.body_inference import checked_graph, resolved_body
from workloads.from_onnx.graph import ControlFlow, Fact, OnnxNode, Subgraph, fault, live_nodes, sort_nodes
from workloads.from_onnx.node_reading import read_nodes
from workloads.from_onnx.onnx_package import GraphProto
from workloads.from_onnx.shape_inference import Inference
from workloads.from_onnx.subgraphs import localised, outside


def infer_branch(inference: Inference, node: OnnxNode) -> None:
    """Append the nodes of the branch that is taken, or the node with both branches."""
    graph = _known_branch(inference, node)
    if graph is not None:
        _inline(inference, node, graph)
        return
    bodies: list[Subgraph] = []
    for name in ("then", "else"):
        graph = localised(checked_graph(node, f"{name}_branch", 0, len(node.outputs)), inference.tensors, {})
        bodies.append(resolved_body(inference, node, name, graph, []))
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
    graph = checked_graph(
        node, "then_branch" if condition.array.item() else "else_branch", 0, len(node.outputs)
    )
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
