"""On Ethos-U55 parts cost at least the bound, which is near the cost of the whole."""

from dataclasses import replace
from math import prod

import pytest
from hypothesis import given, settings, strategies as st

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.window import Window
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.attributes import AlongAxis
from chipmodel.model.cascade_work import Band
from chipmodel.model.program import Op
from chipmodel.model.work import Conv, Pool, Recurrent, Vector
from chipmodel.npu.cycles import op_cycles
from chipmodel.npu.least_costs import least_cycles

CHIPS = {
    "alif-e7": load_chip("alif-e7"),
    "weights on the port": load_chip("alif-e7", ("npu.ethos.weights_on_port=yes",)),
    "Ethos-U85-128": load_chip("corstone-320", ("npu.macs_per_cycle.int8=128",)),
    "Ethos-U85-1024": load_chip("corstone-320", ("npu.macs_per_cycle.int8=1024",)),
    "two cores": load_chip("alif-e7", ("npu.ethos.cores=2", "npu.write_bytes_per_cycle=16")),
    "whole blocks": load_chip("corstone-300-64", ("npu.ethos.border_blocks=whole",)),
}
side = st.integers(1, 40)


@st.composite
def windows(draw: st.DrawFn) -> Window:
    in_h, in_w, stride = draw(side), draw(side), draw(st.integers(1, 3))
    kernel_h, kernel_w = draw(st.sampled_from([(1, 1), (1, 3), (3, 3), (5, 5), (3, 1), (9, 9), (60, 60)]))
    pad_h, pad_w = kernel_h // 2, kernel_w // 2
    out_h, out_w = (in_h - 1) // stride + 1, (in_w - 1) // stride + 1
    pads = (pad_h, pad_w, pad_h, pad_w)
    window = Window(in_h, in_w, out_h, out_w, kernel_h, kernel_w, stride, stride, *pads)
    if draw(st.booleans()) or stride == 1:
        return window
    return replace(window, out_h=in_h * stride, out_w=in_w * stride, transposed=True)


@st.composite
def ops(draw: st.DrawFn) -> Op:
    return replace(draw(int8_ops()), dtype=draw(st.sampled_from(["int8", "int16", "float32"])))


@st.composite
def int8_ops(draw: st.DrawFn) -> Op:
    window, batch = draw(windows()), draw(st.integers(1, 2))
    channels = draw(st.integers(1, 200))
    kind = draw(st.sampled_from(["conv", "depthwise_conv", "max_pool", "average_pool", "add"]))
    if kind == "add":
        shape = (batch, channels, window.out_h, window.out_w)
        size = channels * batch * window.out_h * window.out_w
        rows = draw(st.sampled_from([batch * window.out_h, size // window.out_w]))
        added = Vector(size, 2 * size, size, rows)
        return Op("op", kind, added, ("x", "z"), ("y",), views=(shape, shape, shape))
    if kind == "average_pool" and draw(st.booleans()):
        window = Window(high := draw(st.integers(1, 99)), wide := draw(st.integers(1, 99)), 1, 1, high, wide)
    if kind.endswith("pool"):
        return Op("op", kind, Pool(window, channels, batch), ("x",), ("y",))
    if kind == "conv":
        work = Conv(window, draw(st.integers(1, 200)), channels, 1, batch)
        return Op("op", kind, work, ("x",), ("y",))
    return Op("op", kind, Conv(window, channels, channels, channels, batch), ("x",), ("y",))


@pytest.mark.slow
@pytest.mark.parametrize("chip", list(CHIPS))
@settings(max_examples=60)
@given(ops(), st.data())
def test_parts_cost_at_least_the_bound(chip: str, op: Op, data: st.DataObject) -> None:
    npu = CHIPS[chip].npu
    assert isinstance(op.work, Conv | Pool | Vector)
    of = op.views[-1][3] if isinstance(op.work, Vector) else op.work.window.out_w
    wide, channels = data.draw(st.integers(1, of)), op.work.channels
    stripes, slices = (_lengths(data, size) for size in (op.work.rows, channels))
    bands = [Band(Interval(first, min(first + wide, of)), of) for first in range(0, of, wide)]
    total = sum(op_cycles(npu, op, each, channels, band) for each in stripes for band in bands)
    assert total >= least_cycles(npu, op, columns=True)
    total = sum(op_cycles(npu, op, rows, each) for rows in stripes for each in slices)
    assert total >= least_cycles(npu, op)


@pytest.mark.parametrize("chip", list(CHIPS))
@pytest.mark.parametrize(("kind", "shape"), [("softmax", (1, 1, 3136, 49)), ("add", (1, 4, 784, 49))])
def test_the_last_axis_of_a_matrix_in_four_axes_is_its_channels(
    chip: str, kind: str, shape: tuple[int, ...]
) -> None:
    """The bound took the second axis, of one or four channels padded to 16."""
    work = Vector(prod(shape), prod(shape), prod(shape), 3136, attributes=AlongAxis(3, 49))
    npu, op = CHIPS[chip].npu, Op("op", kind, work, ("x",), ("y",), views=(shape, shape))
    least = min(op_cycles(npu, op, rows, 1) * (3136 // rows) for rows in (3136, 64, 1))
    assert max(least_cycles(npu, op, columns=columns) for columns in (False, True)) <= least


def _lengths(data: st.DataObject, size: int) -> list[int]:
    """Lengths that add up to ``size``, as equal as they can be but for the first one."""
    first, each = data.draw(st.integers(1, size)), data.draw(st.integers(1, size))
    return [first, *(min(each, size - start) for start in range(first, size, each))]


POINTWISE = Conv(Window(112, 112, 112, 112, 1, 1), 32, 16)
DEPTHWISE = Conv(Window(112, 112, 56, 56, 3, 3, 2, 2, 1, 1, 1, 1), 96, 96, 96)
ODD = Conv(Window(49, 10, 25, 5, 10, 4, 2, 2, 4, 1, 5, 1), 1, 64)
DENSE = Conv(Window(25, 5, 25, 5, 1, 1), 64, 64)
SMALL = Conv(Window(25, 5, 25, 5, 3, 3, 1, 1, 1, 1, 1, 1), 64, 64, 64)


@pytest.mark.parametrize(
    ("kind", "work", "near"),
    [
        # Ops of MobileNetV2 whose reads and writes on the port take longer than the MAC array.
        ("conv", replace(POINTWISE, in_c=16, out_c=96), 0.99),
        ("conv", POINTWISE, 0.99),
        ("depthwise_conv", DEPTHWISE, 0.79),
        # Of DS-CNN, with an odd number of rows and columns, whose best block Vela takes for no part.
        ("conv", ODD, 0.91),
        ("depthwise_conv", SMALL, 0.86),
        ("conv", DENSE, 0.79),
        # RNNoise's largest layer, in which a row of outputs leaves most of the MAC array idle.
        ("gru", Recurrent(1, 114, 96, 3), 0.89),
    ],
)
def test_the_bound_is_near_the_cost_of_the_whole(kind: str, work: Conv | Recurrent, near: float) -> None:
    npu, op = CHIPS["alif-e7"].npu, Op("op", kind, work, ("x",), ("y",))
    whole = op_cycles(npu, op, work.rows, work.channels)
    assert near * whole <= least_cycles(npu, op, columns=True) <= whole


def test_two_bands_of_columns_cost_at_least_the_bound() -> None:
    """``ODD`` on its side: 25 columns in two bands of all channels, where four cost more."""
    work = replace(ODD, window=Window(10, 49, 5, 25, 4, 10, 2, 2, 1, 4, 1, 5))
    npu, op = CHIPS["alif-e7"].npu, Op("op", "conv", work, ("x",), ("y",))
    cuts = [(Interval(0, at), Interval(at, 25)) for at in range(1, 25)]
    two = min(sum(op_cycles(npu, op, 5, 64, Band(band, 25)) for band in cut) for cut in cuts)
    assert 0.86 * two <= least_cycles(npu, op, columns=True) <= two


def test_a_part_with_one_group_of_a_depthwise_convolution_is_depthwise() -> None:
    """It took 65 cycles as a convolution of one channel, and three of them less than the bound of all."""
    npu = CHIPS["whole blocks"].npu
    op = Op("op", "conv", Conv(Window(1, 7, 1, 7, 1, 1), 3, 9, 3), ("x",), ("y",), dtype="int16")
    depthwise = replace(op, kind="depthwise_conv")
    assert op_cycles(npu, op, 1, 3) == op_cycles(npu, depthwise, 1, 3) == 95
    assert least_cycles(npu, op) <= min(3 * 95, op_cycles(npu, op, 1, 9))
