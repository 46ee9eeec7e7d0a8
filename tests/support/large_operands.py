"""Ops whose operands do not fit a small SharedMemory: ONNX models as exporters write them, shrunken."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tests.support.chips import LUNA_LIKE
from tests.workloads.from_onnx.support_models import ints, model, node

SMALL = replace(LUNA_LIKE, shared_memory=replace(LUNA_LIKE.shared_memory, bytes=8 * 1024))
"""LUNA with 8 KiB: a sixty-fourth of 512 KiB, and the operands below have up to 40 KB."""
INT64 = 7


@dataclass(frozen=True)
class LargeOp:
    """A model, by a function, as making it needs onnx."""

    name: str
    make: Callable[[], Any]


def _op(name: str, text: str, shapes: dict[str, list[int]], **options: Any) -> LargeOp:
    """One node ``Kind a b -> y z`` with these input shapes; ``constants``, ``types`` and ``declared`` as for
    ``model``."""
    constants, types = options.pop("constants", {}), options.pop("types", {})
    domain, declared = options.pop("domain", ""), options.pop("declared", {})
    made, _, outputs = text.partition(" -> ")
    kind, _, inputs = made.partition(" ")

    def make() -> Any:
        nodes = [node(kind, inputs, outputs, domain=domain, **options)]
        return model(nodes, shapes, outputs, constants, types=types, declared=declared)

    return LargeOp(name, make)


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
    _op(
        "crop",
        "Slice x a b c -> y",
        {"x": [2, 9, 9000]},
        constants={"a": ints(0, 0), "b": ints(5, 4101), "c": ints(1, 2)},
    ),
    _op("transpose", "Transpose x -> y", {"x": [120, 150]}, perm=[1, 0]),
    _op("heads", "Transpose x -> y", {"x": [1, 61, 3, 4, 24]}, perm=[2, 0, 3, 1, 4]),
    LargeOp("patch embedding", _patch_embedding),
    LargeOp("windows", _windows),
    LargeOp("attention", _attention),
    LargeOp("anchors", _retina_head),
    _op("expand", "Expand x s -> y", {"x": [1, 90, 64]}, constants={"s": ints(3, 90, 64)}),
    _op("tile", "Tile x s -> y", {"x": [1, 5120]}, constants={"s": ints(5, 1)}),
    _op("mean of channels", "ReduceMean x -> y", {"x": [1, 128, 100]}, axes=[1], keepdims=0),
    _op("softmax of channels", "Softmax x -> y", {"x": [1, 128, 100]}, axis=1),
    _op("best channel", "ArgMax x -> y", {"x": [1, 128, 100]}, axis=1, keepdims=0),
    _op("grid sample", "GridSample x g -> y", {"x": [1, 16, 24, 24], "g": [1, 4, 24, 2]}),
    _op(
        "embedding",
        "Gather w i -> y",
        {"i": [1, 90]},
        types={"i": INT64},
        constants={"w": np.zeros((500, 100), np.float32)},
    ),
    _op("gather", "Gather x i -> y", {"x": [1, 90, 96], "i": [4]}, types={"i": INT64}, axis=1),
    _op("concat of rows", "Concat a b c -> y", {"a": [1, 900, 7], "b": [1, 400, 7], "c": [1, 9, 7]}, axis=1),
    _op("concat of a row", "Concat a b -> y", {"a": [1, 9000], "b": [1, 9000]}, axis=1),
    _op("split", "Split x -> a b c", {"x": [3, 64, 48]}, axis=0),
    _op("positions", "Add x w -> y", {"x": [1, 90, 100]}, constants={"w": [1, 90, 100]}),
    _op(
        "instance norm",
        "InstanceNormalization x s b -> y",
        {"x": [1, 8, 40, 40]},
        constants={"s": [8], "b": [8]},
    ),
    _op("mask", "Where c x z -> y", {"c": [1, 1, 90, 90], "x": [4, 1, 90, 90], "z": [1]}, types={"c": 9}),
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


WIDE: tuple[LargeOp, ...] = (
    _op(
        "wide convolution",
        "Conv x w -> y",
        {"x": [1, 1, 1, 16000]},
        constants={"w": [6, 1, 1, 10]},
        kernel_shape=[1, 10],
        strides=[1, 5],
    ),
    _op(
        "wide image",
        "Conv x w -> y",
        {"x": [1, 3, 5, 3000]},
        constants={"w": [4, 3, 3, 3]},
        kernel_shape=[3, 3],
        pads=[1, 1, 1, 1],
        dilations=[1, 2],
    ),
    _op(
        "image of many channels",
        "Conv x w -> y",
        {"x": [1, 320, 6, 16]},
        constants={"w": [320, 1, 3, 3]},
        group=320,
        pads=[1, 1, 1, 1],
    ),
    _op(
        "two wide images",
        "MaxPool x -> y",
        {"x": [2, 3, 2, 8002]},
        kernel_shape=[1, 4],
        strides=[1, 3],
        pads=[0, 2, 0, 1],
    ),
    _op(
        "wide transposed convolution",
        "ConvTranspose x w -> y",
        {"x": [1, 2, 1, 3000]},
        constants={"w": [2, 3, 1, 5]},
        kernel_shape=[1, 5],
        strides=[1, 3],
        pads=[0, 1, 0, 1],
    ),
    _op("wide mean", "AveragePool x -> y", {"x": [1, 2, 1, 9000]}, kernel_shape=[1, 5], pads=[0, 2, 0, 2]),
    LargeOp("wide with a shortcut", _wide_residual),
)
"""Models with windows on images of which no row fits, which run in bands of columns."""


REWRITTEN: tuple[LargeOp, ...] = (
    _op("long dense", "MatMul x w -> y", {"x": [1, 20000]}, constants={"w": [20000, 4]}),
    _op("deep", "Conv x w -> y", {"x": [1, 512, 6, 6]}, constants={"w": [4, 512, 3, 3]}, kernel_shape=[3, 3]),
    _op(
        "large kernel",
        "Conv x w -> y",
        {"x": [1, 16, 24, 24]},
        constants={"w": [2, 16, 22, 22]},
        kernel_shape=[22, 22],
    ),
    _op("wide product", "MatMul a b -> y", {"a": [2, 10, 90], "b": [2, 90, 120]}),
    LargeOp("flattened", _flattened),
    LargeOp("tokens", _tokens),
    LargeOp("dynamically quantised", _dynamically_quantised),
    _op("mean of all", "ReduceMean x -> y", {"x": [128, 160]}, keepdims=0),
    _op("mean of a large image", "GlobalAveragePool x -> y", {"x": [1, 1, 120, 120]}),
    _op("softmax of a long row", "Softmax x -> y", {"x": [2, 12000]}, axis=-1),
    _op(
        "norm of a long row",
        "LayerNormalization x s -> y",
        {"x": [1, 12000]},
        constants={"s": [12000]},
        axis=-1,
    ),
    _op("best of a long row", "TopK x k -> y j", {"x": [1, 20000]}, constants={"k": ints(16)}, axis=-1),
    _op("unknown", "Wobble x -> y", {"x": [1, 80, 128]}, domain="my.ops", declared={"y": [1, 80, 128]}),
    *WIDE,
    *SEQUENCES,
    _op("scatter", "ScatterND x i u -> y", {"x": [80, 128], "i": [4, 1], "u": [4, 128]}, types={"i": INT64}),
)
"""Models with ops that become several ops, or run piece by piece."""
