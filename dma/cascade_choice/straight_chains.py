"""Straight chains of ops, and the bytes that are alive around some of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from chipmodel.geometry.interval import Interval
from chipmodel.model.program import Body, Loop, Op, Program, ops
from chipmodel.model.tree import bodies
from dma.residency.greedy import ResidencyTable


def straight_chains(body: Body, first: int = 0) -> Iterator[Interval]:
    """Yield the numbers (in linear order) of ops that follow one another in one body, chain by chain."""
    start = first
    for node in body:
        if isinstance(node, Op):
            first += 1
            continue
        if first > start:
            yield Interval(start, first)
        for inner in bodies(node):
            yield from straight_chains(inner, first)
            first += sum(1 for _ in ops(inner))
        start = first
    if first > start:
        yield Interval(start, first)


def op_chains(program: Program) -> list[tuple[Op, ...]]:
    """Return the ops that follow one another in one body, chain by chain."""
    order = list(program.ops())
    return [tuple(order[chain.start : chain.stop]) for chain in straight_chains(program.body)]


@dataclass(frozen=True, slots=True)
class _Link:
    """At op number ``at`` the tensor ``child`` is made in, or put into, the memory of ``parent``."""

    at: int
    child: str
    parent: str


@dataclass
class LiveAround:
    """The tensors of a program by where they are alive, for questions about some of its ops in a row."""

    program: Program
    inputs_apart: bool = False
    """Whether inputs of the program are loaded again rather than live through ops that do not read them."""
    table: ResidencyTable = field(init=False)
    through: tuple[int, ...] = field(init=False)
    """At each op, the bytes alive where every op runs on its own."""

    def __post_init__(self) -> None:
        self.table = ResidencyTable(self.program)
        decisions = self.table.inputs_apart() if self.inputs_apart else self.table.initial_decisions()
        residency = self.table.residency(decisions)
        self.through = residency.through
        self.storage = residency.storage
        self.members: dict[str, list[str]] = {}
        for name, root in residency.storage.items():
            if self.table.touches[name]:
                self.members.setdefault(root, []).append(name)
        self.alive_at: list[set[str]] = [set() for _ in self.table.ops]
        for root, segments in residency.segments.items():
            for interval in (i for segment in segments for i in self.table.live(segment)):
                for position in range(interval.start, interval.stop):
                    self.alive_at[position].add(root)
        self.links: dict[str, list[_Link]] = {}
        for at, op in enumerate(self.table.ops):
            pairs = [(op.outputs[0], op.overwrites)] if op.overwrites else []
            pairs = [(new, old) for new, old in pairs if decisions.overwrites.get(new) == old]
            made = (n for n in op.absorbs if decisions.absorbed.get(n) == op.outputs[0])
            pairs += [(_top(name, decisions.overwrites), op.outputs[0]) for name in made]
            for child, parent in pairs:
                self.links.setdefault(self.storage[child], []).append(_Link(at, child, parent))
        self.touched = {
            name: Interval(min(t.position for t in touches), max(t.position for t in touches) + 1)
            for name, touches in self.table.touches.items()
            if touches
        }
        self.outer = {*self.program.outputs, *self.program.inputs, *self.table.conditions}
        for node in self.program.nodes():
            self.outer |= set(node.carried) if isinstance(node, Loop) else set()

    def size(self, name: str) -> int:
        """Bytes of a tensor."""
        return self.program.tensors[name].bytes

    def is_inside(self, name: str, ops: Interval) -> bool:
        """Whether a tensor is made and read by ``ops`` only, and not made by the last of them."""
        touched = self.touched[name]
        if name in self.outer or touched.start < ops.start or touched.stop > ops.stop:
            return False
        makes = [touch.position for touch in self.table.touches[name] if touch.writes]
        return makes == [touched.start] and touched.start < ops.stop - 1

    def outside(self, stop: int) -> Iterator[int]:
        """For ops number ``stop - 1`` alone, then for more and more ops before it as well: the bytes of whole
        tensors in SharedMemory while those run as a cascade. That is all that is alive at any of them but the
        tensors inside; what one of the ops would do in place needs memory of its own."""
        found: dict[str, int] = {}
        total = 0
        for start in range(stop - 1, -1, -1):
            op = self.table.ops[start]
            touched = {self.storage[name] for name in (*op.inputs, *op.outputs)}
            for root in self.alive_at[start] | touched:
                if root in touched or root not in found:
                    size = self._outside(root, Interval(start, stop))
                    total += size - found.get(root, 0)
                    found[root] = size
            yield total

    def _outside(self, root: str, ops: Interval) -> int:
        members = self.members[root]
        cut = [link for link in self.links.get(root, ()) if link.at in ops]
        if not cut:
            return 0 if all(self.is_inside(name, ops) for name in members) else self.size(root)
        kept = {link.child: link.parent for link in self.links[root] if link.at not in ops}
        tops: dict[str, bool] = {}
        for name in members:
            top = _top(name, kept)
            tops[top] = tops.get(top, False) or not self.is_inside(name, ops)
        return sum(self.size(top) for top, needed in tops.items() if needed)


def _top(name: str, parents: Mapping[str, str]) -> str:
    while name in parents:
        name = parents[name]
    return name
