"""Dependencies between the nodes of a program, and the program in another order that respects them.

Every list of nodes (the body, each arm, each loop's body) is ordered by itself; an ``if`` or ``loop`` is one
node of its list. The order is chosen elsewhere (``chipmodel.pipeline.order_search``); ``chipmodel check``
uses only this module to apply a plan's order to the workload.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from chipmodel.errors import BadInput
from chipmodel.model.program import Node, Op, Program, reads
from chipmodel.model.tree import walk, with_bodies
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class Touched:
    """The tensors that a node reads, and those it changes: written, overwritten in place, absorbed."""

    reads: frozenset[str]
    changes: frozenset[str]

    @property
    def names(self) -> frozenset[str]:
        return self.reads | self.changes


def touched(node: Node) -> Touched:
    """What ``node`` and everything below it reads and changes."""
    read: set[str] = set()
    changed: set[str] = set()
    for each in walk((node,)):
        read.update(reads(each))
        if isinstance(each, Op):
            changed.update(each.outputs, each.absorbs, [each.overwrites] if each.overwrites else [])
    return Touched(frozenset(read), frozenset(changed))


def dependencies(body: Sequence[Node]) -> tuple[tuple[int, ...], ...]:
    """For each node of a list, the earlier ones that it must follow: the last to change what it reads or
    changes, and all that have since read what it changes."""
    changer: dict[str, int] = {}
    readers: dict[str, set[int]] = {}
    result: list[tuple[int, ...]] = []
    for index, node in enumerate(body):
        uses = touched(node)
        after = {changer[name] for name in uses.names if name in changer}
        after.update(reader for name in uses.changes for reader in readers.get(name, ()))
        result.append(tuple(sorted(after)))
        for name in uses.reads - uses.changes:
            readers.setdefault(name, set()).add(index)
        for name in uses.changes:
            changer[name], readers[name] = index, set()
    return tuple(result)


def names_in_order(program: Program) -> tuple[str, ...]:
    """The names of all ops, branches and loops as they run, arms one after another."""
    return tuple(node.name for node in program.nodes())


def in_order(program: Program, names: Sequence[str]) -> Program:
    """``program`` with its nodes in the order of ``names``, as ``names_in_order`` gives them.

    Raises BadInput where ``names`` are not all nodes, each once; where a node would leave its list; or where
    a node would run before one that it must follow.
    """
    counts, known = Counter(names), Counter(names_in_order(program))
    for name in [*known, *counts]:
        if counts[name] != known[name]:
            what = f"the order has {name!r} {counts[name]} times, the workload {known[name]} times"
            raise BadInput(what, hint=_hint())
    place = {name: index for index, name in enumerate(names)}
    result = replace(program, body=_sorted(program.body, place))
    for name, wanted in zip(names_in_order(result), names, strict=True):
        if name != wanted:
            what = f"the order has {wanted!r} before {name!r}: nodes of an arm or loop must be consecutive"
            raise BadInput(what, hint=_hint())
    return result


def _hint() -> str:
    command, call = (
        "chipmodel simulate WORKLOAD --order ... --plan FILE",
        "simulate(WORKLOAD, order=...).write_plan(FILE)",
    )
    return f"write the plan again with: {command}, or {call}"


def _sorted(body: tuple[Node, ...], place: Mapping[str, int]) -> tuple[Node, ...]:
    for node, after in zip(body, dependencies(body), strict=True):
        for earlier in after:
            if place[body[earlier].name] > place[node.name]:
                what = f"{node.name!r} is ordered before {body[earlier].name!r}, which it must follow"
                raise BadInput(what, where=node.place, hint=_hint())
    ordered = sorted(body, key=lambda node: place[node.name])
    return tuple(with_bodies(node, lambda inner: _sorted(inner, place)) for node in ordered)
