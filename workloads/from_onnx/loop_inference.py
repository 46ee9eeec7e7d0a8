"""Loop and Scan in the importer's first pass: what is known of their iterations, of the tensors and slices
that these are given, and of what they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from workloads.from_onnx.body_inference import (
    checked_graph,
    finish_loop,
    output_name,
    resolved_body,
    stacked_slices,
)
from workloads.from_onnx.constant_folding import INT64
from workloads.from_onnx.counted_loops import LoopBody, counted_iterations
from workloads.from_onnx.graph import (
    CarriedTensor,
    ControlFlow,
    Fact,
    OnnxNode,
    SlicedTensor,
    Subgraph,
    fault,
)
from workloads.from_onnx.loop_iterations import MAX_ITERATIONS, IterationBounds, loop_iterations
from workloads.from_onnx.shape_inference import Inference
from workloads.from_onnx.subgraphs import localised

BOOL = 9


def infer_loop(inference: Inference, node: OnnxNode) -> None:
    """Append the node with its body, and add facts of its outputs."""
    if len(node.inputs) < 2:
        raise fault(node, "it does not have its iteration count and condition")
    firsts = node.inputs[2:]
    count = len(firsts)
    original = checked_graph(node, "body", 2 + count, 1 + count, more=True)
    # What every iteration hands on as it is never changes.
    same = [k for k in range(count) if original.output[1 + k].name == original.input[2 + k].name]
    graph = localised(original, inference.tensors, {original.input[2 + k].name: firsts[k] for k in same})
    inputs = [info.name for info in graph.input]
    bounds = _bounds(inference, node)
    _declare_loop_inputs(inference, node, inputs, same, bounds)
    body = resolved_body(inference, node, "body", graph, inputs)
    going_on = inference.facts[body.results[0]]
    pairs = zip(firsts, inputs[2:], body.results[1:], strict=False)
    moving = tuple(CarriedTensor(*names, "") for names in pairs)
    inside = LoopBody(body.nodes, moving, inference.facts, inputs[0])
    counted = counted_iterations(inside, body.results[0])
    inference.loops.add(node.name)
    least, most = loop_iterations(inference.reading, inference.notes, node, going_on, bounds, counted)
    for k in same:
        if output_name(node, k):
            inference.alias(node, firsts[k], output_name(node, k))
    carried = tuple(
        CarriedTensor(first, inputs[2 + k], body.results[1 + k], output_name(node, k))
        for k, first in enumerate(firsts)
        if k not in same
    )
    stacked = stacked_slices(node, body.results[1:], count)
    decides = () if going_on.constant else body.results[:1]
    control = ControlFlow(
        (Subgraph("body", body.nodes, decides),), least, most, inputs[0], carried, stacked=stacked
    )
    shapes = {t.whole: (most, *inference.facts[t.piece].shape) for t in stacked}
    finish_loop(inference, node, control, shapes)


def _bounds(inference: Inference, node: OnnxNode) -> IterationBounds:
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
    return IterationBounds(limit, least)


def _declare_loop_inputs(
    inference: Inference, node: OnnxNode, inputs: Sequence[str], same: Sequence[int], bounds: IterationBounds
) -> None:
    """Add facts of the body's inputs: counter, condition, and the carried tensors not in ``same``."""
    facts = inference.facts
    counter, condition, *carried = inputs
    facts[counter] = Fact(counter, (), INT64)
    # An iteration begins only where the condition holds.
    facts[condition] = Fact(condition, (), BOOL, True, np.array(True), condition, BOOL)
    for k, name in enumerate(carried):
        if k not in same:
            facts[name] = _first_value(inference, node, node.inputs[2 + k], name)
    known = 1 if bounds.limit is None else bounds.limit
    last = max(0, inference.reading.iterations.get(node.name, known) - 1)
    inference.examples[counter] = np.array(last, np.int64)


def _first_value(inference: Inference, node: OnnxNode, first: str, name: str) -> Fact:
    if not first:
        raise fault(node, f"{name!r} has no first value")
    fact = inference.facts[first]
    if fact.array is not None:
        inference.examples[name] = fact.array
    return Fact(name, fact.shape, fact.element)


def infer_scan(inference: Inference, node: OnnxNode) -> None:
    """Append the node with its body, and add facts of its outputs."""
    if inference.opsets[""] < 9:
        raise fault(node, "its operands are batches", "export it with operator set 9 or newer")
    operands = node.inputs
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
    shapes = {t.whole: _stacked_shape(node, inference.facts[t.piece].shape, t, most, count) for t in stacked}
    finish_loop(inference, node, control, shapes)


def _declare_scan_inputs(
    inference: Inference, node: OnnxNode, operands: Mapping[str, str], count: int
) -> int:
    """Add facts of the body's inputs, ``count`` carried tensors and slices; the number of slices."""
    slices: set[int] = set()
    for k, (inside, name) in enumerate(operands.items()):
        fact = inference.facts[name]
        shape = fact.shape
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
