"""Join views, the nodes whose result has the bytes of their operand in the same order: they cost nothing.

Exporters and optimisers write them in chains and in pairs that undo each other: ONNX Runtime puts a Reshape
before and after each Gemm that it makes of a MatMul and an Add.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from workloads.from_onnx.graph import OnnxNode, live_nodes
from workloads.from_onnx.graph_view import GraphView

RESHAPES = frozenset(["Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze"])
MAY_RESHAPE = RESHAPES | {"Expand", "Tile", "Transpose"}
"""Operators that keep the bytes of their operand in order, if a transpose moves axes of size 1 only."""


def join_views(view: GraphView, nodes: Sequence[OnnxNode]) -> list[OnnxNode]:
    """``nodes`` with an Identity, which may change the shape, for each view of what is no view itself.

    What reads one of several equal views reads the first, or the tensor itself; sub-graphs read as before.
    """
    sources: dict[str, str] = {}
    firsts: dict[tuple[str, tuple[int, ...]], str] = {}
    read: dict[str, str] = {}
    joined: list[OnnxNode] = []
    for node in nodes:
        if _is_view(view, node):
            source = sources[node.output] = sources.get(node.input(0), node.input(0))
            firsts.setdefault((source, view.facts[source].shape), source)
            read[node.output] = firsts.setdefault((source, view.facts[node.output].shape), node.output)
            joined.append(replace(node, op="Identity", inputs=(source,), attributes={}))
        elif node.control is None:
            joined.append(replace(node, inputs=tuple(read.get(name, name) for name in node.inputs)))
        else:
            joined.append(node)
    return live_nodes(joined, view.kept)


def _is_view(view: GraphView, node: OnnxNode) -> bool:
    """Whether the result of a node is its first operand, perhaps in another shape."""
    if node.domain or node.op not in MAY_RESHAPE:
        return False
    x, out = view.facts[node.input(0)], view.facts[node.output]
    if x.constant or x.element != out.element or x.elements != out.elements:
        return False
    if node.op == "Transpose":
        axes = range(len(x.shape))
        long = [axis for axis in axes if x.shape[axis] != 1]
        return [axis for axis in node.integers("perm") or reversed(axes) if axis in long] == long
    return True
