"""Leave out transposes around a part of a graph that works on images with channels last.

ONNX Runtime writes quantised convolutions so, and exporters of networks from TensorFlow. Between a transpose
to that layout and the ones back, element-wise ops, concats and reductions compute the same in the layout
before; a reduction that leaves the other axes in order needs no transpose back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from workloads.from_onnx.fusion import UNARY
from workloads.from_onnx.graph import OnnxNode
from workloads.from_onnx.graph_view import GraphView

ELEMENTWISE = UNARY | {
    *("Add", "Sub", "Mul", "Div", "Min", "Max", "Pow", "Sum", "Where", "Cast"),
    *("QuantizeLinear", "DequantizeLinear"),
}
"""Operators of which each element of the result depends on one element of each operand."""

MOST_NODES = 256
"""Nodes looked at around one transpose (assumed; limits time)."""


@dataclass(slots=True)
class _Region:
    """Tensors in the layout ``order`` of the axes before, the nodes that compute them, and its borders."""

    order: tuple[int, ...]
    tensors: set[str] = field(default_factory=set[str])
    inside: dict[str, OnnxNode] = field(default_factory=dict[str, OnnxNode])
    entries: dict[str, OnnxNode] = field(default_factory=dict[str, OnnxNode])
    exits: dict[str, OnnxNode] = field(default_factory=dict[str, OnnxNode])


def join_layouts(view: GraphView, nodes: Sequence[OnnxNode]) -> list[OnnxNode]:
    """``nodes`` without the transposes that only lead to another layout and back."""
    changed: dict[str, OnnxNode] = {}
    for node in nodes:
        if _order(node) is None or node.name in changed:
            continue
        region = _region(view, node)
        if region is not None and not changed.keys() & region.inside.keys():
            changed.update(_joined(view, region))
    return [changed.get(node.name, node) for node in nodes]


def _order(node: OnnxNode) -> tuple[int, ...] | None:
    """The order of axes of a transpose that moves some."""
    order = node.integers("perm") if node.op == "Transpose" and not node.domain else ()
    return order if order and order != tuple(range(len(order))) else None


def _inverse(order: Sequence[int]) -> tuple[int, ...]:
    return tuple(order.index(axis) for axis in range(len(order)))


def _region(view: GraphView, start: OnnxNode) -> _Region | None:
    """All between ``start`` and transposes of the same kind or back; None where something else borders."""
    region = _Region(_order(start) or ())
    waiting = [start.output]
    while waiting:
        name = waiting.pop()
        if name in region.tensors:
            continue
        if name in view.kept or len(region.tensors) > MOST_NODES:
            return None
        region.tensors.add(name)
        maker = view.producers.get(name)
        if maker is None:
            return None
        if _order(maker) == region.order:
            region.entries[maker.name] = maker
        elif not _enter(view, region, maker, waiting):
            return None
        for reader in view.readers.get(name, ()):
            if _order(reader) == _inverse(region.order):
                region.exits[reader.name] = reader
            elif not _enter(view, region, reader, waiting):
                return None
    return region


def _enter(view: GraphView, region: _Region, node: OnnxNode, waiting: list[str]) -> bool:
    """Whether ``node`` can work in the other layout; its tensors then wait to be looked at."""
    rank = len(region.order)
    if not node.domain and node.op.startswith("Reduce"):
        return _enter_reduction(view, region, node, waiting)
    if node.domain or node.captured or not (node.op in ELEMENTWISE or node.op == "Concat"):
        return False
    axis = node.integer("axis", 1) if node.op in ("QuantizeLinear", "DequantizeLinear") else None
    for name in node.reads:
        fact = view.facts[name]
        if fact.scalar or (fact.elements == 1 and node.op != "Concat"):
            continue
        if fact.constant or len(fact.shape) != rank or axis not in (None, 1):
            return False
        waiting.append(name)
    if any(len(view.facts[name].shape) != rank for name in node.writes):
        return False
    region.inside[node.name] = node
    waiting.extend(node.writes)
    return True


def _enter_reduction(view: GraphView, region: _Region, node: OnnxNode, waiting: list[str]) -> bool:
    """Whether a reduction over known axes can work in the other layout.

    Where it leaves the other axes in order, its result is the same; else that is in the other layout as well.
    """
    x, axes, rank = view.facts[node.input(0)].shape, _reduced_axes(view, node), len(region.order)
    if not axes or len(x) != rank:
        return False
    kept = [place for axis, place in enumerate(region.order) if axis not in axes and x[axis] != 1]
    moved = kept != sorted(kept) or node.output in region.tensors
    if moved and len(view.facts[node.output].shape) != rank:
        return False
    region.inside[node.name] = node
    waiting.extend((node.input(0), node.output) if moved else (node.input(0),))
    return True


def _reduced_axes(view: GraphView, node: OnnxNode) -> tuple[int, ...]:
    """The axes of a reduction, none where they are computed or left out."""
    rank = len(view.facts[node.input(0)].shape)
    axes = node.integers("axes") or view.integers(node.input(1)) or ()
    return tuple(axis % rank for axis in axes) if rank else ()


def _joined(view: GraphView, region: _Region) -> dict[str, OnnxNode]:
    """The nodes that change: transposes that rename a tensor, concats and reductions along other axes."""
    changed: dict[str, OnnxNode] = {}
    back = _inverse(region.order)
    for node in (*region.entries.values(), *region.exits.values()):
        changed[node.name] = replace(node, op="Identity", attributes={})
    for name in region.tensors:
        fact = view.facts[name]
        shape = tuple(fact.shape[axis] for axis in back)
        view.facts[name] = replace(fact, shape=shape)
    for node in region.inside.values():
        kept = node
        if node.op == "Concat":
            axis = region.order[node.integer("axis", 0) % len(region.order)]
            kept = replace(node, attributes={**node.attributes, "axis": axis})
        elif node.op.startswith("Reduce"):
            axes = tuple(sorted(region.order[axis] for axis in _reduced_axes(view, node)))
            kept = replace(node, inputs=node.inputs[:1], attributes={**node.attributes, "axes": axes})
        changed[node.name] = kept
    return changed


def join_factors(view: GraphView, nodes: Sequence[OnnxNode]) -> list[OnnxNode]:
    """``nodes`` without transposes that only swap rows and columns of one product's right factor.

    One column of attention's scores needs a row of keys, so nothing has to move. ONNX's MatMul cannot say so;
    FusedMatMul of ONNX Runtime can (``transB``).
    """
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
