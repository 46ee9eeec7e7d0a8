"""Which core runs what, and the part of a program that each core runs.

A node of the program's outermost body, an op or a whole ``if`` or ``loop``, runs on one core. What crosses
from core to core lies in Psram on the way: an output of the part that makes it, an input of each part that
reads it. Each part is a program of its own for everybody from the streamer to the verifier.

Every core runs its nodes in the order of the whole program, and waits for a tensor of another core no
earlier than at the first op that comes after its maker in that order (``Program.arrivals``). So cores never
wait for one another in a circle: of all nodes that are not done, the first one in the order of the
whole program waits for none of the others, neither by what comes before it on its core nor by what it reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from chipmodel.model.program import If, Loop, Node, Op, Program, ops


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
    """Who defines and who reads each tensor: indices of nodes of the outermost body, ascending."""

    defined: Mapping[str, tuple[int, ...]]
    read: Mapping[str, tuple[int, ...]]

    def touched(self, name: str) -> tuple[int, ...]:
        return (*self.defined.get(name, ()), *self.read.get(name, ()))


def uses(program: Program) -> Uses:
    """Of every tensor that an op or the condition of an ``if`` names."""
    defined: dict[str, list[int]] = {}
    read: dict[str, list[int]] = {}
    for index, node in enumerate(program.body):
        for name in dict.fromkeys(n for op in ops((node,)) for n in op.outputs):
            defined.setdefault(name, []).append(index)
        for name in dict.fromkeys(_reads((node,))):
            read.setdefault(name, []).append(index)
    return Uses({n: tuple(i) for n, i in defined.items()}, {n: tuple(i) for n, i in read.items()})


def together(program: Program, found: Uses) -> list[tuple[int, ...]]:
    """Nodes (by index) that must run on one core, each in one group: all that define a tensor, and those
    that read it while there is a definition to come, since the newer value takes its place in Psram."""
    parent = list(range(len(program.body)))

    def root(index: int) -> int:
        while parent[index] != index:
            index = parent[index]
        return index

    for name, definers in found.defined.items():
        older = [i for i in found.read.get(name, ()) if i < definers[-1]]
        for index in (*definers, *older):
            a, b = root(index), root(definers[0])
            parent[max(a, b)] = min(a, b)
    groups: dict[int, list[int]] = {}
    for index in range(len(program.body)):
        groups.setdefault(root(index), []).append(index)
    return [tuple(group) for group in groups.values()]


def split(program: Program, core_of: Mapping[str, int], cores: int) -> tuple[CorePart, ...]:
    """The parts of ``program`` where each node of the outermost body, by name, runs on its core.

    A tensor that several cores know has one home in Psram, which nothing else may take: no op overwrites
    it in place.
    """
    found = uses(program)
    core_at = [core_of[node.name] for node in program.body]
    where = {name: {core_at[i] for i in found.touched(name)} for name in program.tensors}
    shared = frozenset(name for name, on in where.items() if len(on) > 1)
    return tuple(_part(program, found, core_at, shared, core) for core in range(cores))


def _part(program: Program, found: Uses, core_at: list[int], shared: frozenset[str], core: int) -> CorePart:
    mine = [index for index, at in enumerate(core_at) if at == core]
    body = tuple(_without_reuse(program.body[index], shared) for index in mine)
    names = {n for op in ops(body) for n in (*op.inputs, *op.outputs)} | set(_reads(body))
    makers = {n: i[-1] for n, i in found.defined.items()}
    imports = {n: core_at[makers[n]] for n in shared & names if n in makers and core_at[makers[n]] != core}
    made = {n: at for n, at in makers.items() if core_at[at] == core}
    exports = {n: program.body[at].name for n, at in made.items() if n in shared}
    inputs = [n for n in program.inputs if n in names and n not in imports]
    outputs = [n for n in program.outputs if n in made]
    weights = {w for op in ops(body) for w in op.weights}
    part = replace(
        program,
        tensors={n: t for n, t in program.tensors.items() if n in names},
        weights={n: w for n, w in program.weights.items() if n in weights},
        inputs=(*inputs, *(n for n in program.tensors if n in imports)),
        outputs=tuple(dict.fromkeys((*outputs, *(n for n in program.tensors if n in exports)))),
        body=body,
        arrivals=_arrivals(program, mine, {n: makers[n] for n in imports}),
    )
    return CorePart(core, part, imports, exports)


def _arrivals(program: Program, mine: list[int], makers: Mapping[str, int]) -> dict[str, int]:
    """The number of the first op of this core behind the maker of each tensor."""
    before: list[tuple[int, int]] = []
    count = 0
    for index in mine:
        before.append((index, count))
        count += sum(1 for _ in ops((program.body[index],)))
    return {name: next(n for index, n in before if index > maker) for name, maker in makers.items()}


def _reads(body: tuple[Node, ...]) -> Iterator[str]:
    for node in body:
        match node:
            case Op():
                yield from node.inputs
            case If():
                if node.condition is not None:
                    yield node.condition
                for arm in node.arms:
                    yield from _reads(arm.body)
            case Loop():
                yield from node.carried
                yield from _reads(node.body)


def _without_reuse(node: Node, shared: frozenset[str]) -> Node:
    """The same without ops that take the memory of a shared tensor."""
    match node:
        case Op():
            kept = None if node.overwrites in shared else node.overwrites
            return replace(node, overwrites=kept, absorbs=tuple(n for n in node.absorbs if n not in shared))
        case If():
            arms = (replace(a, body=tuple(_without_reuse(n, shared) for n in a.body)) for a in node.arms)
            return replace(node, arms=tuple(arms))
        case Loop():
            return replace(node, body=tuple(_without_reuse(n, shared) for n in node.body))
