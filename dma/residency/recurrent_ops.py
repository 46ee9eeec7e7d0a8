"""Long recurrent layers time step by time step: one direction after the other, and states from the sequence.

A layer of two directions needs the whole sequence, as the second begins at its end; each direction by itself
needs one time step at a time. States after the last step are no rows of the sequence, but lie in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod

from chipmodel.geometry.layout import Storage
from chipmodel.model.attributes import AlongAxis, Attributes, SliceRanges
from chipmodel.model.program import DTYPE_BITS, Op, Program, Tensor, Weight
from chipmodel.model.work import Recurrent, Vector
from chipmodel.rewrites.op_shapes import seen_inputs, seen_outputs
from chipmodel.rewrites.true_parts import true_op
from dma.residency.rewritten_ops import Rewritten, rewritten

NAMES = ("forward", "backward")
"""Names of the two directions, in ONNX's order."""


def one_direction(program: Program, op: Op, number: int) -> tuple[Op, tuple[Weight, ...]] | None:
    """Direction ``number`` of a recurrent ``op``, on the operands of both, with its weights: of each weight
    of ``op``, which lies direction by direction, its equal part. None where there is no equal part."""
    work = op.work
    assert isinstance(work, Recurrent)
    count, own = work.directions, list[Weight]()
    for weight in (program.weights[name] for name in op.weights):
        if weight.bytes % count or weight.elements % count:
            return None
        own.append(Weight(f"{weight.name}.{NAMES[number]}", weight.bytes // count, weight.elements // count))
    alone = replace(work, directions=1, backward=bool(number), solid=False)
    names = tuple(each.name for each in own)
    return replace(op, name=f"{op.name}.{NAMES[number]}", work=alone, weights=names), tuple(own)


DIRECTION_AXIS = 1
"""The axis of directions in a sequence ``(steps, directions, batch, hidden)``."""


def by_time_steps(program: Program, op: Op) -> Rewritten | None:
    """``op`` as layers of one direction each that make nothing but their sequence, and copies of what else it
    makes; None for other work, and where it is that already."""
    work = op.work
    if not isinstance(work, Recurrent) or op.sliced is not None or 0 in op.whole:
        return None
    sizes = [each.elements for each in seen_outputs(op, program.tensors)]
    state = work.directions * work.batch * work.hidden
    if set(sizes) - {state, work.steps * state} or (work.directions == 1 and sizes == [work.steps * state]):
        return None
    layers = _layers(program, op, work)
    if layers is None:
        return None
    made = _NewOps(program, op)
    whole = [name for name, size in zip(op.outputs, sizes, strict=True) if size == work.steps * state]
    given = whole[:1] if len(layers) == 1 else []
    sequences = [made.layer(alone, work, number, *given) for number, (alone, _) in enumerate(layers)]
    for name, size in zip(op.outputs, sizes, strict=True):
        if name not in given:
            made.join(
                name, sequences if size == work.steps * state else made.last(name, work, sequences), work
            )
    note = "one direction after the other" if work.directions > 1 else "time step by time step"
    if work.steps > 1 and state in sizes:
        note += ", with its last states taken from its sequence"
        note += ", of a cell state as many bytes" if op.kind == "lstm" and sizes.count(state) > 1 else ""
    weights = tuple(weight for _, own in layers for weight in own)
    return Rewritten(tuple(made.ops), tuple(made.tensors.values()), weights, note)


def with_time_steps(program: Program) -> Program | None:
    """Return ``program`` with the layers of one direction that make states after the last step time step by
    time step, as those run that do not fit; None where it has none."""
    layers = (op for op in program.ops() if isinstance(op.work, Recurrent) and op.work.directions == 1)
    changes = {op.name: by_time_steps(program, op) for op in layers}
    found = {name: change for name, change in changes.items() if change is not None}
    return rewritten(program, found) if found else None


def _layers(program: Program, op: Op, work: Recurrent) -> list[tuple[Op, tuple[Weight, ...]]] | None:
    """The layer of each direction, with the weights that are new; None where weights cannot be split."""
    if work.directions == 1:
        return [(replace(op, name=f"{op.name}.steps", work=replace(work, solid=False)), ())]
    found = [one_direction(program, op, number) for number in range(work.directions)]
    known = [each for each in found if each is not None]
    return known if len(known) == len(found) else None


@dataclass
class _NewOps:
    """The ops made so far in place of ``op``, with the tensors that they need."""

    program: Program
    op: Op
    ops: list[Op] = field(default_factory=list[Op])
    tensors: dict[str, Tensor] = field(default_factory=dict[str, Tensor])

    def layer(self, alone: Op, work: Recurrent, number: int, own: str = "") -> str:
        """Add the layer ``alone``, direction ``number``; the sequence that it makes, if known ``own``."""
        seen = seen_inputs(self.op, self.program.tensors)
        names, shapes = [each.name for each in seen], [each.shape for each in seen]
        state = work.batch * work.hidden
        for index, each in enumerate(seen):
            if index and work.directions > 1 and each.elements == work.directions * state:
                shape = (1, work.directions, work.batch, work.hidden)
                part = self._tensor(f"{alone.name}.input{index}", (1, 1, work.batch, work.hidden))
                self._slice(each.name, shape, part, (0, number, 0, 0))
                names[index], shapes[index] = part.name, part.shape
        shape = (work.steps, 1, work.batch, work.hidden)
        sequence = own or self._tensor(f"{alone.name}.sequence", shape).name
        made = replace(alone, inputs=tuple(names), outputs=(sequence,), views=(*shapes, shape))
        self._add(replace(made, cycles=None, overwrites=None, absorbs=()))
        return sequence

    def last(self, name: str, work: Recurrent, sequences: Sequence[str]) -> list[str]:
        """Add copies of the states after the last step: the second direction's is the first of all."""
        found: list[str] = []
        for number, sequence in enumerate(sequences):
            part = self._tensor(f"{name}.{NAMES[number]}", (1, 1, work.batch, work.hidden))
            step = 0 if number else work.steps - 1
            self._slice(sequence, (work.steps, 1, work.batch, work.hidden), part, (step, 0, 0, 0))
            found.append(part.name)
        return found

    def join(self, name: str, parts: Sequence[str], work: Recurrent) -> None:
        """Add what makes the output ``name`` of one part for each direction."""
        steps = self._known[parts[0]].shape[0]
        shape = (steps, len(parts), work.batch, work.hidden)
        views = (*((steps, 1, work.batch, work.hidden),) * len(parts), shape)
        own = f"{self.op.name}.{name}" if len(self.op.outputs) > 1 else self.op.name
        self._vector("concat", own, parts, name, views, AlongAxis(DIRECTION_AXIS, len(parts)))

    def _slice(self, source: str, shape: tuple[int, ...], part: Tensor, starts: tuple[int, ...]) -> None:
        ranges = SliceRanges(starts, (1,) * len(starts))
        self._vector("slice", f"{part.name}.copy", [source], part.name, (shape, part.shape), ranges)

    def _vector(
        self,
        kind: str,
        own: str,
        inputs: Sequence[str],
        output: str,
        views: tuple[tuple[int, ...], ...],
        attributes: Attributes,
    ) -> None:
        size = self._known[output].bytes
        work = Vector(prod(views[-1]), size, size, views[-1][0], attributes=attributes)
        made = Op(own, kind, work, tuple(inputs), (output,), dtype=self.op.dtype, core=self.op.core)
        self._add(replace(made, place=self.op.place, views=views))

    def _add(self, op: Op) -> None:
        self.ops.append(true_op(op, self._known))

    def _tensor(self, name: str, shape: tuple[int, ...]) -> Tensor:
        """Remember a tensor of the type of the first output, in the order in which layers write."""
        dtype = self.program.tensors[self.op.outputs[0]].dtype
        size = prod(shape) * DTYPE_BITS[dtype] // 8
        self.tensors[name] = Tensor(name, size, shape, dtype, Storage(shape, "matrix"))
        return self.tensors[name]

    @property
    def _known(self) -> dict[str, Tensor]:
        return {**self.program.tensors, **self.tensors}
