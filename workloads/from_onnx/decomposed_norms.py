"""Join the nodes of a layer norm or RMS norm in pieces into one LayerNormalization or RMSNormalization.

Exporters write them in many ways: PyTorch before operator set 17 with Sub, Pow, Sqrt and Div, TensorFlow with
SQUARED_DIFFERENCE and RSQRT, and with the mean multiplied by the scale before it is taken off. So the nodes
are computed, on a few random rows with random parameters, and compared with the norms of these rows.
Quantisation in between changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from workloads.from_onnx.graph import ACTIVATION, OnnxNode
from workloads.from_onnx.graph_view import GraphView

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MOST_NODES = 48
"""Nodes of one norm (assumed; those of TensorFlow are 11, each with two of quantisation 33)."""
MOST_AROUND = 8 * MOST_NODES
"""Nodes from the first on among which the others are (assumed; limits time)."""
ROWS, COLUMNS = 3, 5
"""The size of the probe: a scale and a bias follow from two rows, and the third one tells if they are."""
QUANTISATION = frozenset(["QuantizeLinear", "DequantizeLinear"])
OF_TFLITE = frozenset(["SQUARED_DIFFERENCE", "RSQRT", "SQUARE"])
UNARY: Mapping[str, Callable[[Any], Any]] = {
    "Sqrt": np.sqrt,
    "Reciprocal": np.reciprocal,
    "Neg": np.negative,
    "RSQRT": lambda a: 1 / np.sqrt(a),
    "SQUARE": np.square,
}
BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.divide,
    "Pow": np.power,
    "SQUARED_DIFFERENCE": lambda a, b: (a - b) ** 2,
}


def join_norms(view: GraphView, nodes: Sequence[OnnxNode]) -> list[OnnxNode]:
    """``nodes`` with one node for each norm over the same axes throughout, with its scale and bias where it
    has them, whose intermediate tensors nothing else reads."""
    changed: dict[str, OnnxNode | None] = {}
    for place, node in enumerate(nodes):
        if node.name in changed or not _may_begin(view, node):
            continue
        joined = _Probe(view, node.input(0)).joined(nodes[place : place + MOST_AROUND])
        if not changed.keys() & joined.keys():
            changed |= joined
    return [new for node in nodes if (new := changed.get(node.name, node)) is not None]


def _may_begin(view: GraphView, node: OnnxNode) -> bool:
    """Whether a node is a mean or a square of one tensor."""
    if node.domain or not node.reads:
        return node.op == "SQUARE"
    times = node.op == "Mul" and node.input(1) == node.input(0)
    return node.op == "ReduceMean" or times or (node.op == "Pow" and view.number(node.input(1)) == 2)


class _Probe:
    """What nodes make of random rows in place of ``x``, whose columns are the places along ``axes``."""

    def __init__(self, view: GraphView, x: str) -> None:
        self.view, self.x = view, x
        self.shape = view.facts[x].shape
        self.random = np.random.default_rng(0)
        self.values: dict[str, Array] = {x: self.random.standard_normal((ROWS, COLUMNS))}
        self.makers: dict[str, OnnxNode] = {}
        self.numbers: set[float] = set()
        self.parameters: dict[str, Array] = {}
        """Constants with an element for each place along the axes."""
        self.axes: tuple[int, ...] = ()

    def joined(self, nodes: Sequence[OnnxNode]) -> dict[str, OnnxNode | None]:
        """The longest norm that begins with the first node, in place of its last one, and None for the others
        that it stands for, by name; empty where there is no norm."""
        longest: dict[str, OnnxNode | None] = {}
        for node in nodes:
            if len(self.makers) == MOST_NODES or not self.values.keys() & {*node.reads}:
                continue
            with np.errstate(all="ignore"):
                value = self._value(node)
                if value is None:
                    continue
                self.values[node.output], self.makers[node.output] = value, node
                norm = None if node.op in QUANTISATION else self._norm(node, value)
            if norm is not None and (pieces := self._pieces(node)):
                longest = {**dict.fromkeys(pieces), norm.name: norm}
        return longest

    def _value(self, node: OnnxNode) -> Array | None:
        if node.attributes.get(ACTIVATION) or len(node.outputs) != 1 or node.control is not None:
            return None
        if node.op in QUANTISATION:
            return self.values.get(node.input(0))
        if node.op == "ReduceMean" and not node.domain:
            return self._mean(node)
        operands = [self._operand(name) for name in node.inputs]
        if (node.domain and node.op not in OF_TFLITE) or any(each is None for each in operands):
            return None
        if node.op in UNARY:
            return np.asarray(UNARY[node.op](operands[0]), np.float64)
        return np.asarray(BINARY[node.op](*operands), np.float64) if node.op in BINARY else None

    def _operand(self, name: str) -> Array | float | None:
        if name in self.values:
            return self.values[name]
        number = self.view.number(name)
        if number is not None:
            self.numbers.add(number)
            return number
        fact = self.view.facts.get(name)
        if fact is None or not fact.constant or len(fact.shape) > len(self.shape):
            return None
        own = (*(1,) * (len(self.shape) - len(fact.shape)), *fact.shape)
        if own != tuple(size if axis in self.axes else 1 for axis, size in enumerate(self.shape)):
            return None
        return self.parameters.setdefault(name, self.random.standard_normal(COLUMNS))

    def _mean(self, node: OnnxNode) -> Array | None:
        """The mean over axes that it keeps, all of them the same ones."""
        axes = node.integers("axes") or self.view.integers(node.input(1))
        rank, value = len(self.shape), self.values.get(node.input(0))
        if value is None or not axes or not rank or any(not -rank <= axis < rank for axis in axes):
            return None
        over = tuple(sorted({axis % rank for axis in axes}))
        kept = tuple(1 if axis in over else size for axis, size in enumerate(self.shape))
        if self.view.facts[node.output].shape != kept or self.axes not in ((), over):
            return None
        self.axes = over
        return _mean_of(value)

    def _norm(self, node: OnnxNode, value: Array) -> OnnxNode | None:
        """The norm in place of ``node`` and those before it, if it has made one."""
        x, rank = self.values[self.x], len(self.shape)
        if not self.axes or value.shape != x.shape:
            return None
        for op, own in (("LayerNormalization", x - _mean_of(x)), ("RMSNormalization", x)):
            for epsilon in self.numbers:
                held = self._held(own / np.sqrt(_mean_of(own**2) + epsilon), value)
                if held is None or (len(held) > 1 and op == "RMSNormalization"):
                    continue
                attributes: dict[str, object] = {"axis": self.axes[0] - rank, "epsilon": epsilon}
                if self.axes != tuple(range(self.axes[0], rank)):
                    attributes["axes"] = self.axes
                return replace(node, op=op, domain="", inputs=(self.x, *held), attributes=attributes)
        return None

    def _held(self, plain: Array, value: Array) -> tuple[str, ...] | None:
        """The parameters by which a norm without any becomes ``value``: none, a scale, a scale and a bias."""
        scale = (value[0] - value[1]) / (plain[0] - plain[1])
        bias = value[0] - scale * plain[0]
        if not np.allclose(scale * plain + bias, value, rtol=1e-9, atol=1e-12):
            return None
        scales, biases = ([n for n, p in self.parameters.items() if np.allclose(p, c)] for c in (scale, bias))
        if np.allclose(bias, 0):
            return () if np.allclose(scale, 1) else (scales[0],) if scales else None
        return (scales[0], biases[0]) if scales and biases else None

    def _pieces(self, last: OnnxNode) -> dict[str, OnnxNode]:
        """The nodes that ``last`` depends on, with itself; none where others read what they make."""
        pieces, waiting = dict[str, OnnxNode](), [last]
        while waiting:
            node = waiting.pop()
            pieces[node.name] = node
            waiting += [self.makers[name] for name in node.inputs if name in self.makers]
        inner = [node.output for node in pieces.values() if node is not last]
        read = {reader.name for name in inner for reader in self.view.readers.get(name, ())}
        return pieces if read <= pieces.keys() and not self.view.kept & set(inner) else {}


def _mean_of(rows: Array) -> Array:
    return np.asarray(rows.mean(axis=1, keepdims=True), np.float64)
