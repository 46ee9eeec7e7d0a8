"""Products of a transposed right factor: a product reads it as it was, column by column.

Attention multiplies queries by transposed keys. A row of keys is all that one column of the scores needs, so
nothing has to move. ONNX's MatMul cannot say so; FusedMatMul of ONNX Runtime can (``transB``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from workloads.from_onnx.graph import OnnxNode
from workloads.from_onnx.graph_view import GraphView


def join_factors(view: GraphView, nodes: Sequence[OnnxNode]) -> list[OnnxNode]:
    """``nodes`` without transposes that only swap rows and columns of one product's right factor."""
    changed: dict[str, OnnxNode] = {}
    for node in nodes:
        turn = view.producers.get(node.input(1)) if node.op == "MatMul" and not node.domain else None
        if turn is None or not _swaps_last(turn) or view.only_reader(turn.output) is not node:
            continue
        before = view.facts[turn.input(0)].shape
        view.facts[turn.output] = replace(view.facts[turn.output], shape=before)
        changed[turn.name] = replace(turn, op="Identity", attributes={})
        changed[node.name] = replace(node, attributes={**node.attributes, "transB": 1})
    return [changed.get(node.name, node) for node in nodes]


def _swaps_last(turn: OnnxNode) -> bool:
    order = turn.integers("perm") if turn.op == "Transpose" and not turn.domain else ()
    *first, row, column = order if len(order) > 1 else (0, 0)
    return (*first, column, row) == tuple(range(len(order)))
