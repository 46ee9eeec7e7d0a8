"""Operators that ONNX Runtime's quantiser and optimiser write, as ONNX's own that compute the same.

Source for the domain com.microsoft:
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from workloads.from_onnx.graph import OnnxNode, fault, unique_name
from workloads.from_onnx.operator_table import FORMS, OperatorForm

MICROSOFT = "com.microsoft"
NCHWC = "com.microsoft.nchwc"
"""The domain of operators on blocks of channels, which ONNX Runtime writes for one kind of CPU."""
CLASSICAL = "ai.onnx.ml"
"""The domain of tree ensembles, support vector machines, encoders of text and the like."""

ALWAYS_LAST = frozenset(["NhwcMaxPool"])
"""Operators on images whose channels are the last axis, without an attribute that says so."""

TO_LAST, TO_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)
"""The orders of axes that make channels the last axis of an image, and the second again."""


def standard_nodes(node: OnnxNode, taken: set[str]) -> list[OnnxNode]:
    """The nodes that stand for ``node``: itself, its standard form, or that between two transposes.

    Raises BadInput for classical machine learning, and for operators of one kind of CPU.
    """
    if node.domain == CLASSICAL:
        what = "operators of ai.onnx.ml (trees, support vector machines, encoders) are not supported"
        raise fault(node, what, "export the neural network alone; these run on a CPU")
    if node.domain == NCHWC:
        what = f"operators of {NCHWC} are those of one kind of CPU, and are not supported"
        raise fault(node, what, "optimise the model at the level ORT_ENABLE_EXTENDED, not ORT_ENABLE_ALL")
    last = bool(node.integer("channels_last", 0)) if node.domain == MICROSOFT else False
    form = FORMS.get((node.domain, node.op))
    if form is None:
        return [node]
    formed = _in_form(node, form)
    if formed.op == "FusedConv" and formed.input(3):
        return _with_residual(formed, taken)
    return _between_transposes(formed, taken) if last or node.op in ALWAYS_LAST else [formed]


def _in_form(node: OnnxNode, form: OperatorForm) -> OnnxNode:
    inputs = node.inputs if form.places is None else tuple(node.input(place) for place in form.places)
    while inputs and not inputs[-1]:
        inputs = inputs[:-1]
    return replace(node, op=form.op, domain=form.domain, inputs=inputs, written=_written(node))


def _written(node: OnnxNode) -> str:
    return f"{node.domain}.{node.op}" if node.domain else node.op


def _between_transposes(node: OnnxNode, taken: set[str]) -> list[OnnxNode]:
    """An op on images whose channels are the last axis, as the same with channels second."""
    before, after = f"{node.name}.channels_first", f"{node.name}.result"
    first = transpose(node, node.input(0), before, TO_FIRST, taken)
    last = transpose(node, after, node.output, TO_LAST, taken)
    inside = replace(node, inputs=(before, *node.inputs[1:]), outputs=(after, *node.outputs[1:]))
    return [first, inside, last]


def _with_residual(node: OnnxNode, taken: set[str]) -> list[OnnxNode]:
    """A convolution and what is added to its result, as two nodes."""
    inner = f"{node.name}.product"
    conv = replace(node, inputs=node.inputs[:3], outputs=(inner,))
    name = unique_name(f"{node.name}.residual", taken)
    add = OnnxNode(name, "Add", "", (inner, node.input(3)), (node.output,), {}, written=node.written)
    return [conv, add]


def transpose(node: OnnxNode, source: str, result: str, order: Sequence[int], taken: set[str]) -> OnnxNode:
    """A Transpose that is part of what ``node`` stands for."""
    name = unique_name(f"{node.name}.transpose", taken)
    attributes = {"perm": tuple(order)}
    return OnnxNode(name, "Transpose", "", (source,), (result,), attributes, written=_written(node))
