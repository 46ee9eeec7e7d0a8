"""Cascades: several ops of a straight chain in stripes, one after another, as a single op of the program.

``chipmodel.cascades.rows`` decides the steps and the rows that are held between them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby

from chipmodel.cascades.accumulation import accumulating, accumulators
from chipmodel.cascades.arrivals import renumbered_arrivals
from chipmodel.cascades.bands import work_in_bands
from chipmodel.cascades.rows import (
    MAX_CASCADE_STEPS,
    Groups,
    alive_together,
    most_heights,
    recomputing,
    rolling,
    rows_made,
    rows_read,
)
from chipmodel.cascades.shape import cascade_shape
from chipmodel.model.cascade_work import CascadeWork
from chipmodel.model.identity import Same
from chipmodel.model.program import Node, Op, Program, ops
from chipmodel.model.tree import with_bodies
from chipmodel.records import dataclass

KIND = "cascade"
"""The kind of an op that stands for a cascade."""


@dataclass(frozen=True, slots=True)
class CascadeChoice:
    """The ops of a cascade, neighbours in one body, and the most rows that a step of each computes. It may
    run once for each of several ``bands`` of columns of the last op's output.

    The weights of ``reloaded`` ops do not stay in SharedMemory until the cascade ends: they take turns in one
    buffer, and are loaded again whenever another op's were there. Rows of the tensors ``again`` inside are
    computed again for each step that reads some, and not held after it.
    """

    ops: tuple[str, ...]
    heights: tuple[int, ...]
    rolls: bool = True
    reloaded: tuple[str, ...] = ()
    bands: int = 1
    again: tuple[str, ...] = ()


def with_cascades(program: Program, choices: Sequence[CascadeChoice]) -> Program:
    """``program`` with one op for each of ``choices``. Raises ValueError where one is impossible."""
    by_first = {choice.ops[0]: choice for choice in choices}
    if not by_first:
        return program
    cascader = _Cascader(program, by_first)
    body = cascader.body(program.body)
    if cascader.left:
        raise ValueError(f"not neighbours in one body: {', '.join(next(iter(cascader.left.values())).ops)}")
    cascades = (op for op in ops(body) if op.cascade)
    added = accumulators(inner for cascade in cascades for inner in cascade.cascade)
    tensors = {**program.tensors, **added} if added else program.tensors
    return replace(program, body=body, tensors=tensors, arrivals=renumbered_arrivals(program, body))


@dataclass
class _Cascader:
    program: Program
    left: dict[str, CascadeChoice]

    def body(self, body: tuple[Node, ...]) -> tuple[Node, ...]:
        result: list[Node] = []
        index = 0
        while index < len(body):
            node = body[index]
            if isinstance(node, Op) and node.name in self.left:
                choice = self.left.pop(node.name)
                run = [n for n in body[index : index + len(choice.ops)] if isinstance(n, Op)]
                result.append(cascade_op(self.program, run, choice))
                index += len(choice.ops) - 1
            else:
                result.append(with_bodies(node, self.body))
            index += 1
        return tuple(result)


def cascade_op(program: Program, ops: Sequence[Op], choice: CascadeChoice) -> Op:
    """The op that stands for the cascade ``choice`` of ``ops``. Raises ValueError where it is impossible."""
    if tuple(op.name for op in ops) != choice.ops or len(ops) < 2:
        raise ValueError(f"not neighbours in one body: {', '.join(choice.ops)}")
    for name in choice.reloaded:
        if name not in choice.ops:
            raise ValueError(f"{name!r}, whose weights are to be loaded again, is not in the cascade")
    if choice.again and not choice.rolls:
        raise ValueError("tensors are made again in rolling buffers only")
    return _known_cascade(Same(program), choice)


@lru_cache(maxsize=1024)
def _known_cascade(key: Same[Program], choice: CascadeChoice) -> Op:
    """Cached, as many sets of cascades have one in common."""
    program = key.value
    named = {op.name: op for op in program.ops()}
    ops = tuple(accumulating(program, named[name]) for name in choice.ops)
    shape = cascade_shape(program, ops)
    if choice.rolls:
        fine = choice.bands > 1 or bool(choice.again)
        groups, held = rolling(program, shape, choice.heights, choice.again, fine)
    else:
        groups, held = recomputing(program, shape, choice.heights)
    reads = tuple(rows_read(shape, groups, name) for name in shape.inputs)
    makes = tuple(rows_made(shape, groups, name) for name in shape.outputs)
    reloaded = tuple(i for i, op in enumerate(ops) if op.name in choice.reloaded and program.block_bytes(op))
    _refuse_single_turns(ops, reloaded, groups, choice.bands)
    work = CascadeWork(
        groups,
        reads,
        makes,
        held,
        most_heights(shape, groups),
        sum(op.work.macs for op in ops),
        reloaded,
        max((program.block_bytes(ops[index]) for index in reloaded), default=0),
        together=alive_together(shape, groups, choice.again) if choice.again else (),
    )
    if len(work.steps) * choice.bands > MAX_CASCADE_STEPS:
        raise ValueError(f"more than {MAX_CASCADE_STEPS:,} steps")
    if choice.bands > 1:
        work = work_in_bands(program, ops, shape.inputs, shape.outputs, work, choice.bands)
    return Op(
        name=f"{ops[0].name}..{ops[-1].name}",
        kind=KIND,
        work=work,
        inputs=shape.inputs,
        outputs=shape.outputs,
        weights=tuple(weight for i, op in enumerate(ops) if i not in reloaded for weight in op.weights),
        dtype=ops[0].dtype,
        core=ops[0].core,
        place=ops[0].place,
        cascade=tuple(replace(op, overwrites=None, absorbs=()) for op in ops),
    )


def _refuse_single_turns(ops: Sequence[Op], reloaded: Sequence[int], groups: Groups, bands: int) -> None:
    """Raise ValueError where weights that are to be loaded again would be loaded once: such a cascade saves
    nothing that its ops on their own would not save, and a bound on cycles counts two loads."""
    order = [step.op for group in groups for step in group if step.op in reloaded]
    turns = Counter(op for op, _ in groupby(order * min(bands, 2)))
    for index in reloaded:
        if turns[index] < 2:
            raise ValueError(f"the weights of {ops[index].name!r} would be loaded only once")
