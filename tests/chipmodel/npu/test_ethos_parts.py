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


@pytest.mark.parametrize("network", ["ds_cnn", "mobilenetv1_025"])
def test_all_rows_at_once_take_no_more_than_each_number(network: str) -> None:
    npu, program = load_chip("alif-e7").npu, load(f"zoo:{network}")
    known = [(op, found) for op in program.ops() if (found := least_cycles_by_rows(npu, op, None))]
    assert len(known) > 5
    total = least = 0
    for op, found in known:
        assert len(found) == op.work.rows
        for rows in {1, 2, 3, op.work.rows // 2 or 1, op.work.rows}.intersection(range(1, op.work.rows + 1)):
            exact = op_cycles(npu, op, rows, op.work.channels)
            assert found[rows - 1] <= exact, (op.name, rows)
            total += exact
            least += found[rows - 1]
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
