"""The ``vector-cpu`` NPU model: kernels counted by hand, and a cache followed line by line."""

from dataclasses import replace
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given, settings, strategies as st

from bench.boards import load_board
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.window import Window
from chipmodel.hardware.chip_file import load_chip
from chipmodel.hardware.vector_cpu import DataCache
from chipmodel.model.cascade_work import Band
from chipmodel.model.program import Op
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, SingleWork, Vector
from chipmodel.npu.cycles import op_cycles
from chipmodel.npu.kernel_run import KernelRun
from chipmodel.npu.vector_cpu import refilled_lines

# Operands of 16 bytes a cycle and weights without a cache, so that instructions are nearly all.
SRAM = load_chip("esp32s3-sram", ["npu.launch_cycles=0"])
QUAD_PSRAM = 64 / 444
"""Bytes a cycle of Psram with four data lines at 80 MHz: 20 clocks of overhead and 128 of data a line."""


def cycles(work: SingleWork, *settings: str, kind: str = "conv", dtype: str = "int8") -> int:
    npu = load_chip("esp32s3-sram", ["npu.launch_cycles=0", *settings]).npu
    weights = () if isinstance(work, Vector | Pool) else ("w",)
    return op_cycles(npu, Op("op", kind, work, ("x",), ("y",), weights, dtype), work.rows, work.channels)


def pointwise(size: int, in_c: int, out_c: int) -> Conv:
    return Conv(Window(size, size, size, size, 1, 1), in_c, out_c)


def test_a_pointwise_convolution_of_esp_dl() -> None:
    """64 points of 45 cycles; for each of 2 vectors of outputs 30, 3 of loads, and 2 x 17 for 32 inputs."""
    moved = Fraction(64 * 32 + 64 * 32, 16)
    assert cycles(pointwise(8, 32, 32)) == 64 * (45 + 2 * (30 + 3 + 34)) + moved


def test_channels_left_over_take_slower_kernels() -> None:
    """24 outputs: one unaligned vector, and 8 single ones of 25 + 4 + 4 cycles for one vector of inputs."""
    moved = ceil(Fraction(64 * 16 + 64 * 24, 16))
    assert cycles(pointwise(8, 16, 24)) == 64 * (45 + (45 + 20) + 8 * (25 + 8)) + moved


def test_depthwise_and_wider_types_of_esp_dl() -> None:
    window = Window(8, 8, 8, 8, 3, 3, pad_top=1, pad_left=1, pad_bottom=1, pad_right=1)
    work = Conv(window, 32, 32, groups=32)
    assert cycles(work, kind="depthwise_conv") == 64 * (45 + 2 * (26 + 18)) + 256
    # Half as many elements in a vector: twice the vectors, each of 16 bytes.
    assert cycles(work, kind="depthwise_conv", dtype="int16") == 64 * (45 + 4 * (26 + 18)) + 512
    assert cycles(pointwise(8, 32, 32), dtype="int16") == 64 * (45 + 4 * (30 + 3 + 4 * 9)) + 512
    # Operands of 32 bits have no vectors.
    assert cycles(pointwise(8, 32, 32), dtype="float32") == 5 * 64 * 32 * 32 + 1024


def test_a_pointwise_convolution_of_esp_nn_takes_eight_points_at_once() -> None:
    """8 blocks, each 30 + 2 x 37 and for each of 16 outputs 166 + 2 x 14; the rest one by one."""
    kernels = "npu.vector.kernels=esp-nn"
    assert cycles(pointwise(8, 16, 16), kernels) == 8 * (104 + 16 * 194) + 128
    assert cycles(pointwise(3, 16, 16), kernels) == 104 + 16 * 194 + 16 * (110 + 24) + 18


def test_other_convolutions_of_esp_nn_pad_rows_of_the_kernel_to_vectors() -> None:
    """Rows of 3 x 16 elements are 3 vectors: 18 + 6 + 3; three of them and 53 for each output."""
    window = Window(8, 8, 6, 6, 3, 3)
    moved = ceil(Fraction(64 * 16 + 36 * 16, 16))
    assert cycles(Conv(window, 16, 16), "npu.vector.kernels=esp-nn") == 36 * (30 + 16 * (53 + 3 * 27)) + moved


@pytest.mark.parametrize(
    ("side", "channels", "block"),
    [(3, 8, 325), (3, 16, 464), (3, 24, 2 * 464), (5, 8, 375), (5, 24, 3 * 375)],
)
def test_depthwise_convolutions_of_esp_nn_take_blocks_of_channels(
    side: int, channels: int, block: int
) -> None:
    """Blocks of 16 channels for 3 x 3 kernels of more than 8, else of 8."""
    work = Conv(Window(9, 9, 10 - side, 10 - side, side, side), channels, channels, groups=channels)
    moved = ceil(Fraction((81 + (10 - side) ** 2) * channels, 16))
    predicted = cycles(work, "npu.vector.kernels=esp-nn", kind="depthwise_conv")
    assert predicted == (10 - side) ** 2 * block + moved


@pytest.mark.parametrize(
    ("kind", "broadcast", "each"),
    [("mul", (), 8), ("mul", (1,), 231), ("hard_swish", (), 126), ("maximum", (1,), 126)],
)
def test_functions_and_broadcasts_are_plain_c_beside_esp_nn(
    kind: str, broadcast: tuple[int, ...], each: int
) -> None:
    work = Vector(1600, 1600, 1600, broadcast=broadcast)
    assert cycles(work, "npu.vector.kernels=esp-nn", kind=kind) == 1600 * each + 200


def test_a_stripe_with_a_broadcast_operand_is_plain_c_too() -> None:
    npu = load_chip("esp32s3-sram", ["npu.launch_cycles=0", "npu.vector.kernels=esp-nn"]).npu
    op = Op("op", "mul", Vector(1600, 1600, 1600, 4, broadcast=(1,)), ("x", "gate"), ("y",))
    assert op_cycles(npu, op, 1, 1) == 400 * 231 + 50
    assert op_cycles(npu, op, 4, 1, Band(Interval(0, 1), 2)) == 800 * 231 + 100


def test_a_padded_convolution_of_esp_nn_copies_its_input() -> None:
    window = Window(6, 6, 6, 6, 3, 3, pad_top=1, pad_left=1, pad_bottom=1, pad_right=1)
    moved = Fraction(2 * 36 * 16 + 36 * 16 + 36 * 16, 16)
    assert cycles(Conv(window, 16, 16), "npu.vector.kernels=esp-nn") == 36 * (30 + 16 * 134) + moved


def test_work_in_place_finds_its_lines_in_the_cache_when_it_writes() -> None:
    npu = load_chip("esp32s3", ["npu.launch_cycles=0", "npu.write_bytes_per_cycle=0.25"]).npu
    op = Op("op", "mul", Vector(1000, 1000, 1000), ("x",), ("y",))
    read = 1000 / npu.read_bytes_per_cycle
    assert op_cycles(npu, op, 1, 1) == ceil(1000 + read + 4000)
    assert op_cycles(npu, replace(op, kind="relu"), 1, 1) == ceil(1000 + read)


def test_two_cores_share_a_convolution_of_more_than_four_kernels_of_rows() -> None:
    """esp-dl, dl_base.hpp: input_height > 4 * dilation_h * filter_height."""
    both = "npu.vector.cores=2"
    assert cycles(pointwise(8, 32, 32), both) == 32 * (45 + 2 * (30 + 37)) + 256
    assert cycles(pointwise(4, 32, 32), both) == cycles(pointwise(4, 32, 32))
    twelve, thirteen = (Conv(Window(h, 3, h - 2, 1, 3, 3), 16, 16, groups=16) for h in (12, 13))
    assert cycles(twelve, both, kind="depthwise_conv") == cycles(twelve, kind="depthwise_conv")
    assert cycles(thirteen, both, kind="depthwise_conv") < cycles(thirteen, kind="depthwise_conv")


def test_products_and_recurrent_work_are_points() -> None:
    assert cycles(Matmul(10, 32, 32), kind="matmul") == 10 * (45 + 2 * (30 + 37)) + 40
    assert cycles(Recurrent(10, 16, 16, gates=4), kind="lstm") == 10 * (45 + 4 * (30 + 37)) + 20


# espressif/esp-nn, README.md: ESP32-S3, 240 MHz, Psram with four data lines at 80 MHz, data external.
@pytest.mark.parametrize(
    ("kind", "work", "ticks"),
    [
        ("conv", pointwise(10, 64, 64), 331_008),
        ("conv", pointwise(8, 16, 16), 39_022),
        ("depthwise_conv", Conv(Window(18, 18, 16, 16, 3, 3), 16, 16, groups=16), 184_176),
    ],
)
def test_kernels_of_esp_nn_take_what_was_measured(kind: str, work: Conv, ticks: int) -> None:
    slow = [f"npu.{port}_bytes_per_cycle={QUAD_PSRAM:.4f}" for port in ("read", "write")]
    predicted = cycles(work, "npu.vector.kernels=esp-nn", *slow, kind=kind)
    assert predicted == pytest.approx(ticks, rel=0.15)


class CacheByLine:
    """A cache that is followed access by access."""

    def __init__(self, cache: DataCache) -> None:
        self.cache = cache
        self.sets: list[list[int]] = [[] for _ in range(cache.sets)]

    def misses(self, line: int) -> bool:
        lines = self.sets[line % self.cache.sets]
        known = line in lines
        if known:
            lines.remove(line)
        elif len(lines) == self.cache.ways:
            lines.pop(0)
        lines.append(line)
        return not known


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 90), st.integers(1, 12))
def test_a_filter_alone_in_the_cache_is_read_again_as_line_by_line(lines: int, passes: int) -> None:
    cache = DataCache(4 * 8 * 16, 4, 16)
    seen = CacheByLine(cache)
    misses = sum(seen.misses(line) for _ in range(passes) for line in range(lines))
    run = KernelRun(Fraction(0), Fraction(0), filter_bytes=16 * lines, passes=passes)
    assert refilled_lines(cache, run, Fraction(0), weighted=True) == misses - lines
    assert refilled_lines(cache, run, Fraction(0), weighted=False) == misses


@pytest.mark.parametrize("visitors", [1, 2, 8])
def test_operands_evict_a_filter_that_fills_the_cache(visitors: int) -> None:
    """In a full set one line of an operand costs every line of the filter there, once."""
    cache, passes = DataCache(64 * 1024, 8, 64), 50
    seen = CacheByLine(cache)
    filter_lines, operand, misses = 1024, 10_000, 0
    for _ in range(passes):
        for _ in range(visitors):
            seen.misses(operand)
            operand += 1
        misses += sum(seen.misses(line) for line in range(filter_lines))
    run = KernelRun(Fraction(0), Fraction(0), filter_bytes=64 * filter_lines, passes=passes)
    predicted = refilled_lines(cache, run, Fraction(64 * visitors * passes), weighted=True)
    assert predicted == pytest.approx(misses - filter_lines, rel=0.05)


def test_operands_that_the_second_cache_holds_pass_the_first_one_only() -> None:
    """All of the op counts, so that stripes of one that is too large do not become cheap."""
    sizes = (
        "npu.vector.cache.bytes=2KiB npu.vector.first_cache.bytes=1KiB npu.vector.first_cache.line_cycles=10"
    )
    board = load_chip("esp32s3", ["npu.launch_cycles=0", *sizes.split()]).npu

    def mul(size: int) -> Op:
        return Op("op", "mul", Vector(size, size, size, size), ("x",), ("y",))

    beyond = 1 / board.read_bytes_per_cycle + 1 / board.write_bytes_per_cycle
    assert op_cycles(board, mul(1024), 1024, 1) == 1024 + 2 * 16 * 10
    assert op_cycles(board, mul(1088), 1088, 1) == 1088 + ceil(2 * 17 * 10 + 1088 * beyond)
    assert op_cycles(board, mul(1088), 64, 1) == 64 + ceil(2 * 10 + 64 * beyond)


def test_a_filter_that_only_the_second_cache_holds_is_read_from_it_at_every_point() -> None:
    """YOLO11's convolution with 3 x 3 kernels from 128 to 128 channels: 147,968 bytes of filter and bias."""
    board = load_board("esp32p4", ["npu.launch_cycles=0"]).npu
    window = Window(10, 10, 10, 10, 3, 3, pad_top=1, pad_left=1, pad_bottom=1, pad_right=1)
    op = Op("op", "conv", Conv(window, 128, 128), ("x",), ("y",), ("w",))
    alone = replace(
        board,
        vector=replace(board.vector or pytest.fail("no vector unit"), first_cache_line_cycles=Fraction(0)),
    )
    further = op_cycles(board, op, 10, 128) - op_cycles(alone, op, 10, 128)
    assert further == 17 * (99 * 147_968 // 64 + 2 * 12_800 // 64)


def test_a_filter_beyond_the_cache_is_read_at_every_point() -> None:
    """MobileNetV2's last convolution, 320 to 1280 channels at 7 x 7: 414,720 bytes of filter and bias."""
    board = load_chip("esp32s3", ["npu.launch_cycles=0"]).npu
    work = pointwise(7, 320, 1280)
    op = Op("op", "conv", work, ("x",), ("y",), ("w",))
    resident = replace(board, vector=replace(SRAM.npu.vector or pytest.fail("no vector unit")))
    again = op_cycles(board, op, 7, 1280) - op_cycles(resident, op, 7, 1280)
    assert again == 48 * 414_720 // 64 * 174
    # In slices of output channels that fit the cache none is read again.
    parts = sum(op_cycles(board, op, 7, 160) for _ in range(8))
    assert parts < op_cycles(board, op, 7, 1280) / 4
