"""The class of a network follows from its tensors and the chip; what no measured network has is said."""

from dataclasses import replace

import pytest

from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip, with_overrides
from chipmodel.hardware.measured_networks import APART
from chipmodel.measured.track_record import track_record, traits_of
from chipmodel.model.program import Program
from dma.residency.fitted import fitted
from tests.support.narrowed import some
from tests.support.small_networks import small_network
from workloads.build.builder import ProgramBuilder
from workloads.load import load

BOARD = load_chip("stm32n6")


def program(size: int) -> Program:
    """A network that has two tensors of ``size`` bytes alive at once."""
    builder = ProgramBuilder("net")
    builder.conv("c", builder.input("x", (1, size // 1024, 32, 32)), size // 1024, 1, bias=False)
    return builder.build()


@pytest.mark.parametrize(
    ("size", "kind"),
    [
        (542 << 10, "tensors in SharedMemory"),
        (543 << 10, "tensors that may leave SharedMemory"),
        (1024 << 10, "tensors that may leave SharedMemory"),
        (1025 << 10, "tensors that leave SharedMemory"),
    ],
)
def test_tensors_alive_at_once_decide_the_class(size: int, kind: str) -> None:
    """2,816 KiB, of which 0.385 are 1,084 KiB; the smaller of the tool's two pools has 1,024 KiB."""
    assert traits_of(program(size), BOARD).kind == kind


def test_what_is_pooled_as_it_is_made_does_not_leave() -> None:
    """Tiny YOLO's first convolution has operands of 3,211 KiB, and no external RAM on the board
    (stm32ai-modelzoo, object_detection/yolov2t)."""
    traits = traits_of(load("zoo:tiny_yolov2?input=416&classes=1"), BOARD)
    assert traits.live_bytes > BOARD.shared_memory.bytes
    assert traits.kind == "tensors that may leave SharedMemory"


def test_the_kernels_of_a_cpu_are_part_of_the_class() -> None:
    other = load_chip("esp32s3", ["npu.vector.kernels=esp-nn"])
    assert traits_of(program(1024), other).kind == "esp-nn kernels and tensors in SharedMemory"


def test_a_measured_network_is_the_nearest_to_itself() -> None:
    record = some(track_record(load("zoo:yolo11?input=256&classes=1"), BOARD))
    assert record.nearest.workload == "zoo:yolo11?input=256&classes=1"
    assert record.warnings == ()
    assert len(some(record.like).networks) == 44


def test_kinds_and_sizes_that_were_not_measured_are_said() -> None:
    record = some(track_record(small_network("track_record net"), BOARD))
    kinds, sizes = record.warnings
    assert kinds == "no measured network has ops of kind gelu"
    assert sizes.startswith("this network is outside the measured sizes: 65.54 k MACs (measured: ")
    assert "64 bytes of weights (measured: 107.95 k or more)" in sizes


def test_of_a_class_that_is_too_far_off_no_error_is_promised() -> None:
    slow = tuple(replace(row, measured=2 * row.measured) for row in BOARD.measured)
    record = some(track_record(load("zoo:yolo11?input=256&classes=1"), replace(BOARD, measured=slow)))
    assert record.warnings[0].startswith(
        "no error can be promised of networks with tensors in SharedMemory: 5"
    )


def test_a_network_of_floats_is_like_none_that_was_measured() -> None:
    record = some(track_record(load("zoo:yolo11?input=256&classes=1", dtype="float32"), BOARD))
    assert "no measured network computes in float32" in record.warnings


def test_a_class_that_was_not_measured_is_said() -> None:
    few = tuple(row for row in BOARD.measured if row.traits.kind == "tensors in SharedMemory")
    record = some(track_record(program(1409 << 10), replace(BOARD, measured=few)))
    assert record.like is None
    assert record.interval(1.0) is None
    assert record.warnings[0] == "no measured network has tensors that leave SharedMemory"


def test_rows_of_other_networks_are_like_none() -> None:
    alone = tuple(replace(row, traits=replace(row.traits, kind=APART)) for row in BOARD.measured)
    assert track_record(program(1024), replace(BOARD, measured=alone)) is None
    assert track_record(program(1024), load_chip("gap9-psram")) is None


def test_the_interval_is_of_measured_by_predicted() -> None:
    chip: Chip = with_overrides(BOARD, ["core_mhz=1000"])
    record = some(track_record(load("zoo:mobilenetv2?width=0.35&input=128"), chip))
    like = some(record.like)
    low, high = like.interval
    assert record.interval(10.0) == (10 * low, 10 * high)
    inside = [row for row in like.networks if low <= row.measured / row.held_out <= high]
    assert len(inside) / len(like.networks) >= 0.8


def test_a_setting_that_was_not_measured_is_said() -> None:
    cores = "npu.vector.cores=2"
    network = load("zoo:mobilenetv2")
    known, changed = (
        some(track_record(network, load_chip("esp32s3", settings)))
        for settings in ([cores], [cores, "core_mhz=160"])
    )
    assert known.warnings == ()
    assert changed.warnings == ("no network was measured with core_mhz=160",)
    assert not load_chip("esp32s3", [cores]).before


def test_passes_of_an_op_that_does_not_fit_are_ops_of_its_kind() -> None:
    chip = load_chip("imx93")
    assert (
        traits_of(fitted(load("zoo:yolov8?input=320"), chip), chip).ops
        == traits_of(load("zoo:yolov8?input=320"), chip).ops
    )
