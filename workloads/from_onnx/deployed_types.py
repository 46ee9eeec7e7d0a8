"""Element types of tensors between quantisation nodes: what a deployed network stores of a float tensor.

A float tensor that only QuantizeLinear nodes read is written as their type, and one that DequantizeLinear
makes is kept as that node's input, with 4, 8 or 16 bits; where bytes are only moved, their type stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from workloads.from_onnx.graph import FLOATS, OnnxNode
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
