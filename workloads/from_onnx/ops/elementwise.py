"""Element-wise operators of ONNX graphs that no op before them could take."""

from __future__ import annotations

from math import prod

from workloads.from_onnx.fusion import SCALED, UNARY, FusionResult, fuse, is_view
from workloads.from_onnx.graph import OnnxNode
from workloads.from_onnx.lowering import MICROSOFT, OnnxLowering, operator

KINDS = {
    "LeakyRelu": "leaky_relu",
    "HardSigmoid": "hard_sigmoid",
    "HardSwish": "hard_swish",
    "Swish": "silu",
    "Sum": "add",
    "Mod": "mod",
    "PRelu": "prelu",
}
"""Names of kinds that are not the operator's in lower case."""


OTHERS = (
    "Asin Acosh Acos Asinh Atanh Sinh Cosh Tan Not IsNaN IsInf BitwiseNot Mean Mod PRelu And Or Xor BitShift "
    "BitwiseAnd BitwiseOr BitwiseXor Equal Less LessOrEqual Greater GreaterOrEqual Where"
)
"""Element-wise operators that are never part of another op's activation."""

JOINS = frozenset(["Add", "Sub", "Mul", "Div", "Sum"])
"""Two activations in one pass, which takes the activation function after it along, as the fused
activation of ADD, SUB, MUL and DIV in TensorFlow Lite's schema (schema.fbs) does."""

FOREIGN = "Gelu FastGelu QuickGelu BiasGelu BiasAdd QLinearSigmoid QLinearLeakyRelu QLinearAdd QLinearMul"


@operator(*UNARY, *SCALED, *OTHERS.split())
@operator(*FOREIGN.split(), domain=MICROSOFT)
def elementwise(low: OnnxLowering, node: OnnxNode) -> None:
    """Operands are broadcast; constants of more than one element are weights, scalars parameters."""
    kind = KINDS.get(node.op.removeprefix("QLinear"), node.op.removeprefix("QLinear").lower())
    operands = node.inputs
    if node.op.startswith("QLinear"):
        operands = (
            (node.inputs[0], *node.inputs[3:4])
            if node.op in ("QLinearAdd", "QLinearMul")
            else node.inputs[:1]
        )
    fused = FusionResult(node.output)
    if node.op in JOINS and len(low.activations(operands)) > 1:
        fused = fuse(low, node.output, channel_axis=1, scales=False)
    low.vector(node, kind, operands=operands, outputs=[fused.output], weights=low.weights(fused.weights))


@operator("Identity", "Dropout", "Cast", "CastLike", "QuantizeLinear", "DequantizeLinear")
def view_or_cast(low: OnnxLowering, node: OnnxNode) -> None:
    """Nothing in a deployed network, except where the size of an element changes."""
    same = low.dtype(node.input(0)) == low.dtype(node.output)
    if is_view(low, node) or (node.op == "CastLike" and same):
        low.bind(node.output, low.value(node))
    elif node.op == "Dropout":
        low.builder.notes.append(
            f"{node.label}: it is in training mode, or its mask is read; it is costed as it stands"
        )
        low.vector(node, "dropout", operands=node.inputs[:1])
    else:
        low.vector(node, "cast", operands=node.inputs[:1])


@operator("DynamicQuantizeLinear")
def dynamic_quantise(low: OnnxLowering, node: OnnxNode) -> None:
    """The range of the whole tensor first, so no rows are independent."""
    low.vector(node, "cast", rows=1)


@operator("Reshape", "Flatten", "Squeeze", "Unsqueeze")
def view(low: OnnxLowering, node: OnnxNode) -> None:
    """Another shape of the same bytes."""
    low.bind(node.output, low.value(node))


@operator(
    "RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial"
)
def random(low: OnnxLowering, node: OnnxNode) -> None:
    """Made on the chip: it is neither stored nor folded."""
    low.vector(node, "random", rows=prod(low.shape(node.output)[:-1]))
