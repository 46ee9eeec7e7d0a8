"""Squeeze and excitation without its whole tensor: the ops before it run twice.

Each channel of a tensor is scaled by a gate that needs the mean of the whole channel. So the tensor is there
as a whole, though it may be the largest of the network. Unless the ops that make it run twice: first for the
means alone, in a cascade that ends in the pooling (``chipmodel.cascades.accumulation``), and, when the gates
are known, again for what the gates scale. Both runs are ordinary ops, so no part after the rewrite has to
know of it; the price is the work of these ops, once more.

References
----------
Squeeze and excitation: Hu et al. 2018, "Squeeze-and-Excitation Networks" (arXiv:1709.01507).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from math import inf

from chipmodel.model.program import Body, Node, Op, Program, with_bodies
from chipmodel.model.tree import bodies
from chipmodel.model.work import Pool
from chipmodel.records import dataclass
from chipmodel.rewrites.channel_parts import FIRST_MARK, SLICE_MARK
from chipmodel.rewrites.in_place import reuse

MOST_OPS = 12
"""Ops that run twice for one tensor, at most: no block of a network in the zoo has more than seven."""


@dataclass(frozen=True, slots=True)
class SqueezedBlock:
    """Neighbours ``ops`` that read one tensor, of which the last one makes what a whole-image pooling
    squeezes, and then the ops ``between`` up to the first that reads it again."""

    ops: tuple[Op, ...]
    between: tuple[Op, ...]

    @property
    def name(self) -> str:
        """The name of the op that makes what is squeezed."""
        return self.ops[-1].name

    @property
    def squeezed(self) -> tuple[str, ...]:
        """What is squeezed."""
        return self.ops[-1].outputs

    @property
    def tensors(self) -> frozenset[str]:
        """What its ops read and make."""
        return frozenset(name for op in self.ops for name in (*op.inputs, *op.outputs))

    def twice(self) -> tuple[Op, ...]:
        """The first run of the ops, what squeezes its output, and the second run."""
        first = {name: f"{name}{FIRST_MARK}" for op in self.ops for name in op.outputs}

        def renamed(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(first.get(name, name) for name in names)

        copies = (
            replace(
                op,
                name=f"{op.name}{FIRST_MARK}",
                inputs=renamed(op.inputs),
                outputs=renamed(op.outputs),
                overwrites=None,
                by_rows=None,
                absorbs=(),
            )
            for op in self.ops
        )
        read = {name for op in self.ops for name in op.inputs}
        between = (
            replace(
                op,
                inputs=renamed(op.inputs),
                overwrites=None if op.overwrites in read else op.overwrites,
                absorbs=tuple(name for name in op.absorbs if name not in read),
            )
            for op in self.between
        )
        return (*copies, *between, *self.ops)


def squeezed_blocks(program: Program) -> tuple[SqueezedBlock, ...]:
    """Return the blocks of ``program`` that can run twice, in linear order; no two have an op in common."""
    return () if program.arrivals else tuple(_of_body(program, program.body))


def _of_body(program: Program, body: Body) -> Iterator[SqueezedBlock]:
    free = 0
    for index, node in enumerate(body):
        for inner in bodies(node):
            yield from _of_body(program, inner)
        squeezes = index >= free and isinstance(node, Op) and _squeezes(node)
        if squeezes and (found := _block(program, body, free, index)):
            yield found
            free = index + 1 + len(found.between)


def _squeezes(op: Op) -> bool:
    return isinstance(op.work, Pool) and op.work.takes_rows and len(op.inputs) == 1


def _block(program: Program, body: Body, free: int, pool: int) -> SqueezedBlock | None:
    """The block before the pooling number ``pool``, of ops from number ``free`` on; None for none."""
    squeeze = body[pool]
    assert isinstance(squeeze, Op)
    makers = (n for n in range(free, pool) if squeeze.inputs[0] in _made(body[n]))
    last = next(makers, None)
    if last is None:
        return None
    ops = _ops(program, body, free, last)
    between = _between(body[last + 1 :], ops)
    return SqueezedBlock(ops, between) if ops and between else None


def _made(node: Node) -> tuple[str, ...]:
    return node.outputs if isinstance(node, Op) else ()


def _ops(program: Program, body: Body, free: int, last: int) -> tuple[Op, ...]:
    """The ops up to number ``last`` that make its output of the smallest tensor."""
    best: tuple[int, tuple[Op, ...]] | None = None
    found: list[Op] = []
    for node in reversed(body[max(free, last + 1 - MOST_OPS) : last + 1]):
        if not isinstance(node, Op) or not _repeats(node):
            break
        found.insert(0, node)
        made = {name for op in found for name in op.outputs}
        read = {name for op in found for name in op.inputs}
        needed = all(set(op.outputs) & read for op in found[:-1])
        outside = read - made
        if needed and len(outside) == 1:
            size = program.tensors[outside.pop()].bytes
            best = (size, tuple(found)) if best is None or size < best[0] else best
    smaller = best is not None and best[0] < program.tensors[found[-1].outputs[0]].bytes
    return best[1] if best is not None and smaller else ()


def _repeats(op: Op) -> bool:
    """Whether an op may run twice: it keeps nothing, and is no part of another rewrite."""
    keeps = op.sliced is not None or op.allocates or op.gathers
    other = op.cascade or SLICE_MARK in op.name or FIRST_MARK in op.name
    return len(op.outputs) == 1 and not (keeps or other)


def _between(rest: Body, ops: tuple[Op, ...]) -> tuple[Op, ...]:
    """The first ops of ``rest``, up to one that reads what ``ops`` make and what was made of its pooling."""
    inside = {name for op in ops for name in op.outputs}
    of_pool, found = set[str](), list[Op]()
    for node in rest:
        if not isinstance(node, Op):
            break
        squeezes = _squeezes(node) and node.inputs == ops[-1].outputs if ops else False
        if not squeezes and not inside.isdisjoint(node.inputs):
            return tuple(found) if of_pool.intersection(node.inputs) else ()
        if squeezes or of_pool.intersection(node.inputs):
            of_pool.update(node.outputs)
        found.append(node)
    return ()


def made_twice(program: Program, names: Collection[str]) -> Program:
    """Return ``program`` with the blocks ``names`` (``SqueezedBlock.name``) run twice."""
    chosen = {block.ops[0].name: block for block in squeezed_blocks(program) if block.name in names}
    if not chosen:
        return program

    def changed(body: Body) -> Body:
        found: list[Node] = []
        rest = iter(body)
        for node in rest:
            block = chosen.get(node.name) if isinstance(node, Op) else None
            found += block.twice() if block else (with_bodies(node, changed),)
            for _ in range(len(block.ops) + len(block.between) - 1 if block else 0):
                next(rest)
        return tuple(found)

    body = changed(program.body)
    first = (name for block in chosen.values() for op in block.ops for name in op.outputs)
    tensors = {name: replace(program.tensors[name], name=f"{name}{FIRST_MARK}") for name in first}
    made = {**program.tensors, **{each.name: each for each in tensors.values()}}
    notes = (f"{each.ops[0].name!r} to {each.name!r} run twice" for each in chosen.values())
    new = replace(program, body=body, tensors=made, notes=(*program.notes, *notes))
    return reuse(new, "all") if reuse(program, "all") == program else new


def named_twice(names: Iterable[str]) -> frozenset[str]:
    """Return the ops that run twice in a plan with steps of the ops ``names``."""
    return frozenset(name.split(FIRST_MARK)[0] for name in names if FIRST_MARK in name)


def worth_twice(program: Program, budget: int, most: float | None = None) -> frozenset[str]:
    """Return the blocks (``SqueezedBlock.name``) whose squeezed tensor takes more than ``budget`` bytes: all,
    or the largest as long as the program computes at most ``most`` times its multiply-accumulates."""
    left = inf if most is None else (most - 1) * sum(op.work.macs for op in program.ops())
    sizes = (
        (sum(program.tensors[n].bytes for n in each.squeezed), each) for each in squeezed_blocks(program)
    )
    found = set[str]()
    for size, block in sorted(sizes, key=lambda each: -each[0]):
        macs = sum(op.work.macs for op in block.ops)
        if size > budget and macs <= left:
            found.add(block.name)
            left -= macs
    return frozenset(found)
