"""Cycles of NE16: known answers by hand from the stages of the RTL, and what its shape implies."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from chipmodel.geometry.window import Window
from chipmodel.hardware.chip import Npu
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Op
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, Vector, Work
from chipmodel.npu.cycles import op_cycles
from chipmodel.npu.ne16 import mode_of


def npu(bits: int = 8, launch: int = 0) -> Npu:
    return load_chip("gap9", (f"weights.bits_per_weight={bits}", f"npu.launch_cycles={launch}")).npu


def op(kind: str, work: Work, *inputs: str, dtype: str = "int8") -> Op:
    return Op("op", kind, work, inputs or ("x",), ("y",), dtype=dtype)


def cycles(work: Work, bits: int = 8, kind: str = "conv", dtype: str = "int8") -> int:
    return op_cycles(npu(bits), op(kind, work, dtype=dtype), work.rows, work.channels)


def window(side: int, kernel: int = 3, stride: int = 1) -> Window:
    pad = kernel // 2
    size = side * stride
    return Window(size, size, side, side, kernel, kernel, stride, stride, pad, pad, pad, pad)


# Of the 3 x 3 outputs of a subtile, by the stages in pulp-platform/dory, Ne16PerfModel.py: load 6 + 25,
# offset 6, weights 6 + 32 * 8, index 2 for each 16 input channels; then shift 8, scale 9 + 8, bias 8 + 4,
# out 3 + 9 + 1.
FULL = 31 + 6 + 6 + 256 + 2
END = 8 + 17 + 12 + 13


@pytest.mark.parametrize(
    ("work", "kind", "expected"),
    [
        (Conv(window(3), 16, 32), "conv", FULL + END),
        (Conv(window(3), 48, 32), "conv", 3 * FULL + END),
        (Conv(window(4), 16, 32), "conv", 4 * (FULL + END)),
        (Conv(window(4, stride=2), 16, 32), "conv", 4 * (FULL + END)),
        (Conv(window(3), 16, 40), "conv", FULL + END + 31 + 6 + 6 + 64 + 2 + 8 + 11 + 9 + 13),
        (Conv(window(3, kernel=1), 16, 32), "conv", 19 + 6 + 6 + 32 + 2 + END),
        (Conv(window(3), 16, 16, 16), "depthwise_conv", 31 + 6 + 16 + 6 + 128 + 2 + 8 + 13 + 10 + 13),
        (Matmul(1, 256, 32), "dense", 22 + 6 + 6 + 256 + 2 + 8 + 17 + 12 + 5),
        (Matmul(9, 16, 32), "dense", 19 + 6 + 6 + 32 + 2 + END),
    ],
)
def test_the_stages_of_a_subtile(work: Work, kind: str, expected: int) -> None:
    assert cycles(work, kind=kind) == expected


def test_weights_of_fewer_bits_take_fewer_passes_but_with_1_x_1_kernels() -> None:
    """The engine multiplies by one bit of a weight a cycle; rows of the array that 3 x 3 kernels use for
    their taps take the bits of 1 x 1 kernels."""
    dense, pointwise = Conv(window(3), 16, 32), Conv(window(3, kernel=1), 16, 32)
    assert cycles(dense) - cycles(dense, 5) == 3 * 32
    assert cycles(pointwise) == cycles(pointwise, 5)


@pytest.mark.parametrize(
    ("made", "mode"),
    [
        (op("conv", Conv(window(8, kernel=5), 16, 16)), "cores"),
        (op("conv", Conv(replace(window(8), dilation_h=2), 16, 16)), "cores"),
        (op("conv", Conv(window(8, stride=3), 16, 16)), "cores"),
        (op("depthwise_conv", Conv(window(8), 16, 32, 16)), "cores"),
        (op("matmul", Matmul(4, 16, 16), "x", "z"), "cores"),
        (op("conv", Conv(window(8), 16, 16), dtype="float16"), "cores"),
        (op("conv", Conv(window(8), 16, 16), dtype="int16"), "3x3"),
        (op("max_pool", Pool(window(8), 16)), "cores"),
        (op("lstm", Recurrent(2, 16, 16, 4)), "linear"),
    ],
)
def test_what_the_engine_does_and_what_the_cores(made: Op, mode: str) -> None:
    ne16 = npu().ne16
    assert ne16
    assert mode_of(ne16, made) == mode


def test_the_cores_at_what_was_published() -> None:
    """Garofalo et al. 2020: 15.5 MACs a cycle of 3 x 3 kernels over 32 channels; here of kernels of 1 x 9,
    which the engine does not have."""
    work = Conv(Window(20, 20, 16, 16, 1, 9), 32, 64)
    assert work.macs / cycles(work) == pytest.approx(15.5, rel=0.01)


def test_operands_of_16_bits_take_twice_the_loads() -> None:
    work = Conv(window(3), 16, 32)
    assert cycles(work, dtype="int16") == 2 * FULL + END + 9


@given(st.integers(1, 40), st.integers(1, 80), st.integers(1, 80), st.sampled_from([2, 5, 8]))
def test_more_work_never_takes_less(side: int, inputs: int, outputs: int, bits: int) -> None:
    less = cycles(Conv(window(side), inputs, outputs), bits)
    assert less <= cycles(Conv(window(side + 1), inputs, outputs), bits)
    assert less <= cycles(Conv(window(side), inputs + 1, outputs), bits)
    assert less < cycles(Conv(window(side), inputs, outputs + 1), bits)


def test_a_launch_is_paid_by_each_part() -> None:
    made = op("add", Vector(100, 200, 100, rows=10), "x", "z")
    assert op_cycles(npu(launch=50), made, 10, 1) == 50 + 25 + 13
    assert op_cycles(npu(launch=50), made, 5, 1) == 50 + 19
