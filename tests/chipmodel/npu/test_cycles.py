"""The ``array`` NPU model: padded MACs over MACs per cycle, or bytes through the ports."""

from dataclasses import replace
from fractions import Fraction

from chipmodel.geometry.window import Window
from chipmodel.hardware.chip import ArrayCosts, Npu
from chipmodel.model.program import InPlaceWeights, Op
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, SingleWork, Vector
from chipmodel.npu.array import OpKind, array_cycles, padded_macs, rows_read
from chipmodel.npu.cycles import op_cycles
from chipmodel.npu.least_costs import least_cycles
from tests.support.chips import LUNA_LIKE

NPU = LUNA_LIKE.npu
SAME = Window(8, 10, 8, 10, 3, 3, pad_top=1, pad_left=1, pad_bottom=1, pad_right=1)


def work_cycles(npu: Npu, work: SingleWork, dtype: str) -> int:
    return array_cycles(npu, work, dtype, OpKind())


def test_convolution_is_padded_to_8_inputs_2_outputs_4_columns() -> None:
    assert padded_macs(NPU, Conv(SAME, 3, 5)) == 8 * 6 * 8 * 12 * 9
    assert work_cycles(NPU, Conv(SAME, 3, 5), "int8") == 8 * 6 * 8 * 12 * 9 // 64


def test_wider_types_run_at_their_own_rate() -> None:
    work = Conv(SAME, 8, 4)
    assert work_cycles(NPU, work, "int16") == 4 * work_cycles(NPU, work, "int8")
    assert work_cycles(NPU, work, "float32") == 16 * work_cycles(NPU, work, "uint8")


def test_depthwise_uses_one_input_lane_and_groups_run_one_by_one() -> None:
    assert padded_macs(NPU, Conv(SAME, 6, 6, groups=6)) == 8 * 6 * 8 * 12 * 9
    assert padded_macs(NPU, Conv(SAME, 6, 6, groups=2)) == 2 * 8 * 4 * 8 * 12 * 9


def test_the_length_of_a_1d_convolution_is_mapped_to_the_columns() -> None:
    sequence = Conv(Window(100, 1, 100, 1, 3, 1, pad_top=1, pad_bottom=1), 8, 2)
    assert padded_macs(NPU, sequence) == 8 * 2 * 100 * 3


def test_matmul_is_padded_to_2_8_4() -> None:
    assert padded_macs(NPU, Matmul(1, 9, 5)) == 2 * 16 * 8


def test_pooling_and_recurrent_work() -> None:
    assert padded_macs(NPU, Pool(Window(8, 8, 4, 4, 2, 2, 2, 2), 3)) == 8 * 4 * 4 * 4 * 4
    assert padded_macs(NPU, Recurrent(5, 3, 4, gates=4)) == 5 * 2 * (8 + 8) * 16


def test_vector_work_is_bound_by_the_slower_port() -> None:
    assert work_cycles(NPU, Vector(800, 800, 800), "int8") == 100
    assert work_cycles(NPU, Vector(800, 8, 800), "int8") == 50


def test_operands_overlap_with_computing_or_take_turns() -> None:
    # 41,472 padded MACs at 864 a cycle, 480 bytes read at 8 and written at 16 a cycle.
    work, npu = Conv(SAME, 6, 6, groups=6), replace(NPU, macs_per_cycle={8: Fraction(864)})
    assert work_cycles(npu, work, "int8") == 48
    assert work_cycles(replace(npu, costs=ArrayCosts(operands="overlap")), work, "int8") == 60
    serial = replace(npu, costs=ArrayCosts(operands="serial", launch_cycles=1000))
    assert work_cycles(serial, work, "int8") == 1000 + 48 + 60 + 30
    assert work_cycles(serial, Vector(800, 800, 800), "int8") == 1000 + 100 + 50
    assert work_cycles(replace(npu, costs=ArrayCosts(operands="one port")), work, "int8") == 60 + 30


def test_each_output_of_work_with_macs_is_scaled() -> None:
    npu = replace(NPU, costs=ArrayCosts(output_cycles=Fraction(3)))
    work, plain = Conv(SAME, 6, 6, groups=6), work_cycles(NPU, Conv(SAME, 6, 6, groups=6), "int8")
    assert work_cycles(npu, work, "int8") == plain + 3 * 480
    pool = Pool(Window(8, 8, 4, 4, 2, 2, 2, 2), 3)
    assert work_cycles(npu, pool, "int8") == work_cycles(NPU, pool, "int8")


def test_taps_are_addressed_one_by_one_where_a_kernel_takes_no_pixels_as_they_lie() -> None:
    """80 positions of 9 taps, whatever the channels; a 1x1 kernel reads pixels as they lie."""
    npu = replace(NPU, costs=ArrayCosts(tap_cycles=Fraction(3)))
    for groups in (1, 6):
        work = Conv(SAME, 6, 6, groups=groups)
        assert work_cycles(npu, work, "int8") == work_cycles(NPU, work, "int8") + 3 * 9 * 80
    pointwise = Conv(Window(8, 10, 8, 10, 1, 1, 1, 1), 6, 6)
    assert work_cycles(npu, pointwise, "int8") == work_cycles(NPU, pointwise, "int8")
    halving = Conv(Window(8, 10, 4, 5, 1, 1, 2, 2), 6, 6)
    assert work_cycles(npu, halving, "int8") == work_cycles(NPU, halving, "int8") + 3 * 20


def test_a_cpu_reads_weights_in_place_before_it_computes_and_an_npu_meanwhile() -> None:
    read = InPlaceWeights(("w",), Fraction(1000), 7)
    op = Op("d", "conv", Conv(SAME, 6, 6), ("x",), ("y",), weights_in_place=read)
    alone = op_cycles(NPU, replace(op, weights_in_place=None), 8, 6)
    assert op_cycles(NPU, op, 8, 6) == max(alone, 1000) + 7
    cpu = replace(NPU, costs=ArrayCosts(operands="serial"))
    alone = op_cycles(cpu, replace(op, weights_in_place=None), 8, 6)
    assert op_cycles(cpu, op, 8, 6) == alone + 1000 + 7
    assert least_cycles(cpu, op) == alone + 1000 + 7


def test_large_depthwise_kernels_take_several_passes_over_the_operands() -> None:
    wide = replace(SAME, kernel_h=5, kernel_w=5, pad_top=2, pad_left=2, pad_bottom=2, pad_right=2)
    small, large = (Conv(window, 6, 6, groups=6) for window in (SAME, wide))
    costs = ArrayCosts(operands="one port", depthwise_kernel=3)
    npu = replace(NPU, macs_per_cycle={8: Fraction(10**6)}, costs=costs)
    assert work_cycles(npu, small, "int8") == 60 + 30
    assert work_cycles(npu, large, "int8") == 4 * (60 + 30)


def test_the_cpu_does_what_the_npu_cannot() -> None:
    rates = {"broadcast": Fraction(9), "softmax": Fraction(2), "batch_norm": Fraction(3)}
    npu = replace(NPU, costs=ArrayCosts(launch_cycles=5, on_cpu=rates))
    scale = Vector(800, 900, 800, rows=8, broadcast=(1,))
    assert op_cycles(npu, Op("s", "mul", scale, ("x", "y"), ("z",)), 8, 1) == 5 + 9 * 800
    assert op_cycles(npu, Op("s", "mul", scale, ("x", "y"), ("z",)), 4, 1) == 5 + 9 * 400
    assert op_cycles(npu, Op("m", "mul", replace(scale, broadcast=()), ("x", "y"), ("z",)), 8, 1) == 5 + 113
    assert op_cycles(npu, Op("p", "softmax", Vector(10, 10, 10), ("x",), ("y",)), 1, 1) == 5 + 20
    assert op_cycles(npu, Op("n", "batch_norm", Vector(10, 10, 10), ("x",), ("y",)), 1, 1) == 5 + 30


def test_pooling_may_have_a_rate_of_its_own() -> None:
    pool = Pool(Window(8, 8, 4, 4, 2, 2, 2, 2), 3)
    assert (
        work_cycles(replace(NPU, costs=ArrayCosts(window_elements_per_cycle=Fraction(4))), pool, "int8") == 48
    )


def test_only_rows_that_a_window_touches_are_read() -> None:
    assert rows_read(Window(9, 9, 5, 5, 1, 1, 2, 2)) == 5
    assert rows_read(Window(10, 10, 4, 4, 3, 3, 2, 2)) == 9
    assert rows_read(SAME) == 8


def test_cycles_given_by_the_user_are_divided_among_parts() -> None:
    op = Op("a", "conv", Conv(SAME, 4, 4), ("x",), ("y",), cycles=1001)
    assert op_cycles(NPU, op, 8, 4) == 1001
    assert op_cycles(NPU, op, 4, 4) == 501
    assert op_cycles(NPU, op, 4, 1) == 126
