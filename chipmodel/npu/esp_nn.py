"""Cycles of ESP-NN's int8 kernels on the vector unit of ESP32-S3, as TensorFlow Lite Micro calls them.

Instructions are counted in github.com/espressif/esp-nn, src, commit d45b843: a cycle each, taken branches and
calls three to five. A 1 x 1 convolution of a multiple of 8 channels takes 8 points at once: it transposes
their inputs to 16 bits, then goes through the whole filter, an output channel after another. Any other
convolution goes through the filter at each point, in rows of the kernel that are padded to vectors; a padded
one copies its input first. Every output is scaled by its channel's multiplier: 53 instructions.

Pooling, additions and softmax take what the kernels of the README were measured to take, less reading
external memory. Functions and broadcast operands are left to the plain C of TensorFlow Lite Micro. In plain C
MobileNetV1 takes 2,300 ms for 7.2 M multiply-accumulates of some 34 instructions each, so each of these
takes 2.1 cycles. A function is assumed to have 60 of them, an element with a broadcast operand 110.
"""

from __future__ import annotations

from fractions import Fraction

from chipmodel.geometry.rounding import ceil_div
from chipmodel.geometry.window import Window
from chipmodel.model.attributes import Scaling
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, Vector
from chipmodel.npu.kernel_run import KernelRun, Product, positions, product_of, taps

VECTOR = 16
"""Elements of a vector of int8."""
SCALING = 53
"""Multiplier, shift, offset, activation and store of one output."""
POINT = 30
"""A point of a convolution besides its outputs."""
POINTS = 8
"""Points that a 1 x 1 convolution takes at once."""
DEPTHWISE_BLOCK, NARROW_BLOCK, OTHER_BLOCK = 464, 325, 200
"""A point of a depthwise convolution: 16 channels of a 3 x 3 one, 8 of one that has no more, and 8 of another
kernel, besides 7 for each tap."""
MAX_POOL, AVERAGE_POOL = Fraction("1.70"), Fraction("4.18")
"""Cycles of an element of the window: 48,069 and 118,052 for 14 x 14 outputs of 16 channels, 3 x 3 each."""
_ELEMENT_CYCLES: dict[str, Fraction] = {
    # 74,440, 35,002, 11,107 and 98 cycles of 1,615, 1,615, 256 and 1,615 elements.
    **dict.fromkeys(("add", "sub"), Fraction(33)),
    "mul": Fraction(8),
    **dict.fromkeys(("softmax", "log_softmax"), Fraction(43)),
    **dict.fromkeys(("relu", "relu6", "clip"), Fraction("0.06")),
    **dict.fromkeys(("concat", "split", "slice", "pad", "copy", "shift", "reshape"), Fraction(1)),
    **dict.fromkeys(("resize", "upsample"), Fraction(8)),
    **dict.fromkeys(("transpose", "depth_to_space", "space_to_depth"), Fraction(15)),
}
OTHER_ELEMENT, BROADCAST_ELEMENT = Fraction(126), Fraction(231)
"""Cycles of an element of any other kind, and of arithmetic with a broadcast operand, in plain C."""


def kernel_run(
    kind: str, work: Conv | Matmul | Recurrent | Pool | Vector, depthwise: bool, size: int
) -> KernelRun:
    """The kernel for ``work`` on elements of ``size`` bytes; those of 2 take twice as long."""
    match work:
        case Vector():
            slow = work.broadcast and kind in ("add", "sub", "mul", "div")
            blends = isinstance(work.attributes, Scaling) and work.attributes.mode != "nearest"
            each = OTHER_ELEMENT if blends else _ELEMENT_CYCLES.get(kind, OTHER_ELEMENT)
            each = BROADCAST_ELEMENT if slow else each
            return KernelRun(size * work.elements * each, size * work.elements * each)
        case Pool():
            each = AVERAGE_POOL if "average" in kind else MAX_POOL
            cycles = work.batch * positions(work.window) * work.channels_ * taps(work.window) * each * size
            return KernelRun(cycles, cycles)
        case Conv() if depthwise:
            return _depthwise(work, size)
        case Conv() if _quick(work):
            return _eight_points(product_of(work), size)
        case Conv():
            rows = work.window.kernel_h
            return _point_by_point(product_of(work), rows, size, padded(work.window))
        case _:
            return _point_by_point(product_of(work), 1, size, False)


def padded(window: Window) -> bool:
    """Whether the input has padding."""
    return any((window.pad_top, window.pad_left, window.pad_bottom, window.pad_right))


def _quick(work: Conv) -> bool:
    """Whether it is a 1 x 1 convolution that takes eight points at once."""
    window = work.window
    plain = (window.kernel_h, window.kernel_w, window.stride_h, window.stride_w) == (1, 1, 1, 1)
    return plain and work.groups == 1 and work.in_c % 8 == 0 and not padded(window)


def _eight_points(product: Product, size: int) -> KernelRun:
    vectors = product.in_c // 8
    full, left = divmod(product.points, POINTS)
    output = 166 + 14 * vectors
    cycles = full * (POINT + 37 * vectors + product.out_c * output)
    cycles += left * product.out_c * (110 + 12 * vectors)
    filter_bytes = product.in_c * product.out_c * size
    least = Fraction(product.points * product.out_c * output * size, POINTS)
    return KernelRun(Fraction(cycles * size), least, filter_bytes=filter_bytes, passes=full + left)


def _point_by_point(product: Product, kernel_rows: int, size: int, copies_input: bool) -> KernelRun:
    row = product.taps * product.in_c // kernel_rows
    vectors = ceil_div(row, VECTOR)
    output = SCALING + kernel_rows * (18 + 6 * (vectors // 2) + 3 * (vectors % 2))
    points = product.points * product.groups * size
    filter_bytes = product.out_c * kernel_rows * vectors * VECTOR * size
    return KernelRun(
        Fraction(points * (POINT + product.out_c * output)),
        Fraction(points * product.out_c * output + product.points * POINT),
        filter_bytes,
        product.points,
        product.groups,
        copies_input,
    )


def _depthwise(work: Conv, size: int) -> KernelRun:
    kernel = taps(work.window)
    if kernel == 9:
        block, vector = (NARROW_BLOCK, 8) if work.out_c <= 8 else (DEPTHWISE_BLOCK, VECTOR)
    else:
        block, vector = OTHER_BLOCK + 7 * kernel, 8
    points = work.batch * positions(work.window) * size
    cycles = points * block * ceil_div(work.out_c, vector)
    least = Fraction(points * block * work.out_c, vector)
    return KernelRun(Fraction(cycles), least, copies_input=padded(work.window))
