"""Rewrites of a graph before its nodes become ops: what a deployment compiler merges whatever the chip."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from workloads.from_onnx.decomposed_norms import join_norms
from workloads.from_onnx.graph import ControlFlow, Fact, OnnxNode
from workloads.from_onnx.graph_view import GraphView, view_of
from workloads.from_onnx.layouts import join_factors, join_layouts
from workloads.from_onnx.padding import fold_padding
from workloads.from_onnx.picks import slice_picks
from workloads.from_onnx.quantisation import join_scales, store_quantised
from workloads.from_onnx.views import join_views

Rewrite = Callable[[GraphView, Sequence[OnnxNode]], list[OnnxNode]]
REWRITES: tuple[Rewrite, ...] = (
    join_views,
    slice_picks,
    join_layouts,
    join_views,
    fold_padding,
    join_norms,
    join_scales,
    store_quantised,
    join_factors,
)
"""Applied in this order; each is given the nodes in execution order and returns them so. Views are joined
again where the transposes between them are left out."""


def rewritten(nodes: Sequence[OnnxNode], facts: dict[str, Fact], kept: Iterable[str]) -> list[OnnxNode]:
    """``nodes`` and those of their sub-graphs after all rewrites; ``kept`` are the graph's results."""
    kept = tuple(kept)
    result = [_inside(node, facts) for node in nodes]
    for rewrite in REWRITES:
        result = rewrite(view_of(result, facts, kept), result)
    return result


def _inside(node: OnnxNode, facts: dict[str, Fact]) -> OnnxNode:
    if node.control is None:
        return node
    control = node.control
    bodies = tuple(
        replace(body, nodes=tuple(rewritten(body.nodes, facts, _results(control, index))))
        for index, body in enumerate(control.bodies)
    )
    return replace(node, control=replace(control, bodies=bodies))


def _results(control: ControlFlow, index: int) -> tuple[str, ...]:
    """What a body hands out: all that the loop makes, or the results of an arm."""
    given = control.bodies[index].results
    return tuple(filter(None, (*given, *(control.loop_results if len(control.bodies) == 1 else ()))))
