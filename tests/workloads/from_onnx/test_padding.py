"""Which Pads become the padding of the op that reads them; that they compute the same is tested with
``chipmodel.execute``."""

from pathlib import Path
from typing import Any

import numpy
import pytest

from chipmodel.model.program import Program
from chipmodel.model.work import Conv
from tests.support.narrowed import of_kind
from tests.workloads.from_onnx.support_models import ints, kinds, load, model, node, operations

IMAGE = {"x": [1, 4, 7, 6]}
PADS = ints(0, 0, 0, 1, 0, 0, 1, 2)
CONV = node("Conv", "p w", "y", kernel_shape=[3, 3], pads=[1, 0, 0, 0])


def scalar(value: float, kind: str = "f") -> Any:
    return numpy.array(value, kind)


def _loaded(tmp_path: Path, *nodes: Any, outputs: str = "y", **constants: Any) -> Program:
    known = {"pads": PADS, "w": (8, 4, 3, 3), **constants}
    return load(tmp_path, model(nodes, IMAGE, outputs, known))


def test_the_padding_is_added_to_the_convolutions_own(tmp_path: Path) -> None:
    program = _loaded(tmp_path, node("Pad", "x pads", "p"), CONV)
    (op,) = operations(program)
    window = of_kind(Conv, op.work).window
    assert (window.in_h, window.in_w, window.out_h, window.out_w) == (7, 6, 7, 7)
    assert (window.pad_top, window.pad_left, window.pad_bottom, window.pad_right) == (1, 1, 1, 2)
    assert list(program.tensors) == ["x", "y"]


def test_a_pad_that_crops_stays(tmp_path: Path) -> None:
    cropped = _loaded(tmp_path, node("Pad", "x pads", "p"), CONV, pads=ints(0, 0, -1, 0, 0, 0, 0, 1))
    assert kinds(cropped) == ["pad", "conv"]


def test_a_pad_that_others_read_stays(tmp_path: Path) -> None:
    nodes = [node("Pad", "x pads", "p"), CONV]
    assert kinds(_loaded(tmp_path, *nodes, node("Relu", "p", "z"), outputs="y z")) == ["pad", "conv", "relu"]
    assert kinds(_loaded(tmp_path, *nodes, outputs="y p")) == ["pad", "conv"]


@pytest.mark.parametrize(("value", "kept"), [(3, ["conv"]), (0, ["pad", "conv"])])
def test_an_integer_convolution_pads_with_its_zero_point(value: int, kept: list[str], tmp_path: Path) -> None:
    nodes = [
        node("QuantizeLinear", "x scale point", "q"),
        node("Pad", "q pads value", "p"),
        node("QLinearConv", "p scale point w scale zero scale point", "y"),
    ]
    constants: dict[str, Any] = {
        "scale": scalar(0.5),
        "point": scalar(3, "int8"),
        "zero": scalar(0, "int8"),
        "value": scalar(value, "int8"),
        "w": numpy.zeros((8, 4, 3, 3), "int8"),
    }
    assert kinds(_loaded(tmp_path, *nodes, **constants)) == kept


@pytest.mark.parametrize(("point", "kept"), [(0, ["max_pool"]), (3, ["pad", "max_pool"])])
def test_what_is_quantised_from_zero_on_is_not_negative(point: int, kept: list[str], tmp_path: Path) -> None:
    """ONNX Runtime's quantiser leaves out a Relu in front of such a node."""
    nodes = [
        node("QuantizeLinear", "x scale point", "q"),
        node("DequantizeLinear", "q scale point", "d"),
        node("Pad", "d pads", "p"),
        node("MaxPool", "p", "y", kernel_shape=[3, 3]),
    ]
    assert kinds(_loaded(tmp_path, *nodes, scale=scalar(0.5), point=scalar(point, "uint8"))) == kept
