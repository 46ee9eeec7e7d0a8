"""Into how many rows vector work can be cut so that its parts are true."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from math import gcd

from chipmodel.geometry.layout import IMAGE_AXES
from chipmodel.geometry.window import MovedRows
from chipmodel.model.attributes import AlongAxis, PixelBlocks
from chipmodel.model.program import Op
from chipmodel.model.work import Vector
from chipmodel.rewrites.op_shapes import SeenTensor, is_pointwise, kept_axes, reach_of

Seen = tuple[SeenTensor, ...]


def cut_truly(op: Op, work: Vector, inputs: Seen, outputs: Seen) -> Vector:
    """``work`` of ``op`` with rows and broadcast inputs by which each part reads what it needs."""
    if op.allocates or not outputs:
        return work
    if op.sliced is not None and op.kind in ("slice", "collect"):
        return _divided(work, inputs, outputs)
    if is_pointwise(op, inputs, outputs):
        whole = (i for i, each in enumerate(inputs) if not _same_places(each, outputs[0]))
        made = outputs[0]
        lines = len(made.shape) == IMAGE_AXES and not _image_rows(made)
        rows = made.stored.grid[0] if lines else work.rows
        return _divided(replace(work, rows=rows, broadcast=_joined(work.broadcast, whole)), inputs, outputs)
    if op.gathers:
        return _divided(_gathering(work, inputs, outputs), inputs, outputs)
    maps = [kept_axes(work, inputs[0].shape, out.shape) for out in outputs] if inputs else []
    if work.attributes is None or not inputs:
        return _divided(work, inputs, outputs)
    if any(each is None for each in maps):
        return replace(work, rows=1)
    return _along_axes(op, work, inputs, outputs)


def _same_places(a: SeenTensor, b: SeenTensor) -> bool:
    """Whether elements at the same place of two equal shapes lie at the same place in memory."""
    return a.elements == b.elements and (
        a.stored == b.stored or (a.order is not None and _moved(a.shape, a.order) == _moved(b.shape, b.order))
    )


def _moved(shape: tuple[int, ...], order: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """The sizes greater than 1, and their axes from the last, in the order of memory."""
    if order is None:
        return None
    return tuple(each for a in order if shape[a] > 1 for each in (a - len(shape), shape[a]))


def _gathering(work: Vector, inputs: Seen, outputs: Seen) -> Vector:
    """Rows of a table: one for each index, where indices and rows lie in their own order."""
    plain = all(each.stored.plain for each in (*inputs[:1], *outputs))
    along = work.attributes
    if isinstance(along, AlongAxis) and (along.axis or not plain):
        return replace(work, rows=1)
    return work


def _along_axes(op: Op, work: Vector, inputs: Seen, outputs: Seen) -> Vector:
    """Rows by the axes that lie outermost in memory and that the op keeps; the next axis may be moved."""
    alike = [i for i, each in enumerate(inputs) if not i or each.shape == outputs[0].shape]
    alike = list(range(len(inputs))) if op.kind == "concat" else alike
    work = replace(work, broadcast=_joined(work.broadcast, set(range(len(inputs))) - set(alike)))
    found = [[_prefix(work, inputs[i], out) for i in alike] for out in outputs]
    rows = min((max(size for size, _ in each) for each in found), default=1)
    reach = found[0][0][1] if len(outputs) == 1 else None
    if reach is not None and alike == [0]:
        tried = replace(work, rows=reach.images * reach.out_rows, reach=reach)
        if _divides(tried, inputs, outputs):
            return tried
    whole = (i for place, i in enumerate(alike) if any(each[place][0] % rows for each in found))
    work = replace(work, broadcast=_joined(work.broadcast, whole))
    coarse = gcd(rows, _image_rows(outputs[0]) or rows)
    return _divided(replace(work, rows=work.rows if rows % work.rows == 0 else coarse), inputs, outputs)


def _image_rows(out: SeenTensor) -> int:
    """Rows of an image by N and H; 0 for a tensor of another order."""
    images = len(out.shape) == 4 and (0, 2, 1, 3) in out.orders
    return out.shape[0] * out.shape[2] if images else 0


def _prefix(work: Vector, given: SeenTensor, made: SeenTensor) -> tuple[int, MovedRows | None]:
    """The number of rows that the outermost axes in memory make, and how the axis after them is moved."""
    found = (_prefix_in(work, given, made, *orders) for orders in product(given.orders, made.orders))
    return max(found, key=lambda each: each[0] * (each[1].out_rows if each[1] else 1), default=(1, None))


def _prefix_in(
    work: Vector, given: SeenTensor, made: SeenTensor, before: tuple[int, ...], after: tuple[int, ...]
) -> tuple[int, MovedRows | None]:
    """The same as ``_prefix``, with the axes in memory in the orders ``before`` and ``after`` the op."""
    kept = kept_axes(work, given.shape, made.shape)
    if kept is None:
        return 1, None
    sources = [a for a in before if _counts(a, kept, given.shape, made.shape)]
    results = [a for a in after if _counts(a, kept, made.shape, given.shape)]
    rows = 1
    for source, axis in zip(sources, results, strict=False):
        if kept[axis] is None and source == axis and len(given.shape) == len(made.shape):
            return _moved_axis(work, axis, rows, given, made)
        if kept[axis] != source or given.shape[source] != made.shape[axis]:
            break
        rows *= made.shape[axis]
    return rows, None


def _moved_axis(
    work: Vector, axis: int, rows: int, given: SeenTensor, made: SeenTensor
) -> tuple[int, MovedRows | None]:
    """The same as ``_prefix``, where ``rows`` rows lie outside of an axis that the op does not keep."""
    if isinstance(work.attributes, PixelBlocks) and axis == 2:
        return rows * min(given.shape[axis], made.shape[axis]), None
    if _image_rows(made) and rows * made.shape[axis] > _image_rows(made):
        return rows, None
    sizes = given.shape[axis], made.shape[axis]
    reach = reach_of(work, axis, *sizes)
    return rows, MovedRows(*sizes, rows, reach) if reach else None


def _counts(axis: int, kept: tuple[int | None, ...], own: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether an axis has a place in memory: one of a single element lies anywhere. Where axes keep their
    numbers, one that has several elements only before or only after the op counts in both."""
    if own[axis] > 1:
        return True
    still = len(own) == len(other) and all(each in (None, place) for place, each in enumerate(kept))
    return still and other[axis] > 1


def _divided(work: Vector, inputs: Seen, outputs: Seen) -> Vector:
    """``work`` with the most rows, at most as many, that divide the bytes of all that is cut."""
    cut = [each.bytes for i, each in enumerate(inputs) if i not in work.broadcast and each.bytes]
    return replace(work, rows=max(1, gcd(work.rows, *cut, *(output.bytes for output in outputs))))


def _divides(work: Vector, inputs: Seen, outputs: Seen) -> bool:
    reach = work.reach
    total = work.rows if reach is None else reach.images * reach.in_rows
    moved = (each for i, each in enumerate(inputs) if i not in work.broadcast)
    return not any(each.bytes % total for each in moved) and not any(o.bytes % work.rows for o in outputs)


def _joined(numbers: Sequence[int], more: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted({*numbers, *more}))
