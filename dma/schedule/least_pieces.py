"""The fewest parts in which a program's products fit in SharedMemory, without cutting anything.

With ``a`` elements of one operand, ``b`` of the other and ``c`` of the result a part has at most
``sqrt(a * b * c)`` of a product's multiplications; a convolution reads an element of its image at most as
often as its window has positions. In ``a + b + c`` bytes that is the most where the three are equal. A part
of a cascade has some of several products, whose results are operands of others: by the inequalities of
Cauchy-Schwarz and of Motzkin and Straus at most ``sqrt(2)`` times as many.

Source: Loomis and Whitney 1949, doi:10.1090/S0002-9904-1949-09320-5; Motzkin and Straus 1965,
doi:10.4153/CJM-1965-053-6.
"""

from __future__ import annotations

from collections import Counter
from math import isqrt

from chipmodel.geometry.window import Window
from chipmodel.model.program import DTYPE_BITS, Op, Program
from chipmodel.model.work import Conv, Matmul


def least_parts(program: Program, size: int) -> int:
    """Return the fewest parts of ops in which all products can be computed with ``size`` bytes."""
    uses = Counter(name for op in program.ops() for name in op.weights)
    # Weights of several ops would count several times in a part of a cascade.
    return sum(_parts(program, op, size) for op in program.ops() if all(uses[w] == 1 for w in op.weights))


def _parts(program: Program, op: Op, size: int) -> int:
    work = op.work
    if isinstance(work, Conv) and not work.window.transposed:
        reads = work.window.kernel_h * work.window.kernel_w
        macs = work.batch * _whole_windows(work.window) * work.out_c * (work.in_c // work.groups) * reads
    elif isinstance(work, Matmul):
        reads, macs = 1, work.macs
    else:
        return 0
    of_tensors = [-(-8 // DTYPE_BITS[program.tensors[n].dtype]) for n in (*op.inputs[:2], *op.outputs[:1])]
    of_weights = [-(-w.elements // max(1, w.bytes)) for w in map(program.weights.__getitem__, op.weights)]
    # Elements in a byte, at most.
    dense = max(1, *of_tensors, *of_weights)
    return macs // (isqrt(2 * reads * (dense * size) ** 3 // 27) + 1)


def _whole_windows(window: Window) -> int:
    """Positions of a window that are inside of the image: others read nothing of it at some places."""
    w = window
    rows = _inside(w.in_h, w.out_h, (w.kernel_h - 1) * w.dilation_h, w.stride_h, w.pad_top)
    return rows * _inside(w.in_w, w.out_w, (w.kernel_w - 1) * w.dilation_w, w.stride_w, w.pad_left)


def _inside(image: int, out: int, reach: int, stride: int, pad: int) -> int:
    return max(0, min(out - 1, (image - 1 - reach + pad) // stride) + pad // -stride + 1)
