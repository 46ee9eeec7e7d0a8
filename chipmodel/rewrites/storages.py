"""In which order elements of each tensor lie in memory: as the op that makes, or first reads it, needs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from math import prod

from chipmodel.geometry.layout import LAYOUTS, Layout, Storage, usual_layout
from chipmodel.model.attributes import AxisOrder
from chipmodel.model.program import Op, Program, Tensor
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, Vector
from chipmodel.rewrites.op_shapes import POINTWISE

_MOVING = "concat crelu depth_to_space pad resize slice space_to_depth split"
_ALONG_AXES = "group_norm hardmax instance_norm layer_norm log_softmax lp_norm lrn rms_norm softmax"
LIKE_INPUT = POINTWISE | frozenset(f"{_MOVING} {_ALONG_AXES}".split())
"""Kinds whose outputs lie in memory as their first input does, where it has as many axes."""


def storages(program: Program) -> dict[str, Storage]:
    """The storage of every tensor, by name.

    Convolutions and pooling make and take images, products and recurrent layers matrices. Other outputs lie
    as the op's input does, or else as their first reader wants them, or else as is usual.
    """
    wishes = _wishes(program)
    found = {name: _wished(program.tensors[name], wishes) for name in program.inputs}
    for op in program.ops():
        for index, name in enumerate(op.outputs):
            if name not in found:
                found[name] = _made(op, index, program.tensors, found, wishes)
    for name, tensor in program.tensors.items():
        found.setdefault(name, _wished(tensor, wishes))
    return found


def _wishes(program: Program) -> dict[str, Layout]:
    """The layout that the first reader of a tensor wants, if it wants one."""
    wishes: dict[str, Layout] = {}
    for op in reversed(list(program.ops())):
        for index, name in enumerate(op.inputs):
            if (wish := _wish(op, index, program.tensors[name], wishes)) is not None:
                wishes[name] = wish
    return wishes


def _wish(op: Op, index: int, tensor: Tensor, wishes: Mapping[str, Layout]) -> Layout | None:
    view = op.views[index] if op.views else tensor.shape
    match op.work:
        case Conv() | Pool():
            return layout_as(tensor.shape, Storage(view, "image"))
        case Matmul() | Recurrent() if not _by_lines(op):
            return "matrix"
        case _:
            follows = (
                (op.kind in LIKE_INPUT or _by_lines(op))
                and view == tensor.shape
                and op.outputs
                and op.sliced is None
            )
            return wishes.get(op.outputs[0]) if follows else None


def layout_as(shape: tuple[int, ...], stored: Storage) -> Layout | None:
    """The layout that gives elements of ``shape`` the order of ``stored``, as where one shape only splits or
    joins the channels of the other; None where neither does."""
    if stored.shape == shape:
        return stored.layout
    layouts = (usual_layout(shape), *LAYOUTS)
    return next((layout for layout in layouts if Storage(shape, layout).same_order(stored)), None)


def _wished(tensor: Tensor, wishes: Mapping[str, Layout]) -> Storage:
    """The storage of a tensor that lies as its first reader wants it."""
    if not tensor.shape:
        return tensor.stored
    return Storage(tensor.shape, wishes.get(tensor.name, usual_layout(tensor.shape)))


def _made(
    op: Op,
    index: int,
    tensors: Mapping[str, Tensor],
    found: Mapping[str, Storage],
    wishes: Mapping[str, Layout],
) -> Storage:
    """The storage of output number ``index``."""
    tensor = tensors[op.outputs[index]]
    if not tensor.shape or op.sliced is not None:
        return _wished(tensor, wishes)
    match op.work:
        case Conv() | Pool():
            return Storage(_seen_shape(op, index, tensor), "image")
        case Matmul() | Recurrent():
            return _of_lines(op, index, tensor, found) or Storage(_seen_shape(op, index, tensor), "matrix")
        case _:
            if tensor.name in wishes:
                return _like_input(op, index, tensor, found) or _wished(tensor, wishes)
            return (
                _like_input(op, index, tensor, found)
                or _transposed(op, tensor, found)
                or _wished(tensor, wishes)
            )


def _transposed(op: Op, tensor: Tensor, found: Mapping[str, Storage]) -> Storage | None:
    """For a transpose the storage of whose axes the outermost ones lie longest as they lay before."""
    work = op.work
    if not isinstance(work, Vector) or not isinstance(work.attributes, AxisOrder):
        return None
    before = Storage(op.views[0], layout_as(op.views[0], found[op.inputs[0]]) or "matrix")
    axes = work.attributes.order

    def kept(layout: Layout) -> int:
        after = [axes[a] for a in Storage(tensor.shape, layout).order]
        return sum(
            1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before.order, after, strict=True))
        )

    return Storage(tensor.shape, max(("matrix", "image"), key=kept))


def _of_lines(op: Op, index: int, tensor: Tensor, found: Mapping[str, Storage]) -> Storage | None:
    """The storage of a product of the lines of an image, which lie as they lay before; None for another."""
    if not _by_lines(op) or not op.views:
        return None
    before, made = found[op.inputs[0]], _seen_shape(op, index, tensor)
    whole = before.shape == op.views[0] and len(made) == len(before.shape)
    return Storage(made, before.layout) if whole and before.order[-1] == len(made) - 1 else None


def _by_lines(op: Op) -> bool:
    """Whether an op multiplies each line of its only input by the same weights, so their order is free."""
    work = op.work
    return op.kind == "dense" and isinstance(work, Matmul) and len(op.inputs) == 1 and work.shared_right


def _seen_shape(op: Op, index: int, tensor: Tensor) -> tuple[int, ...]:
    return op.views[len(op.inputs) + index] if op.views else tensor.shape


def _like_input(op: Op, index: int, tensor: Tensor, found: Mapping[str, Storage]) -> Storage | None:
    """The storage that the first input passes on to an output; None for an op that passes on none."""
    if op.kind not in LIKE_INPUT or not op.inputs or not op.views:
        return None
    made = _seen_shape(op, index, tensor)
    for number, name in enumerate(op.inputs):
        view, stored = op.views[number], found.get(name)
        if stored is None or (op.kind in POINTWISE and prod(view) < prod(made)):
            continue
        if op.kind in POINTWISE and view == made and prod(stored.shape) == prod(made):
            return stored
        layout = layout_as(view, stored) if len(view) == len(made) else None
        if layout is not None:
            return Storage(made, layout)
    return None
