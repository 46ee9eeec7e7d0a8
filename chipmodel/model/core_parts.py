"""Which core runs what, and the part of a program that each core runs.

A node of the program's outermost body, an op or a whole ``if`` or ``loop``, runs on one core. A tensor that
one core makes for another passes through Psram: it is an output of its maker's part and an input of each
part that reads it. Each part is a program of its own for every stage from the streamer to the verifier.

Every core runs its nodes in the order of the whole program, and waits for a tensor of another core no
earlier than at the first op that comes after its maker in that order (``Program.arrivals``). So cores never
wait for one another in a circle: of all nodes that are not done, the first one in the order of the
whole program waits for none of the others, neither by what comes before it on its core nor by what it reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from chipmodel.geometry.groups import joined
from chipmodel.model.program import Body, Op, Program, ops, reads, with_ops
from chipmodel.model.tree import walk
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class CorePart:
    """What core number ``core`` runs. ``imports`` maps each tensor that another core makes to that core;
    ``exports`` maps each tensor that another core reads to the last node here that defines it."""

    core: int
    program: Program
    imports: Mapping[str, int]
    exports: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Uses:
    """Which nodes define and which read each tensor: indices into the outermost body, ascending."""

    defined: Mapping[str, tuple[int, ...]]
    read: Mapping[str, tuple[int, ...]]

    def touched(self, name: str) -> tuple[int, ...]:
        """The nodes that define or read the tensor."""
        return (*self.defined.get(name, ()), *self.read.get(name, ()))


def uses(program: Program) -> Uses:
    """Uses of every tensor that an op, a condition or a loop names."""
    defined: dict[str, list[int]] = {}
    read: dict[str, list[int]] = {}
    for index, node in enumerate(program.body):
        for name in dict.fromkeys(n for op in ops((node,)) for n in op.outputs):
            defined.setdefault(name, []).append(index)
        for name in dict.fromkeys(_reads((node,))):
            read.setdefault(name, []).append(index)
    return Uses({n: tuple(i) for n, i in defined.items()}, {n: tuple(i) for n, i in read.items()})


def same_core_groups(program: Program, found: Uses) -> list[tuple[int, ...]]:
    """Nodes (by index) in groups that must run on one core each.

    All nodes that define a tensor belong together, with those that read it before its last definition,
    because the newer value takes its place in Psram.
    """
    together = (
        (*definers, *(reader for reader in found.read.get(name, ()) if reader < definers[-1]))
        for name, definers in found.defined.items()
    )
    return joined(len(program.body), together)


def split(program: Program, core_of: Mapping[str, int], cores: int) -> tuple[CorePart, ...]:
    """The parts of ``program`` where ``core_of`` gives each node of the outermost body, by name, its core.

    A tensor that several cores use has one place in Psram, which nothing else may take: no op overwrites
    it in place.
    """
    found = uses(program)
    core_at = tuple(core_of[node.name] for node in program.body)
    users = {name: {core_at[i] for i in found.touched(name)} for name in program.tensors}
    shared = frozenset(name for name, on in users.items() if len(on) > 1)
    makers = {name: indices[-1] for name, indices in found.defined.items()}
    assignment = _Assignment(program, core_at, makers, shared)
    return tuple(assignment.part(core) for core in range(cores))


@dataclass(frozen=True, slots=True)
class _Assignment:
    """Nodes of the outermost body, by index, on cores. ``makers`` is the last node that defines each tensor;
    ``shared`` are the tensors that several cores use."""

    program: Program
    core_at: tuple[int, ...]
    makers: Mapping[str, int]
    shared: frozenset[str]

    def part(self, core: int) -> CorePart:
        """What ``core`` runs."""
        indices = [index for index, at in enumerate(self.core_at) if at == core]
        body = with_ops(tuple(self.program.body[index] for index in indices), self._without_reuse)
        named = _named(body)
        imports = self._imports(named, core)
        exports = self._exports(core)
        part = replace(
            self._with_tables(body, named),
            inputs=self._inputs(named, imports),
            outputs=self._outputs(core, exports),
            arrivals=self._arrivals(indices, imports),
        )
        return CorePart(core, part, imports, exports)

    def _imports(self, named: frozenset[str], core: int) -> dict[str, int]:
        """The core that makes each tensor which ``core`` uses and does not make."""
        makers = {name: self.core_at[self.makers[name]] for name in self.shared & named & self.makers.keys()}
        return {name: maker for name, maker in makers.items() if maker != core}

    def _exports(self, core: int) -> dict[str, str]:
        """The node of ``core`` that makes each tensor which other cores use too."""
        made = {name: at for name, at in self.makers.items() if self.core_at[at] == core}
        return {name: self.program.body[at].name for name, at in made.items() if name in self.shared}

    def _with_tables(self, body: Body, named: frozenset[str]) -> Program:
        """``body`` as a program that declares only the tensors and weights that it uses."""
        used = {name for op in ops(body) for name in op.constants}
        tensors = {name: tensor for name, tensor in self.program.tensors.items() if name in named}
        weights = {name: weight for name, weight in self.program.weights.items() if name in used}
        return replace(self.program, body=body, tensors=tensors, weights=weights)

    def _inputs(self, named: frozenset[str], imports: Mapping[str, int]) -> tuple[str, ...]:
        own = (name for name in self.program.inputs if name in named and name not in imports)
        return (*own, *(name for name in self.program.tensors if name in imports))

    def _outputs(self, core: int, exports: Mapping[str, str]) -> tuple[str, ...]:
        made = (n for n in self.program.outputs if n in self.makers and self.core_at[self.makers[n]] == core)
        return tuple(dict.fromkeys((*made, *(name for name in self.program.tensors if name in exports))))

    def _arrivals(self, indices: list[int], imports: Mapping[str, int]) -> dict[str, int]:
        """The number of this core's first op after the maker of each imported tensor."""
        first_ops: list[tuple[int, int]] = []
        count = 0
        for index in indices:
            first_ops.append((index, count))
            count += sum(1 for _ in ops((self.program.body[index],)))
        return {
            name: next(first for index, first in first_ops if index > self.makers[name]) for name in imports
        }

    def _without_reuse(self, op: Op) -> Op:
        """``op`` without taking the memory of a shared tensor."""
        kept = None if op.overwrites in self.shared else op.overwrites
        return replace(op, overwrites=kept, absorbs=tuple(n for n in op.absorbs if n not in self.shared))


def _named(body: Body) -> frozenset[str]:
    """Every tensor that ``body`` names."""
    scratch = (op.scratch.name for op in ops(body) if op.scratch)
    return frozenset((*_reads(body), *(name for op in ops(body) for name in op.outputs), *scratch))


def _reads(body: Body) -> Iterable[str]:
    return (name for node in walk(body) for name in reads(node))
