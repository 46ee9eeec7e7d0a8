"""Results of Loop and Scan in the first pass: the last values of carried tensors, and stacked slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workloads.from_onnx.body_inference import output_name
from workloads.from_onnx.graph import CarriedTensor, ControlFlow, Fact, OnnxNode, SlicedTensor, fault
from workloads.from_onnx.input_shapes import empty_is_constant
from workloads.from_onnx.shape_inference import Inference
from workloads.from_onnx.subgraphs import outside


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
