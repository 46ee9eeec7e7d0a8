"""The iterations of a Loop whose condition compares a counter with a constant.

A number that an iteration sees is ``slope * i + start`` in iteration ``i``: the loop's own counter, a carried
integer to which each iteration adds a constant, and sums of those. A comparison of two of them then says
after which iteration the loop ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workloads.from_onnx.graph import CarriedTensor, Fact, OnnxNode

DEEPEST = 32
"""Nodes between a condition and what it depends on (assumed; limits time)."""
SAME_VALUE = frozenset(["Identity", "Cast", "Reshape", "Squeeze", "Unsqueeze"])
INTEGERS = frozenset({2, 3, 4, 5, 6, 7, 12, 13})
"""Element types (``onnx.TensorProto.DataType``) of which sums are exact."""


@dataclass(frozen=True, slots=True)
class CountedIterations:
    """At most so many iterations; ``exact`` where nothing else can end the loop."""

    most: int
    exact: bool


@dataclass(frozen=True, slots=True)
class _Line:
    """``slope * i + start`` in iteration ``i``."""

    slope: int
    start: int


@dataclass(frozen=True, slots=True)
class LoopBody:
    """The nodes of a loop's body, with its counter, its carried tensors, and what is known of tensors."""

    nodes: Sequence[OnnxNode]
    counter: str
    carried: Sequence[CarriedTensor]
    facts: Mapping[str, Fact]

    def maker(self, name: str) -> OnnxNode | None:
        """The node that makes a tensor."""
        return next((node for node in self.nodes if name in node.writes), None)

    def constant(self, name: str) -> int | None:
        """The value of a constant integer of one element."""
        fact = self.facts.get(name)
        if fact is None or not fact.constant or fact.array is None or fact.array.size != 1:
            return None
        return int(fact.array.item()) if fact.element in INTEGERS else None


def counted_iterations(body: LoopBody, condition: str) -> CountedIterations | None:
    """How often the loop runs that goes on while ``condition`` holds; None where no counter ends it."""
    return _until(body, condition, DEEPEST)


def _until(body: LoopBody, condition: str, depth: int) -> CountedIterations | None:
    node = body.maker(condition)
    if node is None or node.domain or depth == 0:
        return None
    if node.op in SAME_VALUE:
        return _until(body, node.input(0), depth - 1)
    if node.op == "And":
        return _earlier(body, [name for name in node.inputs if not _always(body, name)], depth)
    left, right = (_line(body, node.input(place), depth) for place in (0, 1))
    if left is None or right is None:
        return None
    if node.op in ("Greater", "GreaterOrEqual"):
        left, right = right, left
    if node.op not in ("Less", "LessOrEqual", "Greater", "GreaterOrEqual"):
        return None
    slope = left.slope - right.slope
    over = left.start - right.start - node.op.endswith("OrEqual")
    if over >= 0:
        return CountedIterations(1, True)
    return CountedIterations(-(over // slope) + 1, True) if slope > 0 else None


def _earlier(body: LoopBody, names: Sequence[str], depth: int) -> CountedIterations | None:
    """The end of a loop that goes on while all of ``names`` hold."""
    found = [_until(body, name, depth - 1) for name in names]
    known = [each for each in found if each is not None]
    if not known:
        return None
    exact = len(known) == len(found) and all(each.exact for each in known)
    return CountedIterations(min(each.most for each in known), exact)


def _always(body: LoopBody, name: str) -> bool:
    fact = body.facts.get(name)
    return fact is not None and fact.constant and fact.array is not None and bool(fact.array.all())


def _line(body: LoopBody, name: str, depth: int) -> _Line | None:
    """A tensor as a line over the iterations; None where it is none."""
    value = body.constant(name)
    if value is not None:
        return _Line(0, value)
    if name == body.counter:
        return _Line(1, 0)
    for each in body.carried:
        if each.inside == name:
            first, step = body.constant(each.first), _added(body, each.result, name, depth)
            return _Line(step, first) if first is not None and step is not None else None
    node = body.maker(name)
    if node is None or node.domain or depth == 0 or body.facts[name].element not in INTEGERS:
        return None
    if node.op in SAME_VALUE:
        return _line(body, node.input(0), depth - 1)
    if node.op not in ("Add", "Sub"):
        return None
    left, right = (_line(body, node.input(place), depth - 1) for place in (0, 1))
    if left is None or right is None:
        return None
    sign = 1 if node.op == "Add" else -1
    return _Line(left.slope + sign * right.slope, left.start + sign * right.start)


def _added(body: LoopBody, name: str, inside: str, depth: int) -> int | None:
    """The constant that an iteration adds to ``inside`` to make ``name``; None for other nodes."""
    if name == inside:
        return 0
    node = body.maker(name)
    if node is None or node.domain or depth == 0 or body.facts[name].element not in INTEGERS:
        return None
    if node.op in SAME_VALUE:
        return _added(body, node.input(0), inside, depth - 1)
    if node.op not in ("Add", "Sub"):
        return None
    for moving, place in ((0, 1), (1, 0)) if node.op == "Add" else ((0, 1),):
        before = _added(body, node.input(moving), inside, depth - 1)
        value = body.constant(node.input(place))
        if before is not None and value is not None:
            return before + value if node.op == "Add" else before - value
    return None
