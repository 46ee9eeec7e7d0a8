"""Which ops Vela leaves to the CPU: by the published lists of ethos-u-vela 4.5.0 and 5.2.0."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.attributes import AlongAxis, AxisOrder, OverAxes, Scaling
from chipmodel.npu.models import left_to_cpu
from workloads.build.builder import ProgramBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

    from workloads.build.shapes import Value

CHIPS = {
    "u55 4.5": load_chip("alif-e7"),
    "u55 5.2": load_chip("alif-e7", ("npu.ethos.compiler=vela-5.2",)),
    "u85 4.5": load_chip("corstone-320", ("npu.ethos.compiler=vela-4.5",)),
    "u85 5.2": load_chip("corstone-320"),
    "none": load_chip("luna-csk6"),
}


def turned(order: tuple[int, ...], shape: tuple[int, ...]) -> Callable[[ProgramBuilder], Value]:
    def build(to: ProgramBuilder) -> Value:
        made = tuple(shape[axis] for axis in order)
        return to.vector("transpose", "op", [to.input("x", shape)], made, attributes=AxisOrder(order))

    return build


def of_vectors(kind: str, size: int = 16, rows: int = 8) -> Callable[[ProgramBuilder], Value]:
    def build(to: ProgramBuilder) -> Value:
        along = AlongAxis(1, size)
        return to.vector(kind, "op", [to.input("x", (rows, size))], (rows, size), attributes=along)

    return build


def enlarged(factor: int) -> Callable[[ProgramBuilder], Value]:
    def build(to: ProgramBuilder) -> Value:
        shape, made = (1, 8, 6, 6), (1, 8, 6 * factor, 6 * factor)
        return to.vector("resize", "op", [to.input("x", shape)], made, attributes=Scaling())

    return build


def convolved(stride: int, pad: int = 0) -> Callable[[ProgramBuilder], Value]:
    return lambda to: to.conv("op", to.input("x", (1, 4, 32, 32)), 8, 8, stride=stride, pad=pad)


def averaged(axes: tuple[int, ...], shape: tuple[int, ...]) -> Callable[[ProgramBuilder], Value]:
    def build(to: ProgramBuilder) -> Value:
        made = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
        return to.vector("reduce_mean", "op", [to.input("x", shape)], made, attributes=OverAxes(axes))

    return build


ALL_BUT_85 = "u55 4.5, u55 5.2"
FOUR = "u55 4.5, u55 5.2, u85 4.5, u85 5.2"
LEFT: dict[str, tuple[Callable[[ProgramBuilder], Value], str]] = {
    "two activations": (
        lambda to: to.matmul("op", to.input("x", (8, 16)), to.input("y", (16, 8))),
        "u55 4.5",
    ),
    "a dense layer": (lambda to: to.dense("op", to.input("x", (1, 16)), 8), ""),
    "softmax": (of_vectors("softmax"), ""),
    "softmax of many lines": (of_vectors("softmax", size=2, rows=65536), "u55 4.5"),
    "a few classes": (of_vectors("argmax", size=127), ""),
    "many classes": (of_vectors("argmax", size=128), ALL_BUT_85),
    "two axes": (turned((1, 0), (8, 16)), ""),
    "two axes before the last": (turned((1, 0, 2), (8, 6, 16)), ""),
    "three axes": (turned((1, 2, 0), (8, 6, 16)), "u55 4.5"),
    "axes of one element": (turned((0, 2, 1), (1, 6, 16)), ""),
    "doubled": (enlarged(2), ""),
    "three times": (enlarged(3), ALL_BUT_85),
    "small steps": (convolved(3), ""),
    "patches": (convolved(8), "u55 4.5"),
    "patches with a border": (convolved(8, 1), ALL_BUT_85),
    "gelu": (of_vectors("gelu"), "u55 4.5, u85 4.5"),
    "a gather": (of_vectors("gather"), ALL_BUT_85),
    "pixels": (of_vectors("depth_to_space"), FOUR),
    "the sum": (of_vectors("cumsum"), FOUR),
    "a layer norm": (of_vectors("layer_norm"), ""),
    "a sigmoid gate": (of_vectors("silu"), ""),
    "a mean of an image": (averaged((2, 3), (1, 16, 8, 8)), ""),
    "a mean over channels": (averaged((1,), (1, 16, 8, 8)), FOUR),
    "a mean over channels of a row": (averaged((1,), (1, 16, 1, 8)), ""),
    "a mean over rows of a sequence": (averaged((1,), (1, 8, 16)), ""),
    "a mean over the last of three axes": (averaged((2,), (2, 8, 16)), FOUR),
    "a mean over a batch": (averaged((0,), (2, 4, 8, 8)), FOUR),
    "a mean of long lines": (averaged((1,), (8, 5000)), FOUR),
}


@pytest.mark.parametrize("name", LEFT)
def test_ops_that_are_left(name: str) -> None:
    build, left = LEFT[name]
    builder = ProgramBuilder(name)
    builder.output(build(builder))
    program = builder.build()
    found = [chip for chip, each in CHIPS.items() if left_to_cpu(each.npu, program)]
    assert ", ".join(found) == left


def test_floats_are_left() -> None:
    builder = ProgramBuilder("floats", dtype="float32")
    builder.output(builder.dense("op", builder.input("x", (1, 16)), 8))
    program = builder.build()
    assert [bool(left_to_cpu(each.npu, program)) for each in CHIPS.values()] == [True] * 4 + [False]
