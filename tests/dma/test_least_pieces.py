"""The bound on parts, compared with the best part of small products."""

from itertools import product

import pytest

from chipmodel.model.commands import Compute
from chipmodel.model.program import Program
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from dma.residency.fitted import fitted
from dma.schedule.least_pieces import least_parts
from tests.support.chips import LUNA_LIKE, with_memory
from workloads.build.builder import ProgramBuilder
from workloads.zoo import build


def dense(rows: int, inner: int, out: int, dtype: str = "int8") -> Program:
    builder = ProgramBuilder("dense", dtype)
    x = builder.input("x", (rows, inner))
    builder.output(builder.dense("d", x, out, bias=False))
    return builder.build()


def conv(size: int, channels: int, out: int, kernel: int, stride: int, pad: int = 0) -> Program:
    builder = ProgramBuilder("conv")
    x = builder.input("x", (1, channels, size, size))
    builder.output(builder.conv("c", x, out, kernel, stride=stride, pad=pad, bias=False))
    return builder.build()


@pytest.mark.parametrize("size", [12, 50, 130])
def test_no_part_of_a_product_does_more(size: int) -> None:
    program = dense(12, 10, 11)
    boxes = product(range(1, 13), range(1, 11), range(1, 12))
    best = max(i * k * j for i, k, j in boxes if i * k + k * j + i * j <= size)
    assert 0 < least_parts(program, size) * best <= 12 * 10 * 11


@pytest.mark.parametrize(("size", "kernel", "stride"), [(60, 3, 1), (90, 3, 2), (150, 2, 1), (100, 3, 1)])
def test_no_part_of_a_convolution_does_more(size: int, kernel: int, stride: int) -> None:
    program = conv(16, 4, 4, kernel, stride)
    side = (16 - kernel) // stride + 1
    best = 0
    for height, width, inner, out in product(*(range(1, side + 1),) * 2, *(range(1, 5),) * 2):
        image = ((height - 1) * stride + kernel) * ((width - 1) * stride + kernel) * inner
        taps = inner * out * kernel * kernel
        if image + taps + height * width * out <= size:
            best = max(best, height * width * taps)
    assert 0 < least_parts(program, size) * best <= side * side * 4 * 4 * kernel * kernel


def test_what_reads_nothing_at_the_border_does_not_count() -> None:
    """Of 9 positions of the window, one is inside of an image of one pixel."""
    assert least_parts(conv(1, 16, 16, 3, 1, pad=1), 8) == 0
    assert least_parts(conv(3, 16, 16, 3, 1, pad=1), 300) <= least_parts(conv(3, 16, 16, 3, 1), 300)


def test_narrow_elements_are_more_in_a_byte() -> None:
    assert least_parts(dense(64, 64, 64, "int4"), 100) < least_parts(dense(64, 64, 64), 100)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1024, 2048])
def test_plans_have_as_many_parts_at_least(size: int) -> None:
    chip = with_memory(LUNA_LIKE, size)
    program = build("resnet8", {}, None)
    planned = plan(PlanRequest(fitted(program, chip), chip, streamer="sync", cascade="off"))
    assert 1 < least_parts(program, size) <= sum(isinstance(each, Compute) for each in planned.commands)
