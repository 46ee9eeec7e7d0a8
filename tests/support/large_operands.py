"""Ops whose operands do not fit a small SharedMemory: ONNX models as exporters write them, shrunken."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np

from chipmodel.files.yaml_file import read_yaml
from tests.support.chips import LUNA_LIKE
from tests.support.folders import ROOT
from tests.support.onnx_operators import Case, operator_model
from tests.workloads.from_onnx.support_models import ints, model, node

SMALL = replace(LUNA_LIKE, shared_memory=replace(LUNA_LIKE.shared_memory, bytes=8 * 1024))
"""LUNA with 8 KiB: a sixty-fourth of 512 KiB, and the operands below have up to 40 KB."""


@dataclass(frozen=True)
class LargeOp:
    """A model, by a function, as making it needs onnx."""

    name: str
    make: Callable[[], Any]


TABLE = ROOT / "tests" / "data" / "large_operands.yaml"
ROWS = cast("Mapping[str, Case]", read_yaml(TABLE.read_text(), str(TABLE)).data)


def _rows(group: str) -> tuple[LargeOp, ...]:
    """The models of one node in the table."""
    own = {name: case for name, case in ROWS.items() if case["group"] == group}
    return tuple(LargeOp(name, partial(_model, case)) for name, case in own.items())


def _model(case: Case) -> Any:
    return operator_model(case)[1]


def _patch_embedding() -> Any:
    """ViT: the channels of an image become the features of its patches."""
    nodes = [
        node("Conv", "x w", "c", kernel_shape=[4, 4], strides=[4, 4]),
        node("Reshape", "c s", "r"),
        node("Transpose", "r", "y", perm=[0, 2, 1]),
    ]
    return model(nodes, {"x": [1, 3, 48, 48]}, "y", {"w": [160, 3, 4, 4], "s": ints(1, 160, 144)})


def _windows() -> Any:
    """Swin: an image becomes windows of 7 x 7 pixels."""
    nodes = [
        node("Reshape", "x s", "r"),
        node("Transpose", "r", "t", perm=[0, 1, 3, 2, 4, 5]),
        node("Reshape", "t u", "y"),
    ]
    return model(nodes, {"x": [1, 28, 28, 24]}, "y", {"s": ints(1, 4, 7, 4, 7, 24), "u": ints(16, 49, 24)})


def _attention() -> Any:
    """ViT: queries, keys and values of one product, for each head."""
    shapes = {"q": [4, 100, 60], "k": [100, 4, 60], "v": [4, 100, 60]}
    nodes = [
        node("Transpose", "k", "t", perm=[1, 2, 0]),
        node("MatMul", "q t", "s"),
        node("Softmax", "s", "p", axis=-1),
        node("MatMul", "p v", "y"),
    ]
    return model(nodes, shapes, "y")


def _retina_head() -> Any:
    """RetinaNet: scores of the anchors of each pixel, class by class; two levels of them joined."""
    nodes: list[Any] = []
    for level in ("a", "b"):
        nodes += [
            node("Conv", f"{level} w", f"{level}c", kernel_shape=[1, 1]),
            node("Reshape", f"{level}c {level}s", f"{level}r"),
            node("Transpose", f"{level}r", f"{level}t", perm=[0, 3, 4, 1, 2]),
            node("Reshape", f"{level}t {level}u", f"{level}y"),
        ]
    nodes.append(node("Concat", "ay by", "y", axis=1))
    constants: dict[str, Any] = {"w": [45, 8, 1, 1]}
    constants |= {f"{n}s": ints(1, 9, 5, size, size) for n, size in (("a", 16), ("b", 8))}
    constants |= {f"{n}u": ints(1, 9 * size * size, 5) for n, size in (("a", 16), ("b", 8))}
    return model(nodes, {"a": [1, 8, 16, 16], "b": [1, 8, 8, 8]}, "y", constants)


CUT: tuple[LargeOp, ...] = (
    *_rows("cut"),
    LargeOp("patch embedding", _patch_embedding),
    LargeOp("windows", _windows),
    LargeOp("attention", _attention),
    LargeOp("anchors", _retina_head),
)
"""Models with ops that are cut along axes of their outputs."""


def _flattened() -> Any:
    """The features of an image, flattened for a dense layer: channels were outermost, and lie between."""
    nodes = [
        node("Conv", "x k", "c", kernel_shape=[1, 1]),
        node("Reshape", "c s", "f"),
        node("MatMul", "f w", "y"),
    ]
    constants: dict[str, Any] = {"k": [24, 4, 1, 1], "s": ints(1, -1), "w": [24 * 24 * 24, 3]}
    return model(nodes, {"x": [1, 4, 24, 24]}, "y", constants)


def _tokens() -> Any:
    """SegFormer: the pixels of an image become tokens, which are multiplied, and an image again."""
    nodes = [
        node("Reshape", "x s", "r"),
        node("Transpose", "r", "t", perm=[0, 2, 1]),
        node("MatMul", "t w", "m"),
        node("Transpose", "m", "b", perm=[0, 2, 1]),
        node("Reshape", "b u", "i"),
        node("Conv", "i k", "y", kernel_shape=[1, 1]),
    ]
    constants: dict[str, Any] = {
        "s": ints(1, 16, 1024),
        "w": [16, 16],
        "u": ints(1, 16, 32, 32),
        "k": [8, 16, 1, 1],
    }
    return model(nodes, {"x": [1, 16, 32, 32]}, "y", constants)


def _dynamically_quantised() -> Any:
    nodes = [
        node("DynamicQuantizeLinear", "x", "q s z"),
        node("MatMulInteger", "q w z", "m"),
        node("Cast", "m", "f", to=1),
        node("Mul", "f s", "y"),
    ]
    return model(nodes, {"x": [160, 64]}, "y", {"w": np.zeros((64, 8), np.uint8)})


def _wide_residual() -> Any:
    """A depthwise convolution over time with a shortcut around it, as keyword spotters have."""
    nodes = [
        node("Conv", "x k", "c", kernel_shape=[1, 9], pads=[0, 4, 0, 4], group=4),
        node("Add", "c x", "y"),
    ]
    return model(nodes, {"x": [1, 4, 1, 5000]}, "y", {"k": [4, 1, 1, 9]})


def _lstm(outputs: str, directions: int = 2, states: str = "") -> Callable[[], Any]:
    """An LSTM over 500 steps of a batch of two, with ``outputs`` of Y and Y_h, and initial ``states``."""

    def make() -> Any:
        way = "bidirectional" if directions == 2 else "forward"
        inputs = f"x w r b _ {states}" if states else "x w r b"
        nodes = [node("LSTM", inputs, outputs, hidden_size=8, direction=way)]
        shapes = {"x": [500, 2, 10], **{name: [directions, 2, 8] for name in states.split()}}
        constants: dict[str, Any] = {
            "w": [directions, 32, 10],
            "r": [directions, 32, 8],
            "b": [directions, 64],
        }
        return model(nodes, shapes, outputs.removeprefix("_ "), constants)

    return make


SEQUENCES: tuple[LargeOp, ...] = (
    LargeOp("two directions", _lstm("y")),
    LargeOp("two directions and a state", _lstm("y h")),
    LargeOp("last state of two directions", _lstm("_ h", states="s t")),
    LargeOp("last state", _lstm("_ h", 1)),
)
"""Models with recurrent layers of which not all time steps fit, which run direction by direction."""


WIDE = (*_rows("wide"), LargeOp("wide with a shortcut", _wide_residual))
"""Models with windows on images of which no row fits, which run in bands of columns."""


REWRITTEN: tuple[LargeOp, ...] = (
    *_rows("rewritten"),
    LargeOp("flattened", _flattened),
    LargeOp("tokens", _tokens),
    LargeOp("dynamically quantised", _dynamically_quantised),
    *WIDE,
    *SEQUENCES,
)
"""Models with ops that become several ops, or run piece by piece."""
