"""Cycles of parts of windows on Ethos-U55, all numbers of rows at once."""

import pytest
from hypothesis import given, strategies as st

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.window import Window
from chipmodel.hardware.chip_file import load_chip
from chipmodel.npu.cycles import op_cycles
from chipmodel.npu.ethos_parts import band_widths
from chipmodel.npu.models import least_cycles_by_rows
from workloads.load import load


@pytest.mark.parametrize("network", ["ds_cnn", "mobilenetv1_025", "darknet_tiny"])
def test_all_rows_at_once_take_no_more_than_each_number(network: str) -> None:
    npu, program = load_chip("alif-e7").npu, load(f"zoo:{network}")
    total = least = compared = 0
    for op in program.ops():
        rows, widths = op.work.rows, sorted({1, 8, op.work.channels} & {*range(1, op.work.channels + 1)})
        for channels, found in least_cycles_by_rows(npu, op, widths, None).items():
            assert len(found) == rows
            for count in {1, 2, 3, rows // 2 or 1, rows}.intersection(range(1, rows + 1)):
                exact = op_cycles(npu, op, count, channels)
                assert found[count - 1] <= exact, (op.name, count, channels)
                total += exact
                least += found[count - 1]
                compared += 1
    assert compared > 50
    assert least > 0.95 * total


@given(st.integers(1, 30), st.integers(1, 9), st.integers(1, 3), st.integers(0, 8), st.integers(1, 2))
def test_bands_near_the_borders_and_one_between_read_what_any_bands_do(
    size: int, kernel: int, stride: int, pad: int, dilation: int
) -> None:
    made = max(1, (size + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1)
    pads = (0, pad, 0, pad)
    window = Window(1, size, 1, made, 1, kernel, 1, stride, *pads, dilation_h=1, dilation_w=dilation)
    bands = (Interval(start, stop) for start in range(made) for stop in range(start + 1, made + 1))
    assert band_widths(window) == {(len(band), window.in_band(band).in_w) for band in bands}
