"""The iterations of a loop whose condition follows from numbers that are known.

Those numbers are computed iteration after iteration, in their own types: the loop's own counter, what it
carries from known first values, and what depends on these and on constants alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from chipmodel.records import dataclass
from workloads.from_onnx.graph import ACTIVATION, CarriedTensor, Fact, OnnxNode, live_nodes
from workloads.from_onnx.onnx_package import module

MOST_RESULTS = 1 << 16
"""Numbers that are computed of one loop (assumed; limits time): a counter and its comparison are two in an
iteration."""
COUNTERS = frozenset({1, 6, 7, 9, 10, 11, 12, 13})
"""Element types (``onnx.TensorProto.DataType``) that are followed: narrower integers may be quantised."""
SAME_VALUE = ("Identity", "Cast", "Reshape", "Squeeze", "Unsqueeze")
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **dict.fromkeys(SAME_VALUE, np.asarray),
    "Add": np.add,
    "Sub": np.subtract,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "And": np.logical_and,
}


@dataclass(frozen=True, slots=True)
class CountedIterations:
    """At most so many iterations; ``exact`` where nothing else can end the loop."""

    most: int
    exact: bool


@dataclass(frozen=True, slots=True)
class LoopBody:
    """The nodes of a loop's body, its carried tensors, and what is known of tensors."""

    nodes: Sequence[OnnxNode]
    carried: Sequence[CarriedTensor]
    facts: Mapping[str, Fact]
    counter: str = ""
    """The tensor with the number of the iteration; "" where there is none."""
    asks_first: bool = False
    """Whether the condition is asked before the first iteration, too, of what the loop is given."""

    def follows(self, node: OnnxNode) -> bool:
        """Whether a node makes a number of others. A function that it applies to its result, too, may hold a
        counter back."""
        plain = not node.domain and not node.attributes.get(ACTIVATION) and node.op in FUNCTIONS
        return plain and self._holds_number(node.output)

    def _holds_number(self, name: str) -> bool:
        return self.facts[name].elements == 1 and self.facts[name].element in COUNTERS

    def constants(self, names: Sequence[str]) -> dict[str, Any]:
        """The values of those among ``names`` that are constants of one element."""
        known = {name: self.facts[name].array for name in names if name in self.facts}
        return {
            name: array.reshape(-1)[0]
            for name, array in known.items()
            if array is not None and self._holds_number(name)
        }


def counted_iterations(body: LoopBody, condition: str) -> CountedIterations | None:
    """How often the loop runs that goes on while ``condition`` holds; None where no counter ends it."""
    wanted = (condition, *(each.result for each in body.carried))
    nodes = live_nodes([node for node in body.nodes if body.follows(node)], wanted)
    constants = body.constants([condition, *(name for node in nodes for name in node.reads)])
    if condition in constants:
        return None
    firsts = body.constants([each.first for each in body.carried])
    given = [each for each in body.carried if each.first in firsts]
    carried = {each.result if body.asks_first else each.inside: firsts[each.first] for each in given}
    kinds = [
        module("onnx.helper").tensor_dtype_to_np_dtype(body.facts[node.output].element) for node in nodes
    ]
    steps = [*zip(nodes, kinds, strict=True)]
    exact = True
    with np.errstate(all="ignore"):
        for number in range(-body.asks_first, MOST_RESULTS // (len(nodes) or 1)):
            known = _followed(steps, {**constants, **carried, body.counter: np.int64(number)})
            goes_on = known.get(condition)
            if goes_on is not None and not goes_on:
                return CountedIterations(number + 1, exact)
            exact = exact and goes_on is not None
            if not exact and not any(node.op == "And" for node in nodes):
                return None
            carried = {each.inside: known[each.result] for each in given if each.result in known}
    return None


def _followed(steps: Sequence[tuple[OnnxNode, Any]], known: dict[str, Any]) -> dict[str, Any]:
    """``known`` with the numbers that nodes make of it, in their types; what does not hold decides an And."""
    for node, kind in steps:
        operands = [known.get(name) for name in node.inputs[: 1 if node.op in SAME_VALUE else 2]]
        made: Any = None
        if not any(each is None for each in operands):
            made = FUNCTIONS[node.op](*operands)
        elif node.op == "And":
            made = next((each for each in operands if each is not None and not each), None)
        if made is not None:
            known.setdefault(node.output, made.astype(kind))
    return known
