"""Read one index of an axis as a slice: a Gather with a constant index, as exporters write ``y[-1]``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from workloads.from_onnx.graph import Fact, OnnxNode, unused_name
from workloads.from_onnx.graph_view import GraphView


class _Pick(NamedTuple):
    source: str
    axis: int
    at: int


def slice_picks(view: GraphView, nodes: Sequence[OnnxNode]) -> list[OnnxNode]:
    """``nodes`` with a Slice and a view, or a view alone, for each Gather of one constant index."""
    return [new for node in nodes for new in _sliced(view, node)]


def _sliced(view: GraphView, node: OnnxNode) -> tuple[OnnxNode, ...]:
    pick = _pick(view, node)
    if pick is None:
        return (node,)
    whole, kept = view.facts[pick.source], pick.source
    slices: tuple[OnnxNode, ...] = ()
    if whole.shape[pick.axis] > 1:
        kept = unused_name(f"{node.output}.kept", view.facts)
        shape = tuple(1 if axis == pick.axis else size for axis, size in enumerate(whole.shape))
        view.facts[kept] = Fact(kept, shape, whole.element)
        ranges = {"starts": (pick.at,), "ends": (pick.at + 1,), "axes": (pick.axis,)}
        slices = (replace(node, op="Slice", inputs=(pick.source,), outputs=(kept,), attributes=ranges),)
    name = f"{node.name}.view" if slices else node.name
    return *slices, replace(node, name=name, op="Identity", inputs=(kept,), attributes={})


def _pick(view: GraphView, node: OnnxNode) -> _Pick | None:
    """What a Gather takes; None for another node, and for one that takes several indices or computed ones."""
    if node.op != "Gather" or node.domain or view.facts[node.input(0)].constant:
        return None
    at, shape = view.number(node.input(1)), view.facts[node.input(0)].shape
    if at is None or not shape:
        return None
    axis = node.integer("axis", 0) % len(shape)
    return _Pick(node.input(0), axis, int(at) % shape[axis] if shape[axis] else 0)
