"""Bodies of If, Loop and Scan in the importer's first pass: checked, and with facts for all their tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workloads.from_onnx.graph import OnnxNode, Subgraph, fault, live_nodes, sort_nodes
from workloads.from_onnx.node_reading import read_nodes
from workloads.from_onnx.onnx_package import GraphProto, module
from workloads.from_onnx.shape_inference import Inference


def checked_graph(
    node: OnnxNode, attribute: str, inputs: int, outputs: int, more: bool = False
) -> GraphProto:
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
