"""What a deployed network stores and computes of tensors between quantisation nodes.

A float tensor that only QuantizeLinear nodes read is written as their type, and one that DequantizeLinear
makes is kept as that node's input, with 4, 8 or 16 bits; where bytes are only moved, their type stays.

A dynamically quantised product subtracts zero points and multiplies by scales itself. ONNX Runtime's
quantiser writes DynamicQuantizeLinear, MatMulInteger or ConvInteger, Cast, and a Mul by the product of both
scales; its own kernels (DynamicQuantizeMatMul, MatMulIntegerToFloat) do the last two at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from workloads.build.element_types import FLOATS
from workloads.from_onnx.graph import OnnxNode
from workloads.from_onnx.graph_view import GraphView

SMALL_INTEGERS = frozenset({2, 3, 4, 5, 21, 22})
"""Element types (``onnx.TensorProto.DataType``) of quantised activations: those of 4, 8 and 16 bits."""

MOVES = frozenset(["Identity", "Transpose", "Slice", "Split"])
"""Operators whose results are elements of their first operand."""


def store_quantised(view: GraphView, nodes: Sequence[OnnxNode]) -> list[OnnxNode]:
    """``nodes`` unchanged; ``view.facts`` with the types that quantisation nodes give to float tensors."""
    for node in nodes:
        if node.domain or not node.output:
            continue
        if node.op == "QuantizeLinear":
            _store(view, node.input(0), view.facts[node.output].element)
        elif node.op == "DequantizeLinear" or node.op in MOVES:
            element = view.facts[node.input(0)].element
            for name in node.writes:
                _retype(view, name, element)
    return list(nodes)


def _store(view: GraphView, name: str, element: int) -> None:
    """Let ``name`` have the type of all its readers' results, where all quantise it so."""
    readers = view.readers.get(name, ())
    same = all(
        reader.op == "QuantizeLinear" and view.facts[reader.output].element == element for reader in readers
    )
    if same and name not in view.kept:
        _retype(view, name, element)


def _retype(view: GraphView, name: str, element: int) -> None:
    fact = view.facts[name]
    if not fact.constant and fact.element in FLOATS and element in SMALL_INTEGERS:
        view.facts[name] = replace(fact, element=element)


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
