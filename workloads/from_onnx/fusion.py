"""Which nodes after an op a deployment compiler takes into it.

First the affine ones: a BatchNormalization and additions and multiplications by one constant per output
channel become part of the weights and the bias. Then the activation: any group of element-wise nodes of
one variable (a Relu; the Add, Clip, Mul and Div that make up a hard swish) whose only way out is one
tensor. An integer chip looks such a function up in one table, a float chip applies it on the way out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from chipmodel.model.program import DTYPE_BITS
from workloads.from_onnx.graph import FLOATS, Fact, OnnxNode
from workloads.from_onnx.lowering import MICROSOFT, OnnxLowering

UNARY = frozenset(
    [
        "Relu",
        "LeakyRelu",
        "Elu",
        "Selu",
        "Celu",
        "ThresholdedRelu",
        "Sigmoid",
        "HardSigmoid",
        "HardSwish",
        "Swish",
        "Mish",
        "Tanh",
        "Softplus",
        "Softsign",
        "Gelu",
        "Erf",
        "Exp",
        "Log",
        "Neg",
        "Abs",
        "Sqrt",
        "Reciprocal",
        "Floor",
        "Ceil",
        "Round",
        "Clip",
        "Shrink",
        "Sign",
        "Sin",
        "Cos",
        "Atan",
    ]
)
"""Functions of one element; Clip's limits are scalars."""

UNARY_MICROSOFT = frozenset(["Gelu", "FastGelu", "QuickGelu"])
LINEAR = frozenset(["Add", "Sub", "Mul", "Div"])
SCALED = LINEAR | {"Min", "Max", "Pow", "Sum"}
"""Functions of one element where every other operand is a scalar."""

VIEWS = frozenset(["Identity", "Dropout", "Cast", "QuantizeLinear", "DequantizeLinear"])
"""Element-wise and free: they are passed on the way to an activation, but nothing ends in them."""


@dataclass(slots=True)
class FusionResult:
    """``output`` is the tensor that the op writes once it has taken the nodes after it in."""

    output: str
    bias: str = ""
    """The constant that becomes the op's bias, should it have none of its own."""
    weights: list[str] = field(default_factory=list[str])
    """Constants that the activation needs (the slopes of a PRelu)."""


@dataclass(slots=True)
class _FusionGroup:
    """Nodes taken in so far, in order; ``open`` are tensors that a node outside still reads."""

    channel_axis: int
    shape: tuple[int, ...]
    open: set[str]
    tensors: set[str]
    nodes: list[OnnxNode]
    bias: str = ""
    slopes: list[str] = field(default_factory=list[str])
    affine: bool = True


def fuse(low: OnnxLowering, output: str, *, channel_axis: int, scales: bool = True) -> FusionResult:
    """Grows the op that writes ``output`` as far as it goes, and marks the nodes as absorbed.

    ``channel_axis`` counts the output channels; without ``scales`` (the op has no weights to hold them)
    no node with a constant per channel is taken.
    """
    region = _FusionGroup(channel_axis, low.shape(output), {output}, {output}, [], affine=scales)
    best = FusionResult(output)
    taken = 0
    while (node := _next(low, region)) is not None:
        if not _take(low, region, node):
            break
        if region.open == {node.output} and not is_view(low, node):
            best = FusionResult(node.output, region.bias, list(region.slopes))
            taken = len(region.nodes)
    low.absorbed.update(node.name for node in region.nodes[:taken])
    return best


def _next(low: OnnxLowering, region: _FusionGroup) -> OnnxNode | None:
    """The first node in execution order that reads the region and is not in it."""
    inside = {node.name for node in region.nodes}
    readers = [n for name in region.open for n in low.users.get(name, ()) if n.name not in inside]
    return min(readers, key=lambda n: low.order[n.name], default=None)


def _take(low: OnnxLowering, region: _FusionGroup, node: OnnxNode) -> bool:
    if region.open & low.kept or node.captured or any(low.is_used(name) for name in node.outputs[1:]):
        return False
    if low.shape(node.output) != region.shape or not (
        _affine(low, region, node) or _activation(low, region, node)
    ):
        return False
    region.nodes.append(node)
    region.tensors.add(node.output)
    region.open.add(node.output)
    inside = {n.name for n in region.nodes}
    done = {t for t in region.open if t != node.output and all(u.name in inside for u in low.users[t])}
    region.open -= done
    return True


def _affine(low: OnnxLowering, region: _FusionGroup, node: OnnxNode) -> bool:
    """Whether a node scales and shifts channels, with nothing between it and the op; notes its bias."""
    if not region.affine or node.domain or region.open != {_variable(low, node)}:
        return False
    if node.op in VIEWS:
        return is_view(low, node)
    if is_inference_norm(low, node):
        region.bias = region.bias or node.input(2)
        return True
    constants = [low.fact(name) for name in node.inputs if low.is_constant(name)]
    if node.op not in LINEAR or len(node.inputs) != 2 or len(constants) != 1:
        return False
    if node.op == "Div" and not low.is_constant(node.input(1)):
        return False
    fact = constants[0]
    if fact.elements != 1 and not per_channel(fact, region.shape, region.channel_axis):
        return False
    if node.op in {"Add", "Sub"} and fact.elements > 1:
        region.bias = region.bias or fact.name
    return True


def _variable(low: OnnxLowering, node: OnnxNode) -> str:
    return next((name for name in node.reads if not low.is_constant(name)), "")


def _activation(low: OnnxLowering, region: _FusionGroup, node: OnnxNode) -> bool:
    variables = [name for name in node.reads if not low.is_constant(name)]
    if not variables or not region.tensors.issuperset(variables):
        return False
    constants = [low.fact(name) for name in node.reads if low.is_constant(name)]
    if node.op in VIEWS and not node.domain:
        # An integer product's cast to the real type is how the op writes its result.
        return is_view(low, node) or (node.op == "Cast" and low.fact(node.output).element in FLOATS)
    unary = node.op in (UNARY_MICROSOFT if node.domain == MICROSOFT else UNARY if not node.domain else ())
    if (unary or (node.op in SCALED and not node.domain)) and all(c.elements == 1 for c in constants):
        region.affine = False
        return True
    return not node.domain and node.op == "PRelu" and _slopes(region, constants)


def _slopes(region: _FusionGroup, constants: Sequence[Fact]) -> bool:
    if len(constants) != 1 or region.slopes:
        return False
    slope = constants[0]
    if slope.elements != 1 and not per_channel(slope, region.shape, region.channel_axis):
        return False
    region.affine = False
    region.slopes.append(slope.name)
    return True


def is_view(low: OnnxLowering, node: OnnxNode) -> bool:
    """Whether an element-wise node changes nothing in a deployed network."""
    if node.op == "Dropout":
        training = low.facts[node.input(2)] if node.input(2) else None
        off = training is None or (training.array is not None and not training.array.any())
        return off and not low.is_used(node.outputs[1] if len(node.outputs) > 1 else "")
    if node.op not in VIEWS or node.domain or not all(low.is_constant(name) for name in node.reads[1:]):
        return False
    same_size = DTYPE_BITS[low.dtype(node.input(0))] == DTYPE_BITS[low.dtype(node.output)]
    match node.op:
        case "Cast":
            return low.dtype(node.input(0)) == low.dtype(node.output)
        case "QuantizeLinear":
            readers = low.users.get(node.output, ())
            return same_size or (
                node.output not in low.kept and all(n.op == "DequantizeLinear" for n in readers)
            )
        case "DequantizeLinear":
            producer = low.producers.get(node.input(0))
            return same_size or (producer is not None and producer.op == "QuantizeLinear")
        case _:
            return True


def is_inference_norm(low: OnnxLowering, node: OnnxNode) -> bool:
    """Whether this is a BatchNormalization with all of its statistics fixed."""
    return (
        node.op == "BatchNormalization"
        and not node.domain
        and not node.integer("training_mode", 0)
        and len(node.inputs) == 5
        and all(low.is_constant(name) for name in node.inputs[1:])
        and not any(low.is_used(name) for name in node.outputs[1:])
    )


def per_channel(fact: Fact, shape: tuple[int, ...], axis: int) -> bool:
    """Whether a constant, broadcast to ``shape``, has one element for each channel."""
    place = axis % len(shape) - (len(shape) - len(fact.shape))
    return 0 <= place < len(fact.shape) and fact.shape[place] == fact.elements == shape[axis]
