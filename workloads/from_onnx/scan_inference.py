"""Scan in the importer's first pass: the slices that iterations read and make, and their axes."""

from __future__ import annotations

from collections.abc import Mapping

from workloads.from_onnx.body_inference import checked_graph, output_name, resolved_body
from workloads.from_onnx.graph import (
    CarriedTensor,
    ControlFlow,
    Fact,
    OnnxNode,
    SlicedTensor,
    Subgraph,
    fault,
)
from workloads.from_onnx.loop_results import finish_loop, stacked_slices
from workloads.from_onnx.shape_inference import Inference
from workloads.from_onnx.subgraphs import localised


def infer_scan(inference: Inference, node: OnnxNode) -> None:
    """Append the node with its body, and add facts of its outputs."""
    batched = inference.opsets[""] < 9  # then a batch is the first axis of every operand
    operands = node.inputs[1:] if batched else node.inputs
    scans = node.integer("num_scan_inputs", 0)
    count = len(operands) - scans
    if scans < 1 or count < 0:
        raise fault(node, f"it has {len(operands)} operands, and {scans} of them are scanned")
    original = checked_graph(node, "body", len(operands), count, more=True)
    graph = localised(original, inference.tensors, {})
    inputs = [info.name for info in graph.input]
    most = _declare_scan_inputs(inference, node, dict(zip(inputs, operands, strict=True)), count)
    body = resolved_body(inference, node, "body", graph, inputs)
    carried = tuple(
        CarriedTensor(operands[k], inputs[k], body.results[k], output_name(node, k)) for k in range(count)
    )
    scanned = tuple(SlicedTensor(operands[k], inputs[k]) for k in range(count, len(operands)))
    stacked = stacked_slices(node, body.results, count)
    control = ControlFlow(
        (Subgraph("body", body.nodes, ()),), most, most, "", carried, scanned=scanned, stacked=stacked
    )
    batch = (1,) if batched else ()
    shapes = {
        t.whole: (*batch, *_stacked_shape(node, inference.facts[t.piece].shape, t, most, count))
        for t in stacked
    }
    finish_loop(inference, node, control, shapes)


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
