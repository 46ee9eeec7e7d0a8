"""Fuse nodes into the op before them, as deployment compilers do.

First affine nodes: a BatchNormalization, and additions and multiplications by one constant per channel, are
merged into the weights and the bias. Then the activation function: a group of element-wise nodes of one
variable (a Relu; the Add, Clip, Mul and Div of a hard swish) of which only one tensor is read outside. An
integer chip looks the function up in a table, a float chip applies it while it writes the output. Views may
be in between: the op writes its output in its own shape.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from chipmodel.model.program import DTYPE_BITS
from workloads.build.element_types import FLOATS
from workloads.from_onnx.graph import Fact, OnnxNode
from workloads.from_onnx.lowering import MICROSOFT, OnnxLowering
from workloads.from_onnx.operator_table import operators
from workloads.from_onnx.views import RESHAPES

UNARY, UNARY_MICROSOFT = operators("unary"), operators("unary", MICROSOFT)
LINEAR = frozenset(["Add", "Sub", "Mul", "Div"])
SCALED = LINEAR | {"Min", "Max", "Pow", "Sum"}
"""Element-wise operators that have one operand where all others are scalars."""

VIEWS = RESHAPES | {"Dropout", "Cast", "QuantizeLinear", "DequantizeLinear"}
"""Free operators: they may be inside a fused group, but are not its last node."""


@dataclass(slots=True)
class FusionResult:
    """``output`` is the tensor that the op writes in place of its node's own."""

    output: str
    bias: str = ""
    """The constant that becomes the bias of an op without one."""
    weights: tuple[str, ...] = ()
    """Constants of the activation function (the slopes of a PRelu)."""
    merged: tuple[str, ...] = ()
    """Constants that the weights and the bias are multiplied by before deployment."""
    shifted: tuple[str, ...] = ()
    """Constants that are added to the bias."""


@dataclass(slots=True)
class _FusionGroup:
    """The nodes fused so far, in order; ``open`` are tensors that other nodes read as well."""

    channels: int
    stride: int
    """Elements from one channel to the next, the same in every view that keeps the channels' axis."""
    elements: int
    open: set[str]
    tensors: set[str]
    nodes: list[OnnxNode]
    made: FusionResult
    affine: bool = True


def fuse(
    low: OnnxLowering, output: str, *, channel_axis: int, axes: int = 1, scales: bool = True
) -> FusionResult:
    """Fuse as many nodes as possible into the op that writes ``output``, and mark them as absorbed.

    ``channel_axis`` is the first of the ``axes`` of the output channels. Without ``scales``, for an op that
    has no weights, no node with a constant per channel is fused.
    """
    shape = low.shape(output)[channel_axis:]
    channels, stride = prod(shape[:axes]), prod(shape[axes:])
    best = FusionResult(output)
    elements = prod(low.shape(output))
    group = _FusionGroup(channels, stride, elements, {output}, {output}, [], replace(best), scales)
    taken = 0
    while (node := _next(low, group)) is not None:
        if not _take(low, group, node):
            break
        if group.open == {node.output} and not is_view(low, node):
            best = replace(group.made, output=node.output)
            taken = len(group.nodes)
    low.absorbed.update(node.name for node in group.nodes[:taken])
    return best


def _next(low: OnnxLowering, group: _FusionGroup) -> OnnxNode | None:
    """The first node in execution order that reads a tensor of the group and is not in it."""
    inside = {node.name for node in group.nodes}
    readers = [n for name in group.open for n in low.view.readers.get(name, ()) if n.name not in inside]
    return min(readers, key=lambda n: low.order[n.name], default=None)


def _take(low: OnnxLowering, group: _FusionGroup, node: OnnxNode) -> bool:
    if group.open & low.view.kept or node.captured or any(low.is_used(name) for name in node.outputs[1:]):
        return False
    if low.fact(node.output).elements != group.elements or not (
        _affine(low, group, node) or _activation(low, group, node)
    ):
        return False
    group.nodes.append(node)
    group.tensors.add(node.output)
    group.open.add(node.output)
    inside = {n.name for n in group.nodes}
    done = {t for t in group.open if t != node.output and all(u.name in inside for u in low.view.readers[t])}
    group.open -= done
    return True


def _affine(low: OnnxLowering, group: _FusionGroup, node: OnnxNode) -> bool:
    """Whether a node scales or shifts channels right after the op; its constant may become the bias."""
    if not group.affine or node.domain or group.open != {_variable(low, node)}:
        return False
    if node.op in VIEWS:
        return is_view(low, node)
    if is_inference_norm(low, node) and _at_channels(group, low.shape(node.output), 1, 2):
        group.made.bias = group.made.bias or node.input(2)
        group.made.merged += node.inputs[1:]
        return True
    constants = [low.fact(name) for name in node.inputs if low.is_constant(name)]
    if node.op not in LINEAR or len(node.inputs) != 2 or len(constants) != 1:
        return False
    if node.op == "Div" and not low.is_constant(node.input(1)):
        return False
    fact = constants[0]
    if fact.elements != 1 and not _per_channel(group, low.shape(node.output), fact):
        return False
    if node.op in {"Add", "Sub"} and fact.elements > 1:
        group.made.bias = group.made.bias or fact.name
        group.made.shifted += (fact.name,)
    elif fact.elements > 1:
        group.made.merged += (fact.name,)
    return True


def _variable(low: OnnxLowering, node: OnnxNode) -> str:
    return next((name for name in node.reads if not low.is_constant(name)), "")


def _activation(low: OnnxLowering, group: _FusionGroup, node: OnnxNode) -> bool:
    variables = [name for name in node.reads if not low.is_constant(name)]
    if not variables or not group.tensors.issuperset(variables):
        return False
    constants = [low.fact(name) for name in node.reads if low.is_constant(name)]
    if node.op in VIEWS and not node.domain:
        # The op itself converts the result of an integer product to the float type.
        return is_view(low, node) or (node.op == "Cast" and low.fact(node.output).element in FLOATS)
    unary = node.op in (UNARY_MICROSOFT if node.domain == MICROSOFT else UNARY if not node.domain else ())
    if (unary or (node.op in SCALED and not node.domain)) and all(c.elements == 1 for c in constants):
        group.affine = False
        return True
    if node.op != "PRelu" or node.domain or len(constants) != 1 or group.made.weights:
        return False
    (slope,) = constants
    if slope.elements != 1 and not _per_channel(group, low.shape(node.output), slope):
        return False
    group.affine = False
    group.made.weights = (slope.name,)
    return True


def is_view(low: OnnxLowering, node: OnnxNode) -> bool:
    """Whether a deployed network needs no op for a node."""
    if node.op == "Dropout":
        training = low.view.facts[node.input(2)] if node.input(2) else None
        off = training is None or (training.array is not None and not training.array.any())
        return off and not low.is_used(node.outputs[1] if len(node.outputs) > 1 else "")
    if node.op not in VIEWS or node.domain or not all(low.is_constant(name) for name in node.reads[1:]):
        return False
    same_size = DTYPE_BITS[low.dtype(node.input(0))] == DTYPE_BITS[low.dtype(node.output)]
    match node.op:
        case "Cast":
            return low.dtype(node.input(0)) == low.dtype(node.output)
        case "QuantizeLinear":
            readers = low.view.readers.get(node.output, ())
            return same_size or (
                node.output not in low.view.kept and all(n.op == "DequantizeLinear" for n in readers)
            )
        case "DequantizeLinear":
            producer = low.view.producers.get(node.input(0))
            return same_size or (producer is not None and producer.op == "QuantizeLinear")
        case _:
            return True


def join_product(low: OnnxLowering, node: OnnxNode) -> str:
    """Return the product of what ``node`` makes and of its operand, whose Mul is marked as absorbed; empty
    where there is none, or where something else reads what ``node`` makes. Views may be in between.

    A HardSigmoid counts only with the slope and offset of a hard swish.
    """
    slope, offset = node.number("alpha", 0.2), node.number("beta", 0.5)
    if node.op == "HardSigmoid" and (abs(slope - 1 / 6) > 1e-6 or offset != 0.5):
        return ""
    name, nodes = node.output, list[OnnxNode]()
    while name not in low.view.kept and len(readers := low.view.readers.get(name, ())) == 1:
        (reader,) = readers
        nodes.append(reader)
        if reader.captured or low.fact(reader.output).elements != low.fact(node.output).elements:
            return ""
        if reader.op == "Mul" and not reader.domain:
            others = [other for other in reader.inputs if other != name]
            if [_seen(low, other) for other in others] != [_seen(low, node.input(0))]:
                return ""
            low.absorbed.update(each.name for each in nodes)
            return reader.output
        if not is_view(low, reader):
            return ""
        name = reader.output
    return ""


def _seen(low: OnnxLowering, name: str) -> str:
    """The tensor that ``name`` is a view of."""
    while (maker := low.view.producers.get(name)) is not None and is_view(low, maker):
        name = maker.input(0)
    return name


def is_inference_norm(low: OnnxLowering, node: OnnxNode) -> bool:
    """Whether this is a BatchNormalization with constant statistics."""
    return (
        node.op == "BatchNormalization"
        and not node.domain
        and not node.integer("training_mode", 0)
        and len(node.inputs) == 5
        and all(low.is_constant(name) for name in node.inputs[1:])
        and not any(low.is_used(name) for name in node.outputs[1:])
    )


def _per_channel(group: _FusionGroup, shape: tuple[int, ...], fact: Fact) -> bool:
    """Whether a constant, broadcast to ``shape``, has one element for each channel."""
    axes = [axis for axis, size in enumerate(fact.shape, len(shape) - len(fact.shape)) if size > 1]
    return (
        bool(axes) and fact.elements == group.channels and _at_channels(group, shape, axes[0], axes[-1] + 1)
    )


def _at_channels(group: _FusionGroup, shape: tuple[int, ...], start: int, stop: int) -> bool:
    return (prod(shape[start:stop]), prod(shape[stop:])) == (group.channels, group.stride)
