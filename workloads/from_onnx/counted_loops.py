"""The iterations of a loop whose condition compares a counter with a constant.

A number that an iteration sees is ``slope * i + start`` in iteration ``i``: the loop's own counter, a carried
number to which each iteration adds a constant, and sums of those. A comparison of two of them then says
after which iteration the loop ends. Converters of Keras count in floats; those are followed while they hold
whole numbers exactly. A loop that asks before its first iteration, too, asks after iteration
-1: there, a number that the condition reads has to be what the loop is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil, floor, isfinite

from chipmodel.records import dataclass
from workloads.from_onnx.graph import ACTIVATION, CarriedTensor, Fact, OnnxNode

DEEPEST = 12
"""Nodes between a condition and what it depends on (assumed; limits time, as each may have two operands)."""
SAME_VALUE = frozenset(["Identity", "Cast", "Reshape", "Squeeze", "Unsqueeze"])
INTEGERS = frozenset({6, 7, 12, 13})
"""Element types (``onnx.TensorProto.DataType``) of counters: narrower ones wrap around or are quantised."""
EXACT_FLOATS = {1: 1 << 24, 10: 1 << 11, 11: 1 << 53}
"""The whole numbers up to which a float, a half, a double holds each one (IEEE 754)."""
ANY_SIZE = 1 << 64


@dataclass(frozen=True, slots=True)
class CountedIterations:
    """At most so many iterations; ``exact`` where nothing else can end the loop."""

    most: int
    exact: bool


@dataclass(frozen=True, slots=True)
class _Line:
    """``slope * i + start`` in iteration ``i``, as long as no value is beyond ``largest``."""

    slope: int
    start: Fraction
    largest: int = ANY_SIZE

    def holds(self, iterations: int) -> bool:
        """Whether all values up to the one after so many iterations are exact."""
        values = (self.start, self.slope * iterations + self.start)
        return self.slope == 0 or all(abs(value) <= self.largest for value in values)


@dataclass(frozen=True, slots=True)
class LoopBody:
    """The nodes of a loop's body by what they make, its carried tensors, and what is known of tensors."""

    makers: Mapping[str, OnnxNode]
    carried: Sequence[CarriedTensor]
    facts: Mapping[str, Fact]
    counter: str = ""
    """The tensor with the number of the iteration; "" where there is none."""
    first: int = 0
    """The iteration after which the condition is asked first: 0, or -1 where it is asked before the loop."""

    def maker(self, name: str) -> OnnxNode | None:
        """The node that makes a tensor, of an operator that is known here: a function that it applies to its
        result, too, may hold a counter back."""
        node = self.makers.get(name)
        return None if node is None or node.domain or node.attributes.get(ACTIVATION) else node

    def sum(self, name: str) -> OnnxNode | None:
        """The node that makes a tensor of numbers that can be counted in."""
        return self.maker(name) if self.largest(name) else None

    def largest(self, name: str) -> int:
        """The whole numbers that the tensor's type holds exactly; 0 for other types."""
        element = self.facts[name].element
        return ANY_SIZE if element in INTEGERS else EXACT_FLOATS.get(element, 0)

    def number(self, name: str) -> Fraction | None:
        """The value of a constant of one element."""
        fact = self.facts.get(name)
        if fact is None or not fact.constant or fact.array is None or fact.array.size != 1:
            return None
        value: float = fact.array.item()
        return Fraction(value) if self.largest(name) and isfinite(value) else None

    def constant(self, name: str) -> int | None:
        """The value of a constant of one element that is a whole number."""
        value = self.number(name)
        return None if value is None or value.denominator > 1 else int(value)


def makers_of(nodes: Sequence[OnnxNode]) -> dict[str, OnnxNode]:
    """The node that makes each tensor."""
    return {name: node for node in nodes for name in node.writes}


def counted_iterations(body: LoopBody, condition: str) -> CountedIterations | None:
    """How often the loop runs that goes on while ``condition`` holds; None where no counter ends it."""
    return _until(body, condition, DEEPEST)


def _until(body: LoopBody, condition: str, depth: int) -> CountedIterations | None:
    node = body.maker(condition)
    if node is None or depth == 0:
        return None
    if node.op in SAME_VALUE:
        return _until(body, node.input(0), depth - 1)
    if node.op == "And":
        return _earlier(body, [name for name in node.inputs[:2] if not _always(body, name)], depth)
    if node.op not in ("Less", "LessOrEqual", "Greater", "GreaterOrEqual"):
        return None
    left, right = (_line(body, node.input(place), depth) for place in (0, 1))
    if left is None or right is None:
        return None
    if node.op.startswith("Greater"):
        left, right = right, left
    return _crossing(left, right, body.first, node.op.endswith("OrEqual"))


def _crossing(left: _Line, right: _Line, first: int, or_equal: bool) -> CountedIterations | None:
    """The iterations until ``left < right`` (``or_equal``: ``<=``) no longer holds, from ``first`` on."""
    slope = left.slope - right.slope
    under = right.start - left.start
    if slope * first > under or (slope * first == under and not or_equal):
        return CountedIterations(first + 1, True)
    if slope <= 0:
        return None
    last = floor(under / slope) + 1 if or_equal else ceil(under / slope)
    exact = left.holds(last + 1) and right.holds(last + 1)
    return CountedIterations(last + 1, True) if exact else None


def _earlier(body: LoopBody, names: Sequence[str], depth: int) -> CountedIterations | None:
    """The end of a loop that goes on while all of ``names`` hold."""
    counts = [_until(body, name, depth - 1) for name in names]
    known = [each for each in counts if each is not None]
    if not known:
        return None
    exact = len(known) == len(counts) and all(each.exact for each in known)
    return CountedIterations(min(each.most for each in known), exact)


def _always(body: LoopBody, name: str) -> bool:
    """Whether a tensor that the condition reads is a constant that holds, also before the loop."""
    given = (each.first for each in body.carried if body.first < 0 and each.result == name)
    known = [body.facts.get(each) for each in (name, *given)]
    return all(fact and fact.constant and fact.array is not None and fact.array.all() for fact in known)


def _line(body: LoopBody, name: str, depth: int) -> _Line | None:
    """A tensor as a line over the iterations from ``body.first`` on; None where it is none."""
    line = _line_inside(body, name, depth) if name else None
    if line is None or body.first == 0:
        return line
    given = [body.constant(each.first) for each in body.carried if each.result == name]
    return line if all(value == line.slope * body.first + line.start for value in given) else None


def _line_inside(body: LoopBody, name: str, depth: int) -> _Line | None:
    """The same from the first iteration on."""
    value = body.number(name)
    if value is not None:
        return _Line(0, value)
    if name == body.counter:
        return _Line(1, Fraction(0))
    for each in body.carried:
        if each.inside == name:
            first, step = body.constant(each.first), _added(body, each.result, name, depth)
            if first is None or step is None:
                return None
            return _Line(step, Fraction(first), body.largest(name))
    node = body.sum(name)
    if node is None or depth == 0:
        return None
    places = (0,) if node.op in SAME_VALUE else (0, 1) if node.op in ("Add", "Sub") else ()
    lines = [_line(body, node.input(place), depth - 1) for place in places]
    known = [line for line in lines if line is not None and line.start.denominator == 1]
    if not places or len(known) < len(places):
        return None
    sign = -1 if node.op == "Sub" else 1
    slope = known[0].slope + sum(sign * line.slope for line in known[1:])
    start = known[0].start + sum(sign * line.start for line in known[1:])
    return _Line(slope, start, min(body.largest(name), *(line.largest for line in known)))


def _added(body: LoopBody, name: str, inside: str, depth: int) -> int | None:
    """The constant that an iteration adds to ``inside`` to make ``name``; None for other nodes."""
    if name == inside:
        return 0
    node = body.sum(name)
    if node is None or depth == 0:
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
