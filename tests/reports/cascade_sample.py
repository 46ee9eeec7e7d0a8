"""A run with a cascade: three convolutions in stripes, whose tensors in between exist only as rows."""

from dataclasses import replace
from functools import lru_cache

from chipmodel.answers.result import Result
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from tests.support.small_networks import small_network
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.load import load

INSIDE = ("first", "second", "third")
NAME = "first..third"


def cascaded_program(iterations: int = 0) -> Program:
    """A 16-channel stem, a wide convolution, a strided one and a head; the first three may be a cascade,
    inside of a loop where there are ``iterations``."""
    b = ProgramBuilder("cascaded", source="cascaded.yaml")
    x = b.input("image", (1, 8, 32, 32))
    if iterations:
        with b.block() as body:
            third = _three(b, x)
        b.add_loop("again", iterations, body)
    else:
        third = _three(b, x)
    flat = b.pool("mean", third, None, kind="average_pool")
    b.output(b.dense("head", b.flatten(flat), 10))
    return b.build()


def _three(b: ProgramBuilder, x: Value) -> Value:
    first = b.conv("first", x, 16, 3, pad=1)
    second = b.conv("second", first, 32, 3, pad=1)
    return b.conv("third", second, 16, 3, pad=1, stride=2)


BANDED = ("left", "right")


@lru_cache
def in_bands(rolls: bool = True) -> Result:
    """Two convolutions on rows of 512 bytes in 4 KiB, in which three of them have no place."""
    chip = load_chip("alif-e7", ["shared_memory.bytes=3072"])
    chip = replace(chip, npu=replace(chip.npu, rolling_buffers=rolls))
    return run(PlanRequest(small_network("banded"), chip, "large-first", "sync", cascade=",".join(BANDED)))


@lru_cache
def cascaded(
    iterations: int = 0, rolls: bool = True, capacity: int = 40960, cascade: str = ",".join(INSIDE)
) -> Result:
    """The program on a chip with 40 KiB, where the tensor between ``first`` and ``second`` alone takes 16
    KiB, and that after it 32 KiB."""
    chip = load_chip("alif-e7", [f"shared_memory.bytes={capacity}"])
    chip = replace(chip, npu=replace(chip.npu, rolling_buffers=rolls))
    request = PlanRequest(
        cascaded_program(iterations), chip, packer="large-first", streamer="ping-pong", cascade=cascade
    )
    return run(request)


ON_CORES = ("v1", "v2", "v3"), ("a1", "a2")
"""The ops of the cascades of ``cascaded_on_cores``, by core."""


@lru_cache
def cascaded_on_cores() -> Result:
    """A network on two cores of 64 KiB, with a cascade on each."""
    chip = load_chip("alif-e7", ["shared_memory.bytes=64KiB", "cores=2"])
    named = ",".join(name for ops in ON_CORES for name in ops)
    program = reuse(load("workloads/two_cores.yaml"), "all")
    return run(PlanRequest(program, chip, packer="large-first", streamer="ping-pong", cascade=named))
