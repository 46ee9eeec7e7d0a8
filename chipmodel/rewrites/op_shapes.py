"""How an op sees its operands: shapes, the order of elements in memory, and what it does to which axis."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from chipmodel.geometry.layout import LAYOUTS, Storage
from chipmodel.geometry.window import Reach
from chipmodel.model.attributes import (
    AlongAxis,
    AxisOrder,
    ChannelWindow,
    Interleaving,
    Margins,
    OverAxes,
    OverGroups,
    PixelBlocks,
    Scaling,
    SliceRanges,
)
from chipmodel.model.program import DTYPE_BITS, Op, Tensor
from chipmodel.model.work import Vector
from chipmodel.records import dataclass
from chipmodel.rewrites.in_place import ELEMENTWISE

POINTWISE = ELEMENTWISE | {"bias_add", "bias_gelu", "cast", "dropout", "fast_gelu", "quick_gelu"}
"""Kinds whose output element reads only its operands' elements at the same place, after broadcasting."""


@dataclass(frozen=True, slots=True)
class SeenTensor:
    """A tensor of an op: the shape under which the op sees it, and how its elements lie in memory. Of a
    sliced tensor it is one slice."""

    name: str
    shape: tuple[int, ...]
    stored: Storage
    dtype: str
    bytes: int

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def orders(self) -> tuple[tuple[int, ...], ...]:
        """The axes of ``shape`` in the order in which they lie in memory. Several orders where axes of one
        element lie anywhere, none where a view mixes axes."""
        wanted = [Storage(self.shape, layout) for layout in LAYOUTS]
        return tuple(dict.fromkeys(each.order for each in wanted if self.stored.same_order(each)))

    @property
    def order(self) -> tuple[int, ...] | None:
        """One of ``orders``; None where there is none."""
        return self.orders[-1] if self.orders else None


def seen(op: Op, tensors: Mapping[str, Tensor], index: int) -> SeenTensor:
    """Input number ``index`` of ``op``; outputs are numbered after the inputs."""
    name = (*op.inputs, *op.outputs)[index]
    tensor = tensors[name]
    share = op.slices if name == op.sliced else 1
    stored = tensor.stored
    shape = op.views[index] if op.views else tensor.shape if share == 1 else ()
    if not shape and tensor.bytes * 8 // share != DTYPE_BITS[tensor.dtype]:
        shape = (tensor.bytes * 8 // DTYPE_BITS[tensor.dtype] // share,)
    if prod(stored.shape) != prod(shape):
        stored = Storage(shape, stored.layout if len(stored.shape) == len(shape) else "matrix")
    return SeenTensor(name, shape, stored, tensor.dtype, tensor.bytes // share)


def seen_inputs(op: Op, tensors: Mapping[str, Tensor]) -> tuple[SeenTensor, ...]:
    """The inputs of ``op``, in order."""
    return tuple(seen(op, tensors, index) for index in range(len(op.inputs)))


def seen_outputs(op: Op, tensors: Mapping[str, Tensor]) -> tuple[SeenTensor, ...]:
    """The outputs of ``op``, in order."""
    first = len(op.inputs)
    return tuple(seen(op, tensors, first + index) for index in range(len(op.outputs)))


def is_pointwise(op: Op, inputs: tuple[SeenTensor, ...], outputs: tuple[SeenTensor, ...]) -> bool:
    """Whether each element of the only output depends on the elements at its place alone."""
    if op.kind not in POINTWISE or len(outputs) != 1 or op.gathers:
        return False
    return all(broadcasts(each.shape, outputs[0].shape) for each in inputs)


def broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether NumPy broadcasts ``shape`` to ``to``."""
    if len(shape) > len(to):
        return prod(shape[: len(shape) - len(to)]) == 1 and broadcasts(shape[len(shape) - len(to) :], to)
    return all(a in (1, b) for a, b in zip(shape[::-1], to[::-1], strict=False))


def same_lines(a: SeenTensor, b: SeenTensor) -> bool:
    """Whether two tensors that differ in their last axis have its lines in the same order, in one piece."""
    whole = a.stored.shape == a.shape and b.stored.shape == b.shape and len(a.shape) > 0
    return whole and a.stored.order == b.stored.order and a.stored.order[-1] == len(a.shape) - 1


def kept_axes(work: Vector, given: tuple[int, ...], made: tuple[int, ...]) -> tuple[int | None, ...] | None:
    """For each axis of the output ``made`` the axis of the input ``given`` that it follows index by index, or
    None where it follows none; None where it is not known what the op does."""
    same = _same_sizes(given, made)
    match work.attributes:
        case AlongAxis(axis):
            return _without(given, made, (axis,))
        case OverAxes(axes):
            return _without(given, made, axes)
        case AxisOrder(order) if len(order) == len(given) == len(made):
            return order
        case OverGroups() if same:
            return 0, *(None,) * (len(made) - 1)
        case PixelBlocks() if same:
            return 0, *(None,) * (len(made) - 1)
        case Interleaving() | ChannelWindow() if same:
            return tuple(None if axis == 1 else axis for axis in range(len(made)))
        case Margins(before) if same and len(before) == len(given):
            return tuple(None if before[a] or given[a] != made[a] else a for a in range(len(made)))
        case SliceRanges(starts, steps) if same and len(starts) == len(given):
            moved = [starts[a] or steps[a] != 1 or given[a] != made[a] for a in range(len(made))]
            return tuple(None if each else a for a, each in enumerate(moved))
        case Scaling() if same:
            return tuple(a if given[a] == made[a] else None for a in range(len(made)))
        case _:
            return None


def reach_of(work: Vector, axis: int, given: int, made: int) -> Reach | None:
    """Which indices of an input axis of ``given`` elements those of the output's need, if the op moves
    them."""
    match work.attributes:
        case Margins(before):
            return Reach(offset=-before[axis])
        case SliceRanges(starts, steps) if steps[axis] > 0:
            return Reach(steps[axis], starts[axis])
        case Scaling() as scaling if scaling.corners != "other":
            return _resized(scaling, given, made)
        case _:
            return None


def _resized(scaling: Scaling, given: int, made: int) -> Reach:
    exact = {"half-pixel": scaling.rounded and made % given == 0, "asymmetric": not scaling.rounded}
    if scaling.mode == "nearest" and exact.get(scaling.corners):
        return Reach(given, 0, made)
    # Of the nearest input either of the two beside the place; centres lie at (y + 1/2) * given / made - 1/2.
    step, offset, scale = {
        "half-pixel": (2 * given, given - made, 2 * made),
        "align-corners": (given - 1, 0, max(1, made - 1)),
        "asymmetric": (given, 0, made),
    }[scaling.corners]
    before, more = (1, 3) if scaling.mode == "cubic" else (0, 1)
    return Reach(step, offset - before * scale, scale, more)


def _same_sizes(given: tuple[int, ...], made: tuple[int, ...]) -> bool:
    return len(given) == len(made)


def _without(
    given: tuple[int, ...], made: tuple[int, ...], axes: tuple[int, ...]
) -> tuple[int | None, ...] | None:
    """Output axes of work over ``axes``, which stay or are left out."""
    if len(given) == len(made):
        return tuple(None if axis in axes else axis for axis in range(len(made)))
    left = tuple(axis for axis in range(len(given)) if axis not in axes)
    return left if len(left) == len(made) else (None,) * len(made) if prod(made) == 1 else None
