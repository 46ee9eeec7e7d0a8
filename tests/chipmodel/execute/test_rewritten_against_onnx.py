"""An op that the importer makes of several nodes together depends on what it says that it reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.support.onnx_oracle import Array, check_reads, imported, needless_rows, real_model


def floats(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).normal(0, 1, shape).astype(np.float32)


def node(op: str, inputs: str, output: str, **attributes: Any) -> Any:
    """A node; inputs are names separated by spaces."""
    return helper.make_node(op, inputs.split(), [output], name=output, **attributes)


@dataclass(frozen=True, slots=True)
class Case:
    """Nodes of the input ``x``, and the kinds of the ops that they become."""

    nodes: Sequence[Any]
    kinds: Sequence[str]
    constants: Mapping[str, Any] = field(default_factory=dict[str, Any])
    shape: tuple[int, ...] = (2, 4, 7, 6)


PADS = np.array([0, 0, 0, 1, 0, 0, 1, 2])
"""Rows 0 and 1, columns 1 and 2."""
WEIGHTS = {"pads": PADS, "w": floats(2, 5, 4, 3, 3) / 4, "b": floats(3, 5)}
LEAST = np.array(-np.inf, "f")


def padded(reader: Any, kinds: str, *before: Any, value: str = "", **constants: Any) -> Case:
    """A Pad of ``x``, or of what the nodes ``before`` make of it, and its reader."""
    data = before[-1].output[0] if before else "x"
    pad = node("Pad", f"{data} pads {value}", "p")
    return Case([*before, pad, reader], kinds.split(), {"pads": PADS, **constants})


CONV = node("Conv", "p w b", "y", strides=[2, 2], pads=[1, 0, 0, 0])
LAST = node("Transpose", "x", "t", perm=[0, 2, 3, 1])
NORM = {"two": np.array(2, "f"), "eps": np.array(1e-5, "f"), "g": floats(5, 12), "h": floats(6, 12)}
LAYER_NORM = [
    node("ReduceMean", "x", "m", axes=[-1]),
    node("Sub", "x m", "d"),
    node("Pow", "d two", "q"),
    node("ReduceMean", "q", "v", axes=[2]),
    node("Add", "v eps", "a"),
    node("Sqrt", "a", "s"),
    node("Div", "d s", "n"),
    node("Mul", "n g", "z"),
    node("Add", "h z", "y"),
]
ABOUT_HALF = 0.5
"""A part at the edge of an image may say that it reads a row that only its padding would need."""
CASES = {
    "convolution": padded(CONV, "conv", w=WEIGHTS["w"], b=WEIGHTS["b"]),
    "depthwise": padded(node("Conv", "p w", "y", group=4), "depthwise_conv", w=floats(4, 4, 1, 3, 3)),
    "largest of what is not negative": padded(
        node("MaxPool", "p", "y", kernel_shape=[3, 3], strides=[2, 2]),
        "relu max_pool",
        node("Relu", "x", "r"),
    ),
    "largest, padded with the least": padded(
        node("MaxPool", "p", "y", kernel_shape=[3, 3], strides=[2, 2]), "max_pool", value="least", least=LEAST
    ),
    "mean, which counts the zeros": padded(
        node("AveragePool", "p", "y", kernel_shape=[3, 3], strides=[2, 2]), "average_pool"
    ),
    "mean with padding of its own that counts": padded(
        node("AveragePool", "p", "y", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
        "average_pool",
    ),
    "mean with padding of its own that does not": padded(
        node("AveragePool", "p", "y", kernel_shape=[3, 3], pads=[1, 1, 1, 1]), "pad average_pool"
    ),
    "largest of any sign": padded(
        node("MaxPool", "p", "y", kernel_shape=[3, 3], strides=[2, 2]), "pad max_pool"
    ),
    "mean over rows and columns": Case(
        [node("ReduceMean", "x", "y", axes=[2, 3], keepdims=0)], ["average_pool"]
    ),
    "largest over columns and rows": Case(
        [node("ReduceMax", "x", "y", axes=[-1, -2], keepdims=1)], ["max_pool"]
    ),
    "mean over rows and columns, channels last": Case(
        [LAST, node("ReduceMean", "t", "y", axes=[1, 2], keepdims=0)], ["average_pool"]
    ),
    "largest over rows and columns, channels last": Case(
        [LAST, node("ReduceMax", "t", "m", axes=[1, -2]), node("Transpose", "m", "y", perm=[0, 3, 1, 2])],
        ["max_pool"],
    ),
    "mean over channels, channels last": Case(
        [LAST, node("ReduceMean", "t", "y", axes=[-1], keepdims=0)], ["reduce_mean"]
    ),
    "mean over channels that keeps their axis, channels last": Case(
        [LAST, node("ReduceMean", "t", "y", axes=[-1])], ["reduce_mean"]
    ),
    "mean over rows between transposes": Case(
        [LAST, node("ReduceMean", "t", "m", axes=[1]), node("Transpose", "m", "y", perm=[0, 3, 1, 2])],
        ["reduce_mean"],
    ),
    "mean that leaves the channels last": Case(
        [LAST, node("ReduceMean", "t", "y", axes=[1], keepdims=0)], ["transpose", "reduce_mean"]
    ),
    "einsum to several heads": Case(
        [
            node("Einsum", "x w", "c", equation="bsd,dhk->bshk"),
            node("Add", "c b", "a"),
            node("Relu", "a", "y"),
        ],
        ["dense"],
        {"w": floats(7, 8, 3, 4), "b": floats(8, 3, 4)},
        (2, 5, 8),
    ),
    "einsum with the weight on the left": Case(
        [node("Einsum", "w x", "c", equation="od,sd->os"), node("Add", "c b", "y")],
        ["dense"],
        {"w": floats(7, 3, 8), "b": floats(8, 3, 1)},
        (5, 8),
    ),
    "einsum of activations": Case(
        [node("Einsum", "x x", "c", equation="bid,bjd->bij"), node("Mul", "c eps", "y")],
        ["matmul"],
        {"eps": NORM["eps"]},
        (2, 5, 8),
    ),
    "einsum with a weight for each image": Case(
        [node("Einsum", "x w", "c", equation="bsd,bdk->bsk"), node("Add", "c b", "y")],
        ["dense", "add"],
        {"w": floats(7, 2, 8, 4), "b": floats(8, 4)},
        (2, 5, 8),
    ),
    "layer norm in pieces": Case(LAYER_NORM, ["layer_norm"], NORM, (2, 5, 12)),
    "layer norm in pieces without a bias": Case(
        [*LAYER_NORM[:7], node("Mul", "n g", "y")], ["layer_norm"], NORM, (2, 5, 12)
    ),
    "layer norm in pieces without weights": Case(
        [*LAYER_NORM[:6], node("Div", "d s", "y")], ["layer_norm"], NORM, (2, 5, 12)
    ),
    "layer norm in pieces with a bias alone": Case(
        [*LAYER_NORM[:7], node("Add", "n h", "y")], ["layer_norm", "add"], NORM, (2, 5, 12)
    ),
    "layer norm without a bias": Case(
        [node("LayerNormalization", "x g", "y", axis=-1)], ["layer_norm"], NORM, (2, 5, 12)
    ),
    "mean that counts, not rewritten": Case(
        [node("AveragePool", "x", "y", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)],
        ["average_pool"],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_nodes_are_merged_to_ops_that_read_enough(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    model = real_model(case.nodes, {"x": floats(1, *case.shape)}, case.constants, 13)
    program = imported(model, tmp_path)
    assert [op.kind for op in program.ops()] == list(case.kinds)
    for op in program.ops():
        check_reads(model, program, op, len(name))
        assert needless_rows(model, program, op) <= ABOUT_HALF
