"""Choose the order of a program's ops: each straight-line list of them is a problem for ``solvers.order``.

What is minimised is the bytes of tensors alive while an op runs: inputs from the first op that reads them,
the others from the op that writes them, each to the last op that reads it. Weights do not count, for they
come in slices of what is left. An element-wise output and the input that it is written over count once, if
the order lets that input die there and ``in_place.reuse`` will be asked to use it. The inputs of a concat
count by themselves: to make them in its output spares time, but takes all of the output's memory from the
first of them on, and where memory is tight ``dma.residency.greedy`` gives them memory of their own again.

An ``if`` or ``loop`` is one node, which takes, in addition to the tensors that others touch, what its own
need in the worst arm. So the peak of a program with control flow is that of its outermost list under this
reading, and a proof that no order is below it is given for straight programs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from chipmodel.model.program import If, Loop, Node, Op, Program
from chipmodel.rewrites.in_place import InPlace, may_die, reuse
from chipmodel.rewrites.op_order import dependencies, touched
from dma.residency.greedy import ResidencyTable
from solvers.order.exact import depth_first_order, least_peak_order
from solvers.order.problem import InPlaceWrite, LiveBuffer, Ordered, OrderProblem, peak_of

OrderName = Literal["given", "least-peak", "depth-first", "breadth-first"]
ORDERS: tuple[OrderName, ...] = get_args(OrderName)

Chooser = Callable[[OrderProblem], Ordered]


@dataclass(frozen=True, slots=True)
class OrderedProgram:
    """``program`` in the order ``name``: at most ``live_bytes`` of tensors are alive at one op, and where
    ``least_bytes`` is known no order has fewer."""

    name: OrderName
    program: Program
    live_bytes: int
    least_bytes: int | None

    @property
    def proven(self) -> bool:
        """Whether no order has a lower peak."""
        return self.live_bytes == self.least_bytes


def ordered(program: Program, in_place: InPlace, name: OrderName) -> OrderedProgram:
    """``program``, of which nothing is marked as in place yet but what the workload declares, in another
    order of its straight lists; ``in_place`` is what ``reuse`` will be asked for."""
    found = _OrderChooser(program, in_place, _CHOOSERS[name]).order(program.body, _Surroundings())
    least = found.ordered.lower_bound if program.is_straight and name == "least-peak" else None
    result = replace(program, body=found.body)
    return OrderedProgram(name, result, live_bytes(result, in_place), least)


def live_bytes(program: Program, in_place: InPlace) -> int:
    """The most bytes of tensors alive at an op of ``program``, nothing spilled, no concat made in place."""
    return ResidencyTable(reuse(program, _APART[in_place])).most_alive()


_APART: Mapping[InPlace, InPlace] = {
    "all": "elementwise",
    "elementwise": "elementwise",
    "concat": "declared",
    "rows": "declared",
    "declared": "declared",
    "none": "none",
}
"""The same choice without concats."""


def _given(problem: OrderProblem) -> Ordered:
    return _unproven(problem, tuple(range(len(problem.after))))


def _depth_first(problem: OrderProblem) -> Ordered:
    return _unproven(problem, depth_first_order(problem))


def _breadth_first(problem: OrderProblem) -> Ordered:
    return _unproven(problem, depth_first_order(problem, in_turn=True))


def _unproven(problem: OrderProblem, order: tuple[int, ...]) -> Ordered:
    return Ordered(order, peak_of(problem, order), 0)


_CHOOSERS: Mapping[OrderName, Chooser] = {
    "given": _given,
    "least-peak": least_peak_order,
    "depth-first": _depth_first,
    "breadth-first": _breadth_first,
}


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """What surrounds a list: tensors alive around it, and those whose memory is counted there already."""

    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    counted: frozenset[str] = frozenset()

    @property
    def known(self) -> frozenset[str]:
        return self.before | self.after

    def inside(self, counted: Iterable[str]) -> _Surroundings:
        """What lists below find that ``counted`` tensors belong to a list around them."""
        return replace(self, counted=self.counted.union(counted))


@dataclass(frozen=True, slots=True)
class _OrderedList:
    """A list in its order, and the bytes that it needs in addition to what the lists around it count."""

    body: tuple[Node, ...]
    ordered: Ordered
    extra_bytes: int


class _OrderChooser:
    def __init__(self, program: Program, in_place: InPlace, choose: Chooser) -> None:
        self.tensors = program.tensors
        self.dying = may_die(program, in_place)
        self.choose = choose

    def order(self, body: tuple[Node, ...], around: _Surroundings) -> _OrderedList:
        """The list in its order, and every list below it."""
        names = [touched(node).names for node in body]
        users = _users(names)
        own = [n for n, nodes in users.items() if len(nodes) > 1 or isinstance(body[nodes[0]], Op)]
        counted = dict.fromkeys((*own, *sorted(around.known & users.keys())))
        inner = [self._below(index, body, names, around.inside(counted)) for index in range(len(body))]
        buffers = tuple(self._live(name, users[name], around) for name in counted)
        overlays = tuple(self._overlays(body, {name: index for index, name in enumerate(counted)}))
        workspace = tuple(extra for _, extra in inner)
        problem = OrderProblem(dependencies(body), buffers, overlays, workspace)
        chosen = self.choose(problem)
        extra = peak_of(_without(problem, counted, around.counted), chosen.order)
        return _OrderedList(tuple(inner[index][0] for index in chosen.order), chosen, extra)

    def _below(
        self, index: int, body: tuple[Node, ...], names: list[frozenset[str]], around: _Surroundings
    ) -> tuple[Node, int]:
        """Node ``index`` with its lists in order, and the bytes that it needs for itself."""
        node = body[index]
        earlier = around.before.union(*names[:index])
        later = around.after.union(*names[index + 1 :])
        match node:
            case Op():
                return node, node.scratch.bytes if node.scratch else 0
            case If():
                within = replace(around, before=earlier, after=later)
                arms = [self.order(arm.body, within) for arm in node.arms]
                pairs = zip(node.arms, arms, strict=True)
                bodies = tuple(replace(arm, body=found.body) for arm, found in pairs)
                return replace(node, arms=bodies), max((found.extra_bytes for found in arms), default=0)
            case Loop():
                every = earlier | later | set(node.carried)
                found = self.order(node.body, replace(around, before=every, after=every))
                return replace(node, body=found.body), found.extra_bytes

    def _live(self, name: str, users: list[int], around: _Surroundings) -> LiveBuffer:
        return LiveBuffer(self.tensors[name].bytes, tuple(users), name in around.before, name in around.after)

    def _overlays(self, body: tuple[Node, ...], number: Mapping[str, int]) -> Iterator[InPlaceWrite]:
        for index, node in enumerate(body):
            if isinstance(node, Op):
                for old in self.dying[node.name].overwrites:
                    yield InPlaceWrite(index, number[node.outputs[0]], number[old])


def _users(names: list[frozenset[str]]) -> dict[str, list[int]]:
    """The nodes of a list that touch each tensor."""
    users: dict[str, list[int]] = {}
    for index, touched_here in enumerate(names):
        for name in sorted(touched_here):
            users.setdefault(name, []).append(index)
    return users


def _without(problem: OrderProblem, names: Iterable[str], counted: frozenset[str]) -> OrderProblem:
    """``problem``, whose buffers are called ``names``, without the bytes that are ``counted`` elsewhere."""
    pairs = zip(names, problem.buffers, strict=True)
    buffers = tuple(replace(b, bytes=0) if name in counted else b for name, b in pairs)
    return replace(problem, buffers=buffers)
