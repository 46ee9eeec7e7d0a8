"""Which axis of its output each axis of an op's operands follows, index by index or moved."""

from __future__ import annotations

from itertools import accumulate

from chipmodel.geometry.window import Reach
from chipmodel.model.attributes import (
    AlongAxis,
    Attributes,
    Interleaving,
    Margins,
    OverGroups,
    PixelBlocks,
    SliceRanges,
)
from chipmodel.model.program import Op
from chipmodel.model.work import Vector
from chipmodel.records import dataclass
from chipmodel.rewrites.op_shapes import SeenTensor, is_pointwise, kept_axes, reach_of

Seen = tuple[SeenTensor, ...]
BY_PIECES = ("expand", "gather", "resize", "tile")
"""Kinds that take less time piece by piece than cut along axes (measured)."""


@dataclass(frozen=True, slots=True)
class AxisRelation:
    """An axis of an operand follows ``axis`` of the output: see ``OperandAxis``. Of an axis in groups only
    the group counts: indices are followed from steps of ``outer`` on."""

    axis: int
    reach: Reach = Reach()
    apart: bool = False
    outer: int = 1
    cropped: bool = False
    """Whether the operand has more indices than the output, of which the last are not read."""

    @property
    def plain(self) -> bool:
        """Whether indices are the same, but for those of a repetition and those inside of a group."""
        return not (self.reach != Reach() or self.apart or self.cropped)


Relations = tuple[AxisRelation | None, ...]
"""For each axis of an operand; None: every part needs all of it."""


def relations(op: Op, work: Vector, inputs: Seen, outputs: Seen) -> tuple[Relations, ...] | None:
    """The relations of each operand to the first output; None for an op that is not known or ``BY_PIECES``.

    Several outputs are made at the same places, so that a relation to one is one to all.
    """
    out, along = outputs[0].shape, work.attributes
    if is_pointwise(op, inputs, outputs):
        return tuple(_broadcast(each.shape, out) for each in inputs)
    if op.gathers:
        return _looked_up(work, inputs, outputs)
    if not inputs or along is None or op.kind in BY_PIECES:
        return None
    if op.kind == "concat" and isinstance(along, AlongAxis):
        return _joined(along.axis, inputs)
    found = _moved(work, along, inputs[0].shape, out)
    if found is None or any(output.shape != out for output in outputs):
        return None
    others = (found if each.shape == inputs[0].shape else (None,) * len(each.shape) for each in inputs[1:])
    return (found, *others)


def _broadcast(shape: tuple[int, ...], out: tuple[int, ...]) -> Relations:
    """NumPy's rule: axes are aligned at the last one, and one of a single element is repeated."""
    missing = len(out) - len(shape)
    places = range(missing, len(out))
    return tuple(
        AxisRelation(a) if a >= 0 and size == out[a] else None for a, size in zip(places, shape, strict=True)
    )


def _looked_up(work: Vector, inputs: Seen, outputs: Seen) -> tuple[Relations, ...] | None:
    """Indices into a table of weights, along one axis of it."""
    along, out = work.attributes, outputs[0].shape
    if not isinstance(along, AlongAxis) or len(inputs) != 1 or len(outputs) != 1:
        return None
    shape = inputs[0].shape
    if out[along.axis : along.axis + len(shape)] != shape:
        return None
    return (tuple(AxisRelation(along.axis + place) for place in range(len(shape))),)


def _joined(axis: int, inputs: Seen) -> tuple[Relations, ...]:
    """Pieces one after another along ``axis``."""
    sizes = (each.shape[axis] for each in inputs)
    before = accumulate(sizes, initial=0)
    return tuple(
        tuple(
            AxisRelation(a, Reach(offset=-first), apart=True) if a == axis else AxisRelation(a)
            for a in range(len(each.shape))
        )
        for each, first in zip(inputs, before, strict=False)
    )


def _moved(
    work: Vector, along: Attributes, given: tuple[int, ...], made: tuple[int, ...]
) -> Relations | None:
    """Work along or over axes, and work that moves elements."""
    kept = kept_axes(work, given, made)
    if kept is None:
        return None
    follows: dict[int, AxisRelation] = {}
    for axis, source in enumerate(kept):
        if source is not None and given[source] == made[axis]:
            follows[source] = AxisRelation(axis)
    match along:
        case OverGroups(groups) if len(given) > 1 and given[1] % groups == 0:
            follows[1] = AxisRelation(1, outer=given[1] // groups)
        case PixelBlocks(size):
            follows |= _blocks(size, given, made)
        case Margins() | SliceRanges():
            moved = (axis for axis, source in enumerate(kept) if source is None)
            reaches = {axis: reach_of(work, axis, given[axis], made[axis]) for axis in moved}
            follows |= {
                axis: AxisRelation(axis, reach, cropped=given[axis] > made[axis])
                for axis, reach in reaches.items()
                if reach is not None
            }
        case Interleaving() | _:
            pass
    return tuple(follows.get(axis) for axis in range(len(given)))


def _blocks(size: int, given: tuple[int, ...], made: tuple[int, ...]) -> dict[int, AxisRelation]:
    """Rows and columns of pixels that become ``size`` times as many, or as few."""
    if made[2] > given[2]:
        return {axis: AxisRelation(axis, Reach(scale=size)) for axis in (2, 3)}
    return {axis: AxisRelation(axis, Reach(size, more=size - 1)) for axis in (2, 3)}
