"""LUNA's NPU against the tables of the vendor's profiler (tests/data/hardware), and beyond them."""

import csv
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import assume, given, strategies as st

from chipmodel.errors import BadInput
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.window import Window
from chipmodel.hardware.chip_file import load_chip
from chipmodel.hardware.luna_npu import LUNA_ARCS, LunaNpu
from chipmodel.model.cascade_work import Band
from chipmodel.model.program import Op
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, Vector
from chipmodel.npu.cycles import op_cycles
from chipmodel.npu.least_costs import least_cycles
from chipmodel.npu.luna import (
    ADD_KINDS,
    COPY_KINDS,
    MUL_KINDS,
    RELU_KINDS,
    SIGMOID_KINDS,
    matmul_cost,
    op_cost,
    softmax_cost,
    vector_cost,
)
from chipmodel.npu.luna_array import column_sweep
from chipmodel.npu.luna_convolution import conv_cost, depthwise_cost, plain_windows, pooling_cost
from tests.support.folders import HARDWARE

Row = dict[str, str]


def table(name: str) -> list[Row]:
    with (HARDWARE / f"luna_{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def window(in_h: int, in_w: int, kernel_h: int, kernel_w: int, stride: int, pad_h: int, pad_w: int) -> Window:
    out_h = (in_h + 2 * pad_h - kernel_h) // stride + 1
    out_w = (in_w + 2 * pad_w - kernel_w) // stride + 1
    pads = (pad_h, pad_w, pad_h, pad_w)
    return Window(in_h, in_w, out_h, out_w, kernel_h, kernel_w, stride, stride, *pads)


def conv_of(row: Row, groups: int) -> Conv:
    keys = ("in_h", "in_w", "kernel_h", "kernel_w", "stride", "pad_h", "pad_w")
    return Conv(window(*(int(row[key]) for key in keys)), int(row["in_c"]), int(row["out_c"]), groups)


def conv2d(parameters: LunaNpu, row: Row) -> Fraction:
    return conv_cost(parameters, conv_of(row, 1)).cycles


def depthwise2d(parameters: LunaNpu, row: Row) -> Fraction:
    return depthwise_cost(parameters, conv_of(row, int(row["in_c"]))).cycles


def matmul(parameters: LunaNpu, row: Row) -> Fraction:
    work = Matmul(int(row["rows"]), int(row["inner"]), int(row["cols"]))
    return matmul_cost(parameters, work, int(row["bits"])).cycles


def vector(parameters: LunaNpu, row: Row) -> Fraction:
    elements = int(row["elements"])
    if row["op"] == "softmax":
        return softmax_cost(parameters, elements).cycles
    return vector_cost(parameters, row["op"], elements).cycles


TABLES = (
    pytest.param("conv2d", conv2d, id="conv2d"),
    pytest.param("depthwise2d", depthwise2d, id="depthwise2d"),
    pytest.param("matmul", matmul, id="matmul"),
    pytest.param("vector", vector, id="vector"),
)

Model = Callable[[LunaNpu, Row], Fraction]


def wrong_rows(name: str, model: Model, parameters: LunaNpu) -> list[str]:
    """Rows with any error at all. The accepted errors are 1 cycle, 1 % and 15 %; the actual ones are 0."""
    pairs = ((row, model(parameters, row)) for row in table(name))
    return [f"{row} modelled {cycles}" for row, cycles in pairs if cycles != Fraction(row["cycles"])]


@pytest.mark.parametrize(("name", "model"), TABLES)
def test_every_row_of_the_table_is_exact(name: str, model: Model) -> None:
    assert len(table(name)) >= 50
    assert wrong_rows(name, model, LUNA_ARCS) == []


def test_weights_beyond_the_buffer_make_passes_that_load_the_input_again() -> None:
    image = window(8, 8, 3, 3, 1, 1, 1)  # 112 output channels of 8 x 3 x 3 weights fill 8064 of 8192 bytes
    one, two = conv_cost(LUNA_ARCS, Conv(image, 8, 112)), conv_cost(LUNA_ARCS, Conv(image, 8, 224))
    assert two.input_load == 2 * one.input_load
    assert two.configuration == one.configuration + 1350 - 300
    assert (two.weight_load, two.compute) == (2 * one.weight_load, 2 * one.compute)


def test_input_beyond_the_buffer_comes_in_pieces_of_whole_rows() -> None:
    fits, over = (conv_cost(LUNA_ARCS, Conv(window(h, 32, 1, 1, 1, 0, 0), 8, 2)) for h in (64, 65))
    assert fits.configuration == 1350
    assert over.configuration == 1350 + 2 * 1050 + 3 * 8


def test_storing_counts_where_it_takes_longer_than_computing() -> None:
    slow = replace(LUNA_ARCS, store_bytes_per_cycle=Fraction(1))
    work = Matmul(2, 8, 400)
    cost = matmul_cost(slow, work)
    assert cost.compute == 2 * 8 * 400 // 64 + 16
    assert cost.compute + cost.store == 2 * 400
    assert matmul_cost(LUNA_ARCS, work).store == 0
    assert vector_cost(replace(LUNA_ARCS, store_bytes_per_cycle=Fraction(2)), "relu", 64).cycles == 484 + 32
    image = Conv(window(8, 8, 1, 1, 1, 0, 0), 4, 2)
    assert conv_cost(slow, image).store == 128 - conv_cost(slow, image).compute
    assert conv_cost(replace(slow, store_bytes_per_cycle=Fraction(2)), image).store == 0


@pytest.mark.parametrize("kind", COPY_KINDS)
def test_moving_ops_cost_a_copy_of_what_they_write(kind: str) -> None:
    """hardware.md, "DMA routes": the NPU copies in 467 + bytes / 7.2 cycles: 467 + 100 for 720 bytes."""
    cost = op_cost(LUNA_ARCS, kind, Vector(720, 2000, 720), 8)
    assert (cost.configuration, cost.cycles) == (Fraction(467), Fraction(467 + 100))
    assert op_cost(LUNA_ARCS, kind, Vector(720, 2000, 1440), 16).cycles == 467 + 200


@pytest.mark.parametrize(
    ("kinds", "cycles"),
    [
        # 64 elements: hardware.md, "NPU cycles", element-wise: configuration plus bytes at 8 or 4 a cycle.
        (ADD_KINDS, 534 + 8),
        (MUL_KINDS, 521 + 16),
        (RELU_KINDS, 484 + 16),
        (SIGMOID_KINDS, 406 + 16),
    ],
)
def test_elementwise_ops_cost_what_the_vendors_own_four_do(kinds: tuple[str, ...], cycles: int) -> None:
    for kind in kinds:
        assert op_cost(LUNA_ARCS, kind, Vector(64, 128, 64), 8).cycles == cycles, kind


def test_a_kind_without_a_figure_is_a_mul_of_the_larger_of_what_it_reads_and_writes() -> None:
    """521 + bytes / 4: 256 bytes read for 64 written, and the reverse; 128 elements of two bytes."""
    for sizes in ((64, 256, 64), (64, 64, 256)):
        assert op_cost(LUNA_ARCS, "reduce_sum", Vector(*sizes), 8).cycles == 521 + 64
    assert op_cost(LUNA_ARCS, "reduce_sum", Vector(64, 256, 64), 16).cycles == 521 + 64


def test_pooling_is_depthwise_without_weights() -> None:
    image = window(20, 16, 3, 3, 2, 0, 0)
    expected = depthwise_cost(LUNA_ARCS, Conv(image, 8, 8, 8)).cycles - Fraction(8 * 9, 8)
    assert pooling_cost(LUNA_ARCS, Pool(image, 8)).cycles == expected
    assert pooling_cost(LUNA_ARCS, Pool(image, 8)).weight_load == 0


def test_a_step_of_recurrent_work_is_a_product_with_inputs_and_state() -> None:
    """hardware.md, "NPU cycles": 2 rows, 3 + 4 inner, 4 gates of 4 columns, padded to 2, 8 and 16: loads of
    2 and 16 cycles, and 2 * 8 * 16 / 64 + 16 for the pair of rows; five steps in two directions."""
    product = 2255 + 2 * 8 // 8 + 8 * 16 // 8 + (2 * 8 * 16 // 64 + 16)
    assert matmul_cost(LUNA_ARCS, Matmul(2, 7, 16)).cycles == product == 2293
    lstm = Recurrent(5, 3, 4, gates=4, directions=2, batch=2)
    assert op_cost(LUNA_ARCS, "lstm", lstm, 8).cycles == 10 * product


@pytest.mark.parametrize(("store", "longer"), [(Fraction(16), 4 + 32), (Fraction(1, 4), 4 * 8 * 4)])
def test_the_cost_of_a_product_by_hand(store: Fraction, longer: int) -> None:
    """4 x 8 by 8 x 8, loaded at 8 bytes a cycle; each of two pairs of rows pays 16. Stored at 16 bytes a
    cycle, computing takes longer; at a quarter of a byte, storing does."""
    parameters = replace(LUNA_ARCS, store_bytes_per_cycle=store)
    assert matmul_cost(parameters, Matmul(4, 8, 8)).cycles == 2255 + (4 * 8 + 8 * 8) // 8 + longer


def test_conv_cost_charges_depthwise_work_as_depthwise() -> None:
    work = Conv(window(8, 8, 3, 3, 1, 1, 1), 8, 8, 8)
    assert conv_cost(LUNA_ARCS, work).cycles == depthwise_cost(LUNA_ARCS, work).cycles
    with pytest.raises(ValueError, match="not depthwise: 2 groups of 8"):
        depthwise_cost(LUNA_ARCS, replace(work, groups=2))


def test_groups_and_images_run_one_after_the_other() -> None:
    image = window(8, 8, 3, 3, 1, 1, 1)
    one = conv_cost(LUNA_ARCS, Conv(image, 8, 4)).cycles
    assert conv_cost(LUNA_ARCS, Conv(image, 24, 12, groups=3)).cycles == 3 * one - 2 * 300
    assert conv_cost(LUNA_ARCS, Conv(image, 8, 4, batch=3)).cycles == 3 * one - 2 * 300
    assert (
        matmul_cost(LUNA_ARCS, Matmul(4, 8, 4, 5)).cycles
        == 5 * matmul_cost(LUNA_ARCS, Matmul(4, 8, 4)).cycles
    )
    assert softmax_cost(LUNA_ARCS, 100, 3).compute == 3 * softmax_cost(LUNA_ARCS, 100).compute


def test_weights_of_a_channel_pair_over_the_buffer_are_loaded_in_lots() -> None:
    # 512 x 3 x 3 weights of two channels are 9216 bytes: two lots to configure, one load, one sum.
    cost = conv_cost(LUNA_ARCS, Conv(window(1, 1, 3, 3, 1, 1, 1), 512, 4))
    assert cost.configuration == 300 + 2 * 2 * 1050
    assert cost.weight_load == Fraction(4 * 512 * 9, 8)
    # All 512 channels of 7 x 8 bytes are over the input buffer, but the 256 of one lot are not.
    assert conv_cost(LUNA_ARCS, Conv(window(7, 7, 3, 3, 1, 1, 1), 512, 4)).configuration == 300 + 4 * 1050
    high = conv_cost(LUNA_ARCS, Conv(window(14, 7, 3, 3, 1, 1, 1), 512, 4))
    assert high.configuration == 300 + 4 * (1050 + 2 * 1050 + 3 * 256)


def test_a_row_larger_than_the_input_buffer_is_cut() -> None:
    cost = conv_cost(LUNA_ARCS, Conv(window(2, 4096, 1, 1, 1, 0, 0), 8, 2))
    assert cost.configuration == 1350 + 2 * 2 * 1050 + 3 * 8


def test_wider_operands_take_longer_to_move_and_multiply() -> None:
    image = Conv(window(8, 8, 3, 3, 1, 1, 1), 8, 4)
    narrow, wide = conv_cost(LUNA_ARCS, image), conv_cost(LUNA_ARCS, image, bits=16)
    assert (wide.input_load, wide.weight_load) == (2 * narrow.input_load, 2 * narrow.weight_load)
    # Worked taps take 4 cycles; holding, bypassing and the start of a channel pair stay.
    sweep = column_sweep(LUNA_ARCS, image.window)
    repeats = 8 * 3 - 1 + 1
    assert wide.compute - narrow.compute == 2 * 3 * repeats * sweep.worked
    assert vector_cost(LUNA_ARCS, "add", 64, 16).cycles == vector_cost(LUNA_ARCS, "add", 128).cycles
    assert matmul_cost(LUNA_ARCS, Matmul(2, 4, 2), 12).cycles == 2255 + 2 + 2 + 1 + 16


def test_a_part_of_the_rows_loads_those_rows_and_sees_no_padding() -> None:
    whole = Conv(window(64, 16, 3, 3, 1, 1, 1), 16, 4)
    part = conv_cost(LUNA_ARCS, whole.part(8, 4))
    assert part.input_load == Fraction(10 * 16 * 16, 8)
    unpadded = replace(whole.window, in_h=10, out_h=8, pad_top=0, pad_bottom=0)
    assert part == conv_cost(LUNA_ARCS, Conv(unpadded, 16, 4))
    assert part.compute > conv_cost(LUNA_ARCS, Conv(window(8, 16, 3, 3, 1, 1, 1), 16, 4)).compute


def test_a_transposed_convolution_of_one_tap_per_phase_writes_each_phase() -> None:
    upsampling = Window(6, 8, 12, 16, 2, 2, 2, 2, transposed=True)
    phase = conv_cost(LUNA_ARCS, Conv(window(6, 8, 1, 1, 1, 0, 0), 8, 4)).cycles
    assert conv_cost(LUNA_ARCS, Conv(upsampling, 8, 4)).cycles == 4 * phase - 3 * 300


def test_the_error_for_an_unknown_vector_op_lists_the_known_ones() -> None:
    with pytest.raises(BadInput, match=r"'cosh'.*\n.*add, mul, relu, prelu, sigmoid, tanh"):
        vector_cost(LUNA_ARCS, "cosh", 10)


small = st.integers(1, 4)


@st.composite
def axes(draw: st.DrawFn, transposed: bool) -> tuple[int, int, int, int, int, int, int]:
    """(in, out, kernel, stride, pad before, pad after, dilation), kernels wider than images included."""
    size, kernel, stride, dilation = (
        draw(st.integers(1, 40)),
        draw(st.integers(1, 9)),
        draw(small),
        draw(small),
    )
    reach = dilation * (kernel - 1)
    before, after = draw(st.integers(0, reach + 2)), draw(st.integers(0, reach + 2))
    if transposed:
        out = (size - 1) * stride + reach + 1 - before - after
    else:
        out = (size + before + after - reach - 1) // stride + 1
    assume(out >= 1)
    return size, out, kernel, stride, before, after, dilation


@st.composite
def windows(draw: st.DrawFn, transposed: bool | None = None) -> Window:
    turned = draw(st.booleans()) if transposed is None else transposed
    in_h, out_h, kernel_h, stride_h, top, bottom, dilation_h = draw(axes(turned))
    in_w, out_w, kernel_w, stride_w, left, right, dilation_w = draw(axes(turned))
    sizes = (in_h, in_w, out_h, out_w, kernel_h, kernel_w, stride_h, stride_w)
    return Window(*sizes, top, left, bottom, right, dilation_h, dilation_w, turned)


@given(windows(transposed=True))
def test_phases_of_a_transposed_convolution_read_what_it_reads(image: Window) -> None:
    """The input columns of each output column, by its phase, against the definition."""
    phases = plain_windows(image)[: min(image.stride_w, image.out_w)]
    assert sum(phase.out_w for phase in phases) == image.out_w
    for column in range(image.out_w):
        q, low = divmod(column, image.stride_w)
        distances = (column + image.pad_left - t * image.dilation_w for t in range(image.kernel_w))
        expected = sorted(d // image.stride_w for d in distances if d % image.stride_w == 0)
        phase = phases[low]
        found = [q - phase.pad_left + t * phase.dilation_w for t in range(phase.kernel_w)]
        # Padding beyond the taps' reach crops the input, which a plain window cannot express.
        cropped = expected[0] - found[0] if expected and phase.pad_left == 0 else 0
        assert cropped >= 0
        assert expected == [i + cropped for i in found] if expected else phase.kernel_w == 1


def test_bands_out_of_step_with_a_stride_cost_at_least_their_bound() -> None:
    """A whole row aligns all of its windows with the padding on the left, of which a later band has none."""
    window = Window(15, 78, 11, 26, 5, 2, stride_h=1, stride_w=3, pad_left=1)
    op = Op("op", "depthwise_conv", Conv(window, 64, 64, groups=64, batch=3), ("x",), ("y",))
    npu = load_chip("luna-arcs").npu
    bands = [Band(Interval(0, 15), 26), Band(Interval(15, 26), 26)]
    cycles = sum(op_cycles(npu, op, rows, 64, band) for band in bands for rows in (32, 1))
    assert least_cycles(npu, op) > cycles >= least_cycles(npu, op, columns=True)
