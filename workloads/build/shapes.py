"""Shapes, sizes and windows: what the builder infers.

Shapes are ONNX's: ``(N, C, H, W)`` for images, ``(N, C, L)`` for sequences of channels, ``(..., features)``
for matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

from chipmodel.errors import BadInput, Place
from chipmodel.model.program import DTYPE_BITS
from chipmodel.model.work import Matmul, Window

Pads = tuple[int, int, int, int]
"""top, left, bottom, right."""
Padding = int | Literal["same", "valid"] | Pads


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor seen through a shape: views share ``name`` and differ in ``shape``."""

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


def bias_dtype(dtype: str) -> str:
    """Integer networks accumulate, and so add their bias, in int32; float ones in their own type."""
    return "int32" if dtype.startswith(("int", "uint")) else dtype


def broadcast_shape(
    name: str, shapes: Sequence[tuple[int, ...]], place: Place | None = None
) -> tuple[int, ...]:
    """NumPy's rule: aligned at the last axis, sizes equal or 1."""
    result: list[int] = []
    for axis in range(max(len(s) for s in shapes), 0, -1):
        sizes = {s[-axis] for s in shapes if len(s) >= axis} - {1}
        if len(sizes) > 1:
            raise BadInput(
                f"{name!r}: cannot broadcast {' with '.join(str(list(s)) for s in shapes)}",
                where=place,
                hint="sizes, aligned at the last axis, must be equal or 1",
            )
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


def matmul_work(
    name: str, a: tuple[int, ...], b: tuple[int, ...], place: Place | None = None
) -> tuple[tuple[int, ...], Matmul]:
    """The output shape and work of ``a @ b`` by NumPy's rules."""
    left = a if len(a) > 1 else (1, *a)
    right = b if len(b) > 1 else (*b, 1)
    if left[-1] != right[-2]:
        raise BadInput(
            f"{name!r}: inner sizes {left[-1]} and {right[-2]} of {list(a)} and {list(b)} differ",
            where=place,
            hint="the last axis of the left must be as long as the last but one of the right",
        )
    batched = max(len(left), len(right)) > 2
    lead = broadcast_shape(name, [left[:-2], right[:-2]], place) if batched else ()
    shape = (*lead, *(left[-2:-1] if len(a) > 1 else ()), *(right[-1:] if len(b) > 1 else ()))
    shared = prod(right[:-2]) == 1
    return shape or (1,), Matmul(left[-2], left[-1], right[-1], max(1, prod(lead)), shared)


def as_pair(value: int | tuple[int, int], one_d: bool) -> tuple[int, int]:
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
            raise BadInput(
                f"{x.name!r} has shape {list(x.shape)}",
                where=place,
                hint="convolution and pooling take [N, C, H, W] or [N, C, L]",
            )


def pads_of(
    pad: Padding,
    image: tuple[int, int, int, int],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int],
    one_d: bool,
    transposed: bool,
) -> Pads:
    """The padding of a window over ``image`` (N, C, H, W), in elements."""
    if pad == "valid":
        return 0, 0, 0, 0
    if isinstance(pad, int):
        return (pad, 0, pad, 0) if one_d else (pad, pad, pad, pad)
    if pad != "same":
        return pad
    # TensorFlow's rule: out = ceil(in / stride) (in * stride transposed), the odd one at the end.
    totals: list[int] = []
    for size, k, s, d in zip(image[2:], kernel, stride, dilation, strict=True):
        reach = d * (k - 1) + 1
        totals.append(max(0, reach - s) if transposed else max(0, (-(-size // s) - 1) * s + reach - size))
    top, left = (t // 2 for t in totals)
    return top, left, totals[0] - top, totals[1] - left


def window_of(
    name: str,
    image: tuple[int, int, int, int],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int],
    pads: Pads,
    transposed: bool,
    output_pad: tuple[int, int],
    ceil: bool,
    place: Place | None,
) -> Window:
    """The window and the size of its output. Raises BadInput where it does not fit its input."""
    sizes: list[int] = []
    for axis in (0, 1):
        total = pads[axis] + pads[axis + 2]
        reach = dilation[axis] * (kernel[axis] - 1) + 1
        size = image[2 + axis]
        if transposed:
            sizes.append((size - 1) * stride[axis] - total + reach + output_pad[axis])
            continue
        span = size + total - reach
        out = (-(-span // stride[axis]) if ceil else span // stride[axis]) + 1
        # A window that ceil adds must start inside the image or its leading padding (ONNX, PyTorch).
        if ceil and (out - 1) * stride[axis] >= size + pads[axis]:
            out -= 1
        sizes.append(out)
    if min(sizes) < 1:
        raise BadInput(
            f"{name!r}: a {kernel[0]}x{kernel[1]} window does not fit its {image[2]}x{image[3]} input",
            where=place,
            hint="check kernel, stride, padding and the input's shape",
        )
    return Window(
        image[2], image[3], sizes[0], sizes[1], *kernel, *stride, *pads, *dilation, transposed=transposed
    )
