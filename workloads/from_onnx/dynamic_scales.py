"""Leave out what a dynamically quantised product does itself: subtract zero points, multiply by scales.

ONNX Runtime's quantiser writes DynamicQuantizeLinear, MatMulInteger or ConvInteger, Cast, and a Mul by the
product of both scales; its own kernels (DynamicQuantizeMatMul, MatMulIntegerToFloat) do the last two at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from workloads.from_onnx.graph import OnnxNode
from workloads.from_onnx.graph_view import GraphView

PRODUCTS = frozenset(["MatMulInteger", "ConvInteger"])


def join_scales(view: GraphView, nodes: Sequence[OnnxNode]) -> list[OnnxNode]:
    """``nodes`` with an Identity for each multiplication by the scales of the product before it, and products
    that read no zero points."""
    kept = [_without_scales(view, node) for node in nodes]
    read = {name for node in kept for name in node.reads} | view.kept
    unread = {node.name for node in kept if _is_scale(view, node) and not read.intersection(node.writes)}
    return [node for node in kept if node.name not in unread]


def _without_scales(view: GraphView, node: OnnxNode) -> OnnxNode:
    if node.op in PRODUCTS and not node.domain:
        return replace(node, inputs=node.inputs[:2])
    if node.op != "Mul" or node.domain:
        return node
    for place in (0, 1):
        cast, scales = (view.producers.get(node.input(each)) for each in (place, 1 - place))
        product = view.producers.get(cast.input(0)) if cast is not None and cast.op == "Cast" else None
        if product is None or product.domain or product.op not in PRODUCTS:
            continue
        if scales is not None and _is_scale(view, scales):
            return replace(node, op="Identity", inputs=(node.input(place),), attributes={})
    return node


def _is_scale(view: GraphView, node: OnnxNode) -> bool:
    """Whether this multiplies the scale of DynamicQuantizeLinear with a constant."""
    if node.op != "Mul" or node.domain:
        return False
    makers = [view.producers.get(name) for name in node.inputs if not view.facts[name].constant]
    return len(makers) == 1 and makers[0] is not None and makers[0].op == "DynamicQuantizeLinear"
