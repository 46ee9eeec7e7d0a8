"""Join the nodes of a layer norm or RMS norm in pieces into one LayerNormalization or RMSNormalization.

Exporters write them in many ways: PyTorch before operator set 17 with Sub, Pow, Sqrt and Div, TensorFlow with
SQUARED_DIFFERENCE and RSQRT, and with the mean multiplied by the scale before it is taken off. So the nodes
are evaluated on what they mean: sums of the operand and of its mean, each with a factor. Quantisation in
between changes nothing of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from heapq import heappop, heappush

from chipmodel.records import dataclass
from workloads.from_onnx.graph import ACTIVATION, OnnxNode
from workloads.from_onnx.graph_view import GraphView

MOST_NODES = 48
"""Nodes of one norm (assumed; those of TensorFlow are 11, each with two of quantisation 33)."""
QUANTISATION = frozenset(["QuantizeLinear", "DequantizeLinear"])


@dataclass(frozen=True, slots=True)
class _Factor:
    """What the operand or its mean is multiplied by: ``sign``, reciprocal of root ``over``, ``scale``."""

    sign: int = 1
    over: _Square | None = None
    scale: str = ""


@dataclass(frozen=True, slots=True)
class _Sum:
    """The operand and its mean, each times a factor (None: without), plus the constant ``bias``."""

    x: _Factor | None = None
    mean: _Factor | None = None
    bias: str = ""


@dataclass(frozen=True, slots=True)
class _Square:
    """The square of the operand, or its deviation if ``centred``: ``mean``, ``plus`` epsilon, ``root``."""

    centred: bool
    stage: str = "square"


_Value = _Sum | _Factor | _Square
_X, _MEAN = _Sum(x=_Factor()), _Sum(mean=_Factor())
_CENTRED = _Sum(_Factor(), _Factor(-1))


def join_norms(view: GraphView, nodes: Sequence[OnnxNode]) -> list[OnnxNode]:
    """``nodes`` with one node for each norm over the same axes throughout, with its scale and bias where it
    has them, whose intermediate tensors nothing else reads."""
    order = {node.name: number for number, node in enumerate(nodes)}
    changed: dict[str, OnnxNode | None] = {}
    for node in nodes:
        if node.name in changed or not _may_begin(view, node):
            continue
        match = _Match(view, order, node.input(0))
        joined = match.joined(node)
        if joined is not None and not any(each.name in changed for each in match.found):
            changed.update({each.name: None for each in match.found})
            changed[joined.name] = joined
    return [new for node in nodes if (new := changed.get(node.name, node)) is not None]


def _may_begin(view: GraphView, node: OnnxNode) -> bool:
    """Whether a node is a mean or a square of one tensor."""
    if node.op == "ReduceMean":
        return not node.domain
    return bool(node.reads) and _squares(view, node)


def _squares(view: GraphView, node: OnnxNode) -> bool:
    if node.op == "SQUARE":
        return True
    times = node.op == "Mul" and node.input(1) == node.input(0)
    return not node.domain and (times or (node.op == "Pow" and view.number(node.input(1)) == 2))


class _Match:
    """The nodes that compute a norm of ``x``, as far as they are known."""

    def __init__(self, view: GraphView, order: dict[str, int], x: str) -> None:
        self.view, self.order, self.x = view, order, x
        self.values: dict[str, _Value] = {x: _X}
        self.axes: tuple[int, ...] = ()
        self.epsilon = 0.0
        self.nodes: list[OnnxNode] = []
        self.found: list[OnnxNode] = []
        """The nodes of the longest norm found."""

    def joined(self, first: OnnxNode) -> OnnxNode | None:
        """The node for the norm that begins with ``first``; None where there is none."""
        waiting, seen = [(self.order[first.name], first)], {first.name}
        joined = None
        while waiting and len(self.nodes) < MOST_NODES:
            _, node = heappop(waiting)
            value = self._value(node)
            if value is None:
                continue
            self.values[node.output] = value
            self.nodes.append(node)
            made = self._norm(node, value)
            if made is not None and self._closed(node):
                self.found, joined = list(self.nodes), made
            for reader in self.view.readers.get(node.output, ()):
                if reader.name not in seen:
                    seen.add(reader.name)
                    heappush(waiting, (self.order[reader.name], reader))
        return joined

    def _norm(self, node: OnnxNode, value: _Value) -> OnnxNode | None:
        """The norm in place of ``node`` and those before it, if ``value`` is one."""
        if node.op in QUANTISATION:
            return None
        if not isinstance(value, _Sum) or value.x is None or value.x.over is None or value.x.sign < 0:
            return None
        centred = value.x.over.centred
        if value.mean != (replace(value.x, sign=-1) if centred else None) or (value.bias and not centred):
            return None
        held = [name for name in (value.x.scale, value.bias) if name]
        rank = len(self.view.facts[self.x].shape)
        attributes: dict[str, object] = {"axis": self.axes[0] - rank, "epsilon": self.epsilon}
        if self.axes != tuple(range(self.axes[0], rank)):
            attributes["axes"] = self.axes
        op = "LayerNormalization" if centred else "RMSNormalization"
        return replace(node, op=op, domain="", inputs=(self.x, *held), attributes=attributes)

    def _closed(self, last: OnnxNode) -> bool:
        """Whether only the nodes found read what they make, but for the ``last`` one."""
        own = {node.name for node in self.nodes}
        for node in self.nodes:
            if node is last:
                continue
            readers = self.view.readers.get(node.output, ())
            if node.output in self.view.kept or any(reader.name not in own for reader in readers):
                return False
        return True

    # -- what a node means -----------------------------------------------------------------------

    def _value(self, node: OnnxNode) -> _Value | None:
        if node.attributes.get(ACTIVATION) or len(node.outputs) != 1 or node.control is not None:
            return None
        known = [self.values.get(name) for name in node.inputs]
        match node.op:
            case "SQUARED_DIFFERENCE":
                return _Square(True) if {_X, _MEAN} == set(known) else None
            case "RSQRT" if known == [known[0]]:
                return _reciprocal(_root(known[0]))
            case "SQUARE":
                return self._square(known[0])
            case _ if node.domain:
                return None
            case "ReduceMean":
                return self._mean(node, known[0])
            case "Pow":
                return self._power(known[0], self.view.number(node.input(1)))
            case "Add" | "Sub" | "Mul" | "Div" if len(known) == 2:
                return self._of_two(node, known[0], known[1])
            case _:
                return _of_one(node.op, known[0])

    def _mean(self, node: OnnxNode, value: _Value | None) -> _Value | None:
        """The mean over axes that it keeps, all of them the same ones."""
        axes = node.integers("axes") or self.view.integers(node.input(1))
        shape = self.view.facts[self.x].shape
        rank = len(shape)
        if not axes or not rank or any(not -rank <= axis < rank for axis in axes):
            return None
        over = tuple(sorted({axis % rank for axis in axes}))
        kept = tuple(1 if axis in over else size for axis, size in enumerate(shape))
        if self.view.facts[node.output].shape != kept or self.axes not in ((), over):
            return None
        if value == _X:
            self.axes = over
            return _MEAN
        if isinstance(value, _Square) and value.stage == "square":
            self.axes = over
            return replace(value, stage="mean")
        return None

    def _square(self, value: _Value | None) -> _Value | None:
        if value in (_X, _CENTRED):
            return _Square(value == _CENTRED)
        return None

    def _power(self, value: _Value | None, exponent: float | None) -> _Value | None:
        if exponent == 2:
            return self._square(value)
        if exponent == 0.5:
            return _root(value)
        return _reciprocal(_root(value)) if exponent == -0.5 else None

    def _of_two(self, node: OnnxNode, a: _Value | None, b: _Value | None) -> _Value | None:
        if a is None or b is None:
            return self._with_constant(node, a, b)
        match node.op, a, b:
            case "Mul", _Sum(), _Sum() if a == b:
                return self._square(a)
            case "Mul", _Sum(), _Factor():
                return _times(a, b)
            case "Mul", _Factor(), _Sum():
                return _times(b, a)
            case "Div", _Sum(), _Square(stage="root"):
                return _times(a, _Factor(over=b))
            case "Add", _Sum(), _Sum():
                return _added(a, b)
            case "Sub", _Sum(), _Sum():
                return _added(a, _negated(b))
            case _:
                return None

    def _with_constant(self, node: OnnxNode, a: _Value | None, b: _Value | None) -> _Value | None:
        """The value of a node with one operand that has none: it means something only if it is a constant."""
        value, name = (a, node.input(1)) if a is not None else (b, node.input(0))
        number = self.view.number(name)
        if isinstance(value, _Square):
            if value.stage == "mean" and node.op == "Add" and number is not None:
                self.epsilon = number
                return replace(value, stage="plus")
            return _reciprocal(value) if node.op == "Div" and b is value and number == 1 else None
        if not self._is_parameter(name):
            return None
        if node.op == "Mul" and isinstance(value, _Factor) and not value.scale:
            return replace(value, scale=name)
        if node.op == "Mul" and isinstance(value, _Sum):
            return None if value.bias else _times(value, _Factor(scale=name))
        scaled = isinstance(value, _Sum) and not value.bias and (value.x or value.mean or _Factor()).scale
        if not isinstance(value, _Sum) or not scaled:
            return None
        if node.op == "Sub" and a is None:
            return replace(_negated(value) or value, bias=name)
        return replace(value, bias=name) if node.op == "Add" else None

    def _is_parameter(self, name: str) -> bool:
        """Whether a constant has one element for each place along the axes of the norm."""
        fact, shape = self.view.facts.get(name), self.view.facts[self.x].shape
        if fact is None or not fact.constant or len(fact.shape) > len(shape):
            return False
        own = (*(1,) * (len(shape) - len(fact.shape)), *fact.shape)
        return own == tuple(size if axis in self.axes else 1 for axis, size in enumerate(shape))


def _of_one(op: str, value: _Value | None) -> _Value | None:
    match op:
        case "Sqrt":
            return _root(value)
        case "Reciprocal":
            return _reciprocal(value)
        case "Neg":
            return _negated(value)
        case "QuantizeLinear" | "DequantizeLinear":
            return value
        case _:
            return None


def _root(value: _Value | None) -> _Square | None:
    known = isinstance(value, _Square) and value.stage == "plus"
    return replace(value, stage="root") if known and isinstance(value, _Square) else None


def _reciprocal(value: _Value | None) -> _Factor | None:
    return _Factor(over=value) if isinstance(value, _Square) and value.stage == "root" else None


def _negated(value: _Value | None) -> _Sum | None:
    return _times(value, _Factor(-1)) if isinstance(value, _Sum) and not value.bias else None


def _times(terms: _Sum, factor: _Factor) -> _Sum | None:
    """Every term times ``factor``; None where one would have two roots or two scales."""
    if terms.bias:
        return None
    x, mean = (None if each is None else _product(each, factor) for each in (terms.x, terms.mean))
    if (x is None and terms.x is not None) or (mean is None and terms.mean is not None):
        return None
    return _Sum(x, mean)


def _product(a: _Factor, b: _Factor) -> _Factor | None:
    if (a.over and b.over) or (a.scale and b.scale):
        return None
    return _Factor(a.sign * b.sign, a.over or b.over, a.scale or b.scale)


def _added(a: _Sum, b: _Sum | None) -> _Sum | None:
    """Both sums together; None where both have the operand, the mean or a bias."""
    if b is None or (a.x and b.x) or (a.mean and b.mean) or (a.bias and b.bias):
        return None
    return _Sum(a.x or b.x, a.mean or b.mean, a.bias or b.bias)
