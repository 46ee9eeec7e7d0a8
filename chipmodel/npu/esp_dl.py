"""Cycles of ESP-DL's int8 and int16 kernels on the vector unit of ESP32-S3.

Instructions are counted in github.com/espressif/esp-dl, esp-dl/dl/base and its isa/tie728, commit 12c0616d: a
cycle each, taken branches and calls three to five. A convolution is computed point by point: for each, the
vectors of output channels one after another, so that a point goes through the whole filter. An inner step
multiplies one input channel with a vector of outputs and loads the next vector of the filter. Channels that
are no multiple of a vector take unaligned kernels, and the outputs left over one scalar product each.

Not counted there but assumed: cycles of an element of softmax and of moving elements one by one.
"""

from __future__ import annotations

from fractions import Fraction

from chipmodel.geometry.rounding import ceil_div
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, Vector
from chipmodel.npu.kernel_run import KernelRun, Product, positions, product_of, taps

POINT = 45
"""Calling the kernel for a point: a std::function, a window of registers, loads of its arguments."""
BLOCK, UNALIGNED_BLOCK = 30, 45
"""A vector of outputs besides its multiplications: bias, rounding, activation, store."""
LEFT_OUTPUT = 25
"""A single output besides its multiplications."""
DEPTHWISE_BLOCK, UNALIGNED_DEPTHWISE_BLOCK, LEFT_DEPTHWISE = 26, 34, 40
"""The same of a depthwise convolution, which ends in one pass for all channels left over."""
POOL_BLOCK = 10
BIAS = 4
"""Elements of the bias of an output, as the accumulators of a vector of outputs lie in memory: 64 bytes."""
_ELEMENT_CYCLES: dict[str, Fraction] = {
    # A table of 256 entries, looked up byte by byte.
    **dict.fromkeys(
        ("sigmoid", "tanh", "silu", "gelu", "hard_swish", "hard_sigmoid", "elu", "mish", "exp"), Fraction(8)
    ),
    **dict.fromkeys(("softmax", "log_softmax"), Fraction(60)),
    **dict.fromkeys(("transpose", "depth_to_space", "space_to_depth"), Fraction(15)),
}
IN_PLACE = frozenset(
    (
        *("add", "max", "min", "clip", "relu", "relu6", "leaky_relu", "prelu", "elu", "cast"),
        *("sigmoid", "tanh", "silu", "hard_swish", "hard_sigmoid", "exp", "log", "sqrt"),
    )
)
"""Kinds whose module takes the memory of its input (MODULE_INPLACE_CHANGED_BUFFER)."""


def kernel_run(
    kind: str, work: Conv | Matmul | Recurrent | Pool | Vector, depthwise: bool, size: int
) -> KernelRun:
    """The kernel for ``work`` on elements of ``size`` bytes, 1 or 2."""
    lanes = 16 // size
    match work:
        case Vector():
            moved = size * work.elements * _ELEMENT_CYCLES.get(kind, Fraction(1))
            return KernelRun(moved, moved, in_place=kind in IN_PLACE)
        case Pool():
            points = work.batch * positions(work.window)
            vector = POOL_BLOCK + 2 * taps(work.window)
            least = points * (POINT + Fraction(work.channels_ * vector, lanes))
            cycles = points * (POINT + ceil_div(work.channels_, lanes) * vector)
            return KernelRun(Fraction(cycles), least)
        case Conv() if depthwise:
            return _depthwise(work, lanes, size)
        case _:
            return _product(product_of(work), lanes, size)


def _product(product: Product, lanes: int, size: int) -> KernelRun:
    points = product.points * product.groups
    cycles = points * (POINT + point_cycles(product, lanes))
    vector = BLOCK + product.taps * _tap_cycles(product.in_c, lanes)
    return KernelRun(
        Fraction(cycles),
        points * Fraction(vector * product.out_c, lanes) + product.points * POINT,
        (product.taps * product.in_c + BIAS) * product.out_c * size,
        product.points,
        product.groups,
    )


def point_cycles(product: Product, lanes: int) -> int:
    """Cycles of one output point, without calling the kernel."""
    whole, left = divmod(product.out_c, lanes)
    vectors, rest = divmod(product.in_c, lanes)
    block = UNALIGNED_BLOCK if left or rest else BLOCK
    cycles = whole * (block + product.taps * _tap_cycles(product.in_c, lanes))
    return cycles + left * (LEFT_OUTPUT + product.taps * (4 + 4 * vectors + (14 if rest else 0)))


def _tap_cycles(in_c: int, lanes: int) -> int:
    """Cycles of one tap for a vector of outputs: a step for each input channel, and loads of inputs."""
    vectors, rest = divmod(in_c, lanes)
    if not rest:
        return 3 + (lanes + 1) * vectors
    aligned = 6 + (lanes + 2) * vectors if vectors else 4
    return aligned + rest + 8


def _depthwise(work: Conv, lanes: int, size: int) -> KernelRun:
    points, kernel = work.batch * positions(work.window), taps(work.window)
    whole, left = divmod(work.out_c, lanes)
    vector = UNALIGNED_DEPTHWISE_BLOCK + 3 * kernel if left else DEPTHWISE_BLOCK + 2 * kernel
    cycles = points * (POINT + whole * vector + (LEFT_DEPTHWISE + 5 * kernel if left else 0))
    least = points * (POINT + Fraction(work.out_c * (DEPTHWISE_BLOCK + 2 * kernel), lanes))
    return KernelRun(Fraction(cycles), least, kernel * work.out_c * size, points)
