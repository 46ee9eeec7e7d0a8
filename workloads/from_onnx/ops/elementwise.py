"""Element-wise operators of ONNX graphs that are not fused into the op before them."""

from __future__ import annotations

from math import prod

from workloads.from_onnx.fusion import SCALED, UNARY, FusionResult, fuse, is_view, join_product
from workloads.from_onnx.graph import OnnxNode
from workloads.from_onnx.lowering import MICROSOFT, OnnxLowering, operator
from workloads.from_onnx.operator_table import op_kind, operators
from workloads.from_onnx.views import RESHAPES

FUSED_WITH_ACTIVATION = frozenset(["Add", "Sub", "Mul", "Div", "Sum"])
"""Operators that an activation is fused into, as into ADD, SUB, MUL, DIV in TensorFlow Lite (schema.fbs)."""

PRODUCTS = {"Sigmoid": "silu", "HardSigmoid": "hard_swish"}
"""The functions that are the product of an operand and this function of it."""


@operator(*UNARY, *SCALED, *operators("elementwise"))
@operator(*operators("elementwise", MICROSOFT), domain=MICROSOFT)
def elementwise(low: OnnxLowering, node: OnnxNode) -> None:
    """Operands are broadcast; constants of several elements are weights, scalars parameters of the op."""
    fused = FusionResult(node.output)
    if node.op in FUSED_WITH_ACTIVATION:
        fused = fuse(low, node.output, channel_axis=1, scales=False)
    kind = op_kind(node.op)
    product = join_product(low, node) if node.op in PRODUCTS else ""
    if product:
        kind, fused = PRODUCTS[node.op], FusionResult(product)
    low.vector(node, kind, outputs=[fused.output], weights=low.weights(fused.weights))


@operator(*RESHAPES, "Dropout", "Cast", "QuantizeLinear", "DequantizeLinear")
def view_or_cast(low: OnnxLowering, node: OnnxNode) -> None:
    """No op, except where the size of an element changes."""
    if is_view(low, node):
        low.bind(node.output, low.value(node))
    elif node.op == "Dropout":
        low.builder.notes.append(
            f"{node.label}: it is in training mode, or its mask is read; it is modelled as an op of its own"
        )
        low.vector(node, "dropout", operands=node.inputs[:1])
    else:
        low.vector(node, "cast", operands=node.inputs[:1])


@operator("DynamicQuantizeLinear")
def dynamic_quantise(low: OnnxLowering, node: OnnxNode) -> None:
    """The scale depends on the whole tensor, so no rows are independent."""
    low.vector(node, "cast", rows=1)


@operator(*operators("random"))
def random(low: OnnxLowering, node: OnnxNode) -> None:
    """Random numbers are made on the chip, neither stored nor folded."""
    low.vector(node, "random", rows=prod(low.shape(node.output)[:-1]))
