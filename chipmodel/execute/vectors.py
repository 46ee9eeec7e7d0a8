"""Vector work that is not element-wise: computed as a whole, of which a part is used."""

from __future__ import annotations

import numpy as np

from chipmodel.execute.byte_arrays import Bytes
from chipmodel.execute.concat import joined
from chipmodel.execute.elements import is_float
from chipmodel.execute.moving import moved
from chipmodel.execute.over_axes import over_axes
from chipmodel.execute.plain_axes import plainly_over_axes
from chipmodel.execute.pointwise import pointwise
from chipmodel.execute.request import PartRequest, to_memory
from chipmodel.execute.tables import looked_up
from chipmodel.model.work import Vector


def vector(part: PartRequest, work: Vector) -> tuple[Bytes, ...] | None:
    """The outputs of vector work; None for work that is not known."""
    op = part.op
    if op.sliced is not None and op.kind in ("slice", "collect"):
        return (part.data[0].copy(),) if len(part.data[0]) == part.outputs[0].bytes else None
    whole = joined(op, part.program, part.data)
    if whole is not None:
        return (whole,)
    if op.gathers:
        return looked_up(part, work)
    if not part.inputs or not all(each.elements and each.bytes for each in (*part.inputs, *part.outputs)):
        return None
    found = pointwise(part)
    if found is not None:
        return found
    return _whole(part, work)


def _whole(part: PartRequest, work: Vector) -> tuple[Bytes, ...] | None:
    shapes = [each.shape for each in part.outputs]
    dtype = part.inputs[0].dtype
    given = [part.numbers(index) for index in range(len(part.inputs))]
    made = None
    if not part.op.weights:
        made = moved(part.op.kind, work, given, shapes, dtype)
    if made is None and len(shapes) == 1 and all(_spreads(x.shape, given[0].shape) for x in given):
        own = None
        if part.plain and is_float(dtype):
            own = plainly_over_axes(part, work, given)
        if own is None:
            own = over_axes(part.program, part.op, work, given, part.block, shapes[0], dtype)
        made = None if own is None else [own]
    if made is None or [each.shape for each in made] != shapes:
        return None
    return tuple(to_memory(out, each) for out, each in zip(part.outputs, made, strict=True))


def _spreads(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether NumPy broadcasts ``shape`` to ``to``."""
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False
