"""Join the nodes that PyTorch writes for a layer norm before operator set 17 into one LayerNormalization."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from workloads.from_onnx.graph import OnnxNode
from workloads.from_onnx.graph_view import GraphView


@dataclass(frozen=True, slots=True)
class _Match:
    """The nodes of a layer norm, the last one first in use, and the node that replaces them."""

    nodes: Sequence[OnnxNode]
    joined: OnnxNode


def join_layer_norms(view: GraphView, nodes: Sequence[OnnxNode]) -> list[OnnxNode]:
    """``nodes`` with a LayerNormalization for each ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, and the
    Mul and Add of its scale and bias where it has them, whose intermediate tensors nothing else reads."""
    changed: dict[str, OnnxNode | None] = {}
    for node in nodes:
        match = _match(view, node)
        if match is not None:
            changed.update({each.name: None for each in match.nodes})
            changed[match.joined.name] = match.joined
    return [new for node in nodes if (new := changed.get(node.name, node)) is not None]


def _match(view: GraphView, mean: OnnxNode) -> _Match | None:
    """The layer norm that begins with the node ``mean``."""
    axis = _first_axis(view, mean)
    if axis is None:
        return None
    x = mean.input(0)
    differences = _readers(view, mean.output)
    if not differences or any(n.op != "Sub" or n.inputs != (x, mean.output) for n in differences):
        return None
    readers = {n.name: n for d in differences for n in _readers(view, d.output)}
    outputs = {d.output for d in differences}
    square = next((n for n in readers.values() if _is_square(view, n, outputs)), None)
    if len(readers) != 2 or square is None or view.only_reader(square.output) is None:
        return None
    variance = view.only_reader(square.output)
    if variance is None or _first_axis(view, variance) != axis or variance.input(0) != square.output:
        return None
    summed = view.only_reader(variance.output)
    epsilon = None if summed is None or summed.op != "Add" else _other_number(view, summed, variance.output)
    root = view.only_reader(summed.output) if summed is not None and epsilon is not None else None
    quotient = view.only_reader(root.output) if root is not None and root.op == "Sqrt" else None
    if summed is None or root is None or quotient is None or quotient.op != "Div":
        return None
    if quotient.name not in readers or quotient.input(0) not in outputs or quotient.input(1) != root.output:
        return None
    own = [mean, *differences, square, variance, summed, root, quotient]
    return _with_scale(view, own, axis, epsilon or 0.0)


def _with_scale(view: GraphView, own: list[OnnxNode], axis: int, epsilon: float) -> _Match:
    """The match with the Mul and the Add of constants after it, if there are any; an Add alone stays."""
    held: list[str] = []
    x = own[0].input(0)
    sizes = view.facts[x].shape[axis:]
    for op in ("Mul", "Add"):
        node = view.only_reader(own[-1].output)
        if node is None or node.op != op or node.domain:
            break
        name = _parameter(view, node, own[-1].output, sizes)
        if not name:
            break
        held.append(name)
        own.append(node)
    last = own[-1]
    attributes = {"axis": axis, "epsilon": epsilon}
    joined = replace(last, op="LayerNormalization", inputs=(x, *held), attributes=attributes)
    return _Match(own, joined)


def _readers(view: GraphView, name: str) -> Sequence[OnnxNode]:
    """The nodes that read a tensor; none where it is a result as well."""
    return () if name in view.kept else view.readers.get(name, ())


def _first_axis(view: GraphView, node: OnnxNode) -> int | None:
    """The first axis of a mean over the last axes that keeps them, counted from the end; None for others."""
    if node.op != "ReduceMean" or node.domain or not node.integer("keepdims", 1):
        return None
    axes = node.integers("axes") or (view.integers(node.input(1)) if node.input(1) else None)
    rank = len(view.facts[node.input(0)].shape)
    if not axes or not rank or len(view.facts[node.output].shape) != rank:
        return None
    found = sorted({axis % rank for axis in axes})
    return found[0] - rank if found == list(range(rank - len(found), rank)) else None


def _is_square(view: GraphView, node: OnnxNode, outputs: set[str]) -> bool:
    if node.domain or node.input(0) not in outputs:
        return False
    times = node.op == "Mul" and node.input(1) == node.input(0)
    return times or (node.op == "Pow" and view.number(node.input(1)) == 2)


def _other_number(view: GraphView, node: OnnxNode, name: str) -> float | None:
    """The constant of one element besides the operand ``name``."""
    others = [each for each in node.inputs if each != name]
    return view.number(others[0]) if len(others) == 1 else None


def _parameter(view: GraphView, node: OnnxNode, name: str, sizes: tuple[int, ...]) -> str:
    """The constant with one element for each of the last axes, besides the operand ``name``; "" if none."""
    others = [each for each in node.inputs if each != name]
    fact = view.facts.get(others[0]) if len(others) == 1 else None
    if fact is None or not fact.constant:
        return ""
    shape = fact.shape[len(fact.shape) - len(sizes) :]
    fits = shape == sizes and fact.elements == prod(sizes)
    return fact.name if fits else ""
