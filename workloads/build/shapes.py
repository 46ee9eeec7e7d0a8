"""Shapes of tensors, sizes in bytes, and sliding windows, as the builder infers them.

Shapes are ONNX's: ``(N, C, H, W)`` for images, ``(N, C, L)`` for sequences of channels, ``(..., features)``
for matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Literal

from chipmodel.errors import Place, Unshaped
from chipmodel.geometry.window import Window
from chipmodel.model.program import DTYPE_BITS
from chipmodel.model.work import Matmul
from chipmodel.records import dataclass

Pads = tuple[int, int, int, int]
"""top, left, bottom, right, in elements."""
Padding = int | Literal["same", "valid"] | Pads
"""``same`` is TensorFlow's rule: output = input / stride, rounded up; ``valid`` is none."""
Pair = int | tuple[int, int]
"""One number for both axes, or (rows, columns)."""


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor under a shape: views of one tensor share ``name`` and differ in ``shape``."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        return tensor_bytes(self.shape, self.dtype)


def tensor_bytes(shape: Sequence[int], dtype: str) -> int:
    """Bytes of a dense tensor, rounded up to whole bytes for 4-bit types."""
    return -(-prod(shape) * DTYPE_BITS[dtype] // 8)


def zero_channels(kernel: bytes, channels: int) -> int:
    """How many channels, the first axis of a kernel, have only zeros as weights, where others have not."""
    size = len(kernel) // max(1, channels)
    zeros = sum(kernel[i * size : (i + 1) * size].count(0) == size for i in range(channels))
    return zeros if zeros < channels else 0


def point_rows(shape: Sequence[int]) -> int:
    """Rows of element-wise work: of an image (N, C, H, W) those of N and H, else all axes but the last."""
    return shape[0] * shape[2] if len(shape) == 4 else prod(shape[:-1])


def rows_across(shape: Sequence[int], axis: int) -> int:
    """The number of independent rows of work along ``axis``: sizes of all other axes but the last."""
    return prod(s for i, s in enumerate(shape[:-1]) if i != axis)


def bias_dtype(dtype: str) -> str:
    """The element type of biases: int32, as accumulators have, in integer networks; else ``dtype`` itself."""
    return "int32" if dtype.startswith(("int", "uint")) else dtype


def broadcast_shape(
    name: str, shapes: Sequence[tuple[int, ...]], place: Place | None = None
) -> tuple[int, ...]:
    """The common shape by NumPy's rule: aligned at the last axis, sizes equal or 1. Raises BadInput."""
    result: list[int] = []
    for axis in range(max(len(s) for s in shapes), 0, -1):
        sizes = {s[-axis] for s in shapes if len(s) >= axis} - {1}
        if len(sizes) > 1:
            what = f"{name!r}: cannot broadcast {' with '.join(str(list(s)) for s in shapes)}"
            raise Unshaped(what, where=place, hint="sizes, aligned at the last axis, must be equal or 1")
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


def matmul_work(
    name: str, a: tuple[int, ...], b: tuple[int, ...], place: Place | None = None
) -> tuple[tuple[int, ...], Matmul]:
    """The output shape and work of ``a @ b`` by NumPy's rules. Raises BadInput."""
    left = a if len(a) > 1 else (1, *a)
    right = b if len(b) > 1 else (*b, 1)
    if left[-1] != right[-2]:
        what = f"{name!r}: inner sizes {left[-1]} and {right[-2]} of {list(a)} and {list(b)} differ"
        hint = "the last axis of the left must be as long as the last but one of the right"
        raise Unshaped(what, where=place, hint=hint)
    batched = max(len(left), len(right)) > 2
    lead = broadcast_shape(name, [left[:-2], right[:-2]], place) if batched else ()
    shape = (*lead, *(left[-2:-1] if len(a) > 1 else ()), *(right[-1:] if len(b) > 1 else ()))
    shared = prod(right[:-2]) == 1
    return shape or (1,), Matmul(left[-2], left[-1], right[-1], max(1, prod(lead)), shared)


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """A sliding window as a layer describes it, before the size of its output is known."""

    kernel: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    pad: Padding = 0
    dilation: tuple[int, int] = (1, 1)
    output_pad: tuple[int, int] = (0, 0)
    transposed: bool = False
    ceil: bool = False
    """Whether the output's size is rounded up instead of down."""


def as_pair(value: Pair, one_d: bool) -> tuple[int, int]:
    """(rows, columns) of a kernel, stride or dilation that may be one number."""
    if isinstance(value, int):
        return (value, 1) if one_d else (value, value)
    return value


def as_image(x: Value, place: Place | None) -> tuple[int, int, int, int]:
    """(N, C, H, W); a sequence's length becomes H, so that it can be cut in rows."""
    match x.shape:
        case (n, c, h, w):
            return n, c, h, w
        case (n, c, length):
            return n, c, length, 1
        case _:
            what = f"{x.name!r} has shape {list(x.shape)}"
            raise Unshaped(what, where=place, hint="convolution and pooling take [N, C, H, W] or [N, C, L]")


def window_over(name: str, x: Value, spec: WindowSpec, place: Place | None) -> Window:
    """The window ``spec`` over ``x``, with padding and output size. Raises BadInput where it does not fit."""
    image = as_image(x, place)
    pads = _pads(image, spec, len(x.shape) == 3)
    out_h, out_w = (_output_size(image, spec, pads, axis) for axis in (0, 1))
    if min(out_h, out_w) < 1:
        kernel = f"{spec.kernel[0]}x{spec.kernel[1]}"
        what = f"{name!r}: a {kernel} window does not fit its {image[2]}x{image[3]} input"
        raise Unshaped(what, where=place, hint="check kernel, stride, padding and the input's shape")
    sizes = (image[2], image[3], out_h, out_w)
    return Window(*sizes, *spec.kernel, *spec.stride, *pads, *spec.dilation, transposed=spec.transposed)


def _pads(image: tuple[int, int, int, int], spec: WindowSpec, one_d: bool) -> Pads:
    pad = spec.pad
    if pad == "valid":
        return 0, 0, 0, 0
    if isinstance(pad, int):
        return (pad, 0, pad, 0) if one_d else (pad, pad, pad, pad)
    if pad != "same":
        return pad
    # TensorFlow's rule: out = ceil(in / stride) (in * stride transposed), the odd one at the end.
    totals: list[int] = []
    for size, k, s, d in zip(image[2:], spec.kernel, spec.stride, spec.dilation, strict=True):
        reach = d * (k - 1) + 1
        total = reach - s if spec.transposed else (-(-size // s) - 1) * s + reach - size
        totals.append(max(0, total))
    top, left = (t // 2 for t in totals)
    return top, left, totals[0] - top, totals[1] - left


def _output_size(image: tuple[int, int, int, int], spec: WindowSpec, pads: Pads, axis: int) -> int:
    size, stride = image[2 + axis], spec.stride[axis]
    total = pads[axis] + pads[axis + 2]
    reach = spec.dilation[axis] * (spec.kernel[axis] - 1) + 1
    if spec.transposed:
        return (size - 1) * stride - total + reach + spec.output_pad[axis]
    span = size + total - reach
    out = (-(-span // stride) if spec.ceil else span // stride) + 1
    # A window that ceil adds must start inside the image or its leading padding (ONNX, PyTorch).
    return out - 1 if spec.ceil and (out - 1) * stride >= size + pads[axis] else out
