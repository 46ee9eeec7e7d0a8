"""Programs in an order that is chosen: their straight lists as problems of ``solvers.order_*``.

What counts is the bytes of tensors that are alive while an op runs: inputs from the first op that reads them,
the others from the op that writes them, each to the last op that reads it. Weights do not count, for they
come in slices of what is left. What ``in_place.reuse`` will let share memory counts once: an element-wise
output over an input that dies there, in whatever order; a concat's input in its output where every order lets
the concat read it last (else it counts by itself, though some orders would let it share).

An ``if`` or ``loop`` is one node, which takes beside the tensors that others touch what its own need in the
worst arm. So the peak of a program with control flow is that of its outermost list under this reading, and a
proof that no order is below it is given for straight programs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from chipmodel.in_place import Dying, InPlace, may_die, reuse
from chipmodel.order import dependencies, touched
from chipmodel.program import If, Loop, Node, Op, Program
from dma.residency import Table, storages
from solvers.order_exact import depth_first_order, least_peak_order
from solvers.order_problem import Live, Ordered, OrderProblem, Overlay, mask, peak_of

OrderName = Literal["given", "least-peak", "depth-first"]
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
    walk = _Walk(program, in_place, _CHOOSERS[name])
    found = walk.order(program.body, _Around())
    straight = all(isinstance(node, Op) for node in program.body)
    least = found.ordered.lower_bound if straight and name == "least-peak" else None
    result = replace(program, body=found.body)
    return OrderedProgram(name, result, live_bytes(result, in_place), least)


def live_bytes(program: Program, in_place: InPlace) -> int:
    """The most bytes of tensors alive at one op of ``program`` as it is, with nothing spilled."""
    table = Table(reuse(program, in_place))
    return max(table.residency(table.state()).through, default=0)


def _given(problem: OrderProblem) -> Ordered:
    return _unproven(problem, tuple(range(len(problem.after))))


def _depth_first(problem: OrderProblem) -> Ordered:
    return _unproven(problem, depth_first_order(problem))


def _unproven(problem: OrderProblem, order: tuple[int, ...]) -> Ordered:
    return Ordered(order, peak_of(problem, order), 0)


_CHOOSERS: Mapping[OrderName, Chooser] = {
    "given": _given,
    "least-peak": least_peak_order,
    "depth-first": _depth_first,
}


@dataclass(frozen=True, slots=True)
class _Around:
    """What a list finds around it: tensors that are alive when it begins or must be when it ends, and the
    memory that the lists around it count already."""

    before: frozenset[str] = frozenset()
    behind: frozenset[str] = frozenset()
    counted: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Found:
    """A list in its order, and what it takes beside what the lists around it count."""

    body: tuple[Node, ...]
    ordered: Ordered
    beside: int


class _Walk:
    def __init__(self, program: Program, in_place: InPlace, choose: Chooser) -> None:
        self.program = program
        self.choose = choose
        self.dying = may_die(program, in_place)
        sure = replace(program, body=self._surely(program.body))
        state = Table(sure).state()
        self.storage, _ = storages(sure, state.overwrites, state.absorbed)

    # -- what shares memory in every order -------------------------------------------------------

    def _surely(self, body: tuple[Node, ...]) -> tuple[Node, ...]:
        """The list with those marks of in-place that hold in every order of it."""
        users, before = _users(body), _all_before(body)
        result: list[Node] = []
        for index, node in enumerate(body):
            match node:
                case Op():
                    last = _Last(users, before[index])
                    result.append(_marked(node, self.dying[node.name], last))
                case If():
                    arms = tuple(replace(arm, body=self._surely(arm.body)) for arm in node.arms)
                    result.append(replace(node, arms=arms))
                case Loop():
                    result.append(replace(node, body=self._surely(node.body)))
        return tuple(result)

    def _overlays(self, op: Op) -> list[tuple[str, str]]:
        """Output and input of ``op`` that may share memory, by their storages, in some orders alone."""
        if not op.outputs:
            return []
        new = self.storage[op.outputs[0]]
        olds = {self.storage[name] for name in self.dying[op.name].overwrites}
        if new in olds:
            return []
        sizes = self.program.tensors
        return [(new, old) for old in sorted(olds) if sizes[old].bytes == sizes[new].bytes]

    # -- the lists -------------------------------------------------------------------------------

    def order(self, body: tuple[Node, ...], around: _Around) -> _Found:
        """The list in its order, and every list below it."""
        names = [touched(node).names for node in body]
        users = _users(body)
        inner = [self._below(index, body, names, users, around) for index in range(len(body))]
        roots = self._roots(body, users, around)
        buffers = tuple(self._live(root, roots[root], users, around) for root in roots)
        number = {root: index for index, root in enumerate(roots)}
        overlays = tuple(
            Overlay(index, number[new], number[old])
            for index, node in enumerate(body)
            if isinstance(node, Op)
            for new, old in self._overlays(node)
        )
        workspace = tuple(beside for _, beside in inner)
        problem = OrderProblem(dependencies(body), buffers, overlays, workspace)
        chosen = self.choose(problem)
        beside = self._beside(problem, roots, around, chosen.order)
        return _Found(tuple(inner[index][0] for index in chosen.order), chosen, beside)

    def _below(
        self,
        index: int,
        body: tuple[Node, ...],
        names: list[frozenset[str]],
        users: Mapping[str, list[int]],
        around: _Around,
    ) -> tuple[Node, int]:
        """Node ``index`` with its lists in order, and the bytes that it needs for itself."""
        node = body[index]
        if isinstance(node, Op):
            return node, 0
        earlier = around.before.union(*names[:index])
        later = around.behind.union(*names[index + 1 :])
        shared = {n for n in names[index] if len(users[n]) > 1} | (names[index] & (earlier | later))
        counted = around.counted | {self.storage[n] for n in shared}
        if isinstance(node, Loop):
            every = earlier | later | set(node.carried)
            found = self.order(node.body, _Around(every, every, counted))
            return replace(node, body=found.body), found.beside
        arms = [self.order(arm.body, _Around(earlier, later, counted)) for arm in node.arms]
        bodies = tuple(replace(arm, body=f.body) for arm, f in zip(node.arms, arms, strict=True))
        return replace(node, arms=bodies), max((f.beside for f in arms), default=0)

    def _roots(
        self, body: tuple[Node, ...], users: Mapping[str, list[int]], around: _Around
    ) -> dict[str, list[str]]:
        """The memory that the list counts, with the tensors in it; not what one branch or loop of it has
        for itself."""
        known = around.before | around.behind
        roots: dict[str, list[str]] = {}
        for name, nodes in users.items():
            if name in known or len(nodes) > 1 or isinstance(body[nodes[0]], Op):
                roots.setdefault(self.storage[name], []).append(name)
        return roots

    def _live(self, root: str, names: list[str], users: Mapping[str, list[int]], around: _Around) -> Live:
        touchers = sorted({index for name in names for index in users[name]})
        at_start, at_end = not around.before.isdisjoint(names), not around.behind.isdisjoint(names)
        return Live(self.program.tensors[root].bytes, tuple(touchers), at_start, at_end)

    @staticmethod
    def _beside(
        problem: OrderProblem, roots: Mapping[str, list[str]], around: _Around, order: tuple[int, ...]
    ) -> int:
        """The peak of what the lists around do not count."""
        buffers = [
            replace(live, bytes=0) if root in around.counted else live
            for root, live in zip(roots, problem.buffers, strict=True)
        ]
        return peak_of(replace(problem, buffers=tuple(buffers)), order)


@dataclass(frozen=True, slots=True)
class _Last:
    """Whether an op with all of ``before`` behind it in every order is the last to use a tensor."""

    users: Mapping[str, list[int]]
    before: int

    def __call__(self, name: str) -> bool:
        return not mask(self.users[name]) & ~self.before


def _marked(op: Op, dying: Dying, last: _Last) -> Op:
    overwrites = op.overwrites or next((n for n in dying.overwrites if last(n)), None)
    return replace(op, overwrites=overwrites, absorbs=tuple(n for n in dying.absorbs if last(n)))


def _users(body: tuple[Node, ...]) -> dict[str, list[int]]:
    """The nodes of the list that touch each tensor."""
    users: dict[str, list[int]] = {}
    for index, node in enumerate(body):
        for name in sorted(touched(node).names):
            users.setdefault(name, []).append(index)
    return users


def _all_before(body: tuple[Node, ...]) -> list[int]:
    """For each node those that come before it in every order, itself included, as bits."""
    result: list[int] = []
    for index, after in enumerate(dependencies(body)):
        result.append(1 << index)
        for earlier in after:
            result[index] |= result[earlier]
    return result
