"""What parts of ops say that they read, and plans, against the reference evaluator of the onnx package.

The machine that runs plans gives every op a function of exactly the bytes that ``Op.reads`` names, so it
cannot see that these are too few. Here the op is what ONNX says: whatever a part does not read is changed,
and what it writes must stay. Transposed convolutions in groups and pooling of integers are not here, as the
evaluator of onnx 1.23.2 fails on them, nor are recurrent layers and operators that are not known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from chipmodel.cascades.rewrite import CascadeChoice, with_cascades
from chipmodel.execute.byte_arrays import Bytes
from chipmodel.execute.machine import RunOptions, execute
from chipmodel.execute.op_part import OpPart
from chipmodel.execute.reference import random_weights
from chipmodel.model.program import Op, Program
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.rounds import plan_in_rounds
from tests.support.chips import LUNA_LIKE
from tests.support.onnx_oracle import (
    Array,
    check_reads,
    computed,
    from_memory,
    imported,
    in_memory,
    needless_rows,
    of_op,
    random_values,
    real_model,
)

IMAGE = (2, 6, 9, 7)


def floats(seed: int, *shape: int) -> Array:
    """Values around 0 as networks have them."""
    return np.random.default_rng(seed).normal(0, 1, shape).astype(np.float32)


def small_integers(seed: int, *shape: int, dtype: str = "int8") -> Array:
    """So small that no sum of products leaves 8 bits."""
    low = 0 if dtype.startswith("u") else -2
    return np.random.default_rng(seed).integers(low, 3, shape).astype(dtype)


@dataclass(frozen=True, slots=True)
class Case:
    """One node on inputs and constants, with the op that the importer makes of it."""

    op: str
    inputs: Sequence[Array]
    constants: Sequence[Array] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    outputs: int = 1
    opset: int = 18

    def model(self) -> onnx.ModelProto:
        names = [f"x{i}" for i in range(len(self.inputs))]
        held = [f"w{i}" for i in range(len(self.constants))]
        out = [f"y{i}" for i in range(self.outputs)]
        node = helper.make_node(self.op, [*names, *held], out, name="node", **self.attributes)
        constants = dict(zip(held, self.constants, strict=True))
        return real_model([node], dict(zip(names, self.inputs, strict=True)), constants, self.opset)


X = floats(1, *IMAGE)
POSITIVE = np.abs(X) + np.float32(0.1)
AS_MANY_IMAGES = floats(16, 6, 6, 4, 3)
"""As many as channels: the LRN of onnx 1.23.2 counts its channels by the images."""
MATRIX = floats(2, 5, 12)


def conv(shape: tuple[int, ...], bias: bool = True, op: str = "Conv", **attributes: Any) -> Case:
    channels = shape[1] * attributes.get("group", 1) if op == "ConvTranspose" else shape[0]
    held = [floats(3, *shape) / 4, *([floats(4, channels)] if bias else [])]
    return Case(op, [X], held, attributes)


def of(op: str, x: Array = X, **attributes: Any) -> Case:
    return Case(op, [x], (), attributes)


FUNCTIONS = (
    *("Relu", "Elu", "Selu", "Sigmoid", "Tanh", "Erf", "Softplus", "Softsign", "Mish", "HardSwish", "Exp"),
    *("Abs", "Neg", "Sign", "Floor", "Ceil", "Round", "Sin", "Cos"),
)


CASES: dict[str, Case] = {
    "convolution": conv((8, 6, 3, 3), pads=[1, 1, 1, 1]),
    "convolution without a bias": conv((4, 6, 1, 1), bias=False),
    "strided, dilated": conv((5, 6, 3, 2), strides=[2, 1], dilations=[1, 2], pads=[1, 0, 2, 1]),
    "dilated rows": conv((5, 6, 3, 2), dilations=[2, 1], pads=[2, 0, 2, 1]),
    "same padding": conv((5, 6, 3, 3), strides=[2, 2], auto_pad="SAME_UPPER"),
    "in groups": conv((9, 2, 3, 3), group=3),
    "depthwise": conv((6, 1, 3, 3), group=6, pads=[1, 1, 1, 1]),
    "depthwise with multiplier": conv((12, 1, 3, 3), group=6),
    "transposed": conv((6, 4, 3, 3), op="ConvTranspose", strides=[2, 2], pads=[1, 1, 1, 1]),
    "over a line": Case("Conv", [floats(5, 2, 6, 20)], [floats(6, 4, 6, 5), floats(7, 4)], {"pads": [2, 2]}),
    "max pooling": of("MaxPool", kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1]),
    "max pooling, ceil": of("MaxPool", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
    "mean pooling": of("AveragePool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
    "global mean": of("GlobalAveragePool"),
    "global maximum": of("GlobalMaxPool"),
    "gemm": Case("Gemm", [MATRIX], [floats(8, 12, 7), floats(9, 7)]),
    "gemm, transposed": Case("Gemm", [MATRIX], [floats(8, 7, 12), floats(9, 7)], {"transB": 1}),
    "matmul by weights": Case("MatMul", [floats(2, 3, 5, 12)], [floats(8, 12, 7)]),
    "matmul of activations": Case("MatMul", [floats(2, 3, 5, 12), floats(8, 3, 12, 4)]),
    "add": Case("Add", [X, floats(10, *IMAGE)]),
    "add a line": Case("Add", [X, floats(10, 7)]),
    "add a constant for each channel": Case("Add", [X], [floats(10, 1, 6, 1, 1)]),
    "sub": Case("Sub", [X, floats(10, *IMAGE)]),
    "mul": Case("Mul", [X, floats(10, 2, 6, 1, 1)]),
    "div": Case("Div", [X, POSITIVE]),
    "min": Case("Min", [X, floats(10, *IMAGE)]),
    "max": Case("Max", [X, floats(10, *IMAGE)]),
    "prelu": Case("PRelu", [X], [floats(10, 6, 1, 1)]),
    "batch normalisation": Case(
        "BatchNormalization",
        [X],
        [floats(11, 6), floats(12, 6), np.zeros(6, "f"), np.ones(6, "f")],
        {"epsilon": 0.0},
    ),
    "where": Case("Where", [X > 0, X, floats(10, *IMAGE)]),
    **{name: of(name) for name in FUNCTIONS},
    "leaky relu": of("LeakyRelu", alpha=0.125),
    "gelu": Case("Gelu", [X], opset=20),
    "hard sigmoid": of("HardSigmoid", alpha=1 / 6),
    "log": of("Log", POSITIVE),
    "sqrt": of("Sqrt", POSITIVE),
    "reciprocal": of("Reciprocal", POSITIVE),
    "clip": Case("Clip", [4 * X], [np.array(-6, "f"), np.array(6, "f")]),
    "concat of channels": Case("Concat", [X, floats(10, 2, 3, 9, 7)], (), {"axis": 1}),
    "concat of rows": Case("Concat", [X, floats(10, 2, 6, 2, 7)], (), {"axis": 2}),
    "split": Case("Split", [X], (), {"axis": 1, "num_outputs": 2}, outputs=2),
    "slice": Case("Slice", [X], [np.array(v) for v in ([1, 6], [9, 0], [2, 3], [2, -1])]),
    "pad": Case("Pad", [X], [np.array([0, 1, 2, 0, 0, 0, 1, 3])]),
    "pad with a number": Case("Pad", [X], [np.array([0, 1, 2, 0, 0, 0, 1, 3]), np.array(-0.75, "f")]),
    "transpose to channels last": of("Transpose", perm=[0, 2, 3, 1]),
    "transpose rows and columns": of("Transpose", perm=[0, 1, 3, 2]),
    "resize, nearest": Case(
        "Resize",
        [X],
        [np.array([], "f"), np.array([1, 1, 2, 3], "f")],
        {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
    ),
    "resize, linear": Case(
        "Resize", [X], [np.array([], "f"), np.array([1, 1, 2, 3], "f")], {"mode": "linear"}
    ),
    "tile": Case("Tile", [X], [np.array([1, 1, 3, 2])]),
    "expand": Case("Expand", [floats(10, 2, 1, 9, 1)], [np.array(IMAGE)]),
    "depth to space": of("DepthToSpace", floats(13, 1, 8, 3, 5), blocksize=2),
    "space to depth": of("SpaceToDepth", floats(13, 1, 2, 6, 10), blocksize=2),
    "softmax": of("Softmax"),
    "softmax of channels": of("Softmax", axis=1),
    "hardmax": of("Hardmax", axis=1),
    "log softmax": of("LogSoftmax", axis=1),
    "layer normalisation": Case("LayerNormalization", [MATRIX], [floats(14, 12), floats(15, 12)]),
    "instance normalisation": Case("InstanceNormalization", [X], [floats(14, 6), floats(15, 6)]),
    "local response normalisation": of("LRN", AS_MANY_IMAGES, size=3, alpha=0.5, beta=0.6, bias=1.5),
    "wide local response normalisation": of("LRN", AS_MANY_IMAGES, size=4, alpha=0.1),
    "sum": Case("ReduceSum", [X], [np.array([2, 3])]),
    "mean": Case("ReduceMean", [X], [np.array([1])]),
    "largest": Case("ReduceMax", [X], [np.array([3])]),
    "least": Case("ReduceMin", [X], [np.array([0])]),
    "l1": Case("ReduceL1", [X], [np.array([1])]),
    "l2": Case("ReduceL2", [X], [np.array([1])]),
    "sum of squares": Case("ReduceSumSquare", [X], [np.array([1])]),
    "argmax": of("ArgMax", axis=1),
    "argmin": of("ArgMin", axis=3, keepdims=0),
    "convolution of integers": Case(
        "ConvInteger", [small_integers(20, 1, 6, 9, 7)], [small_integers(21, 4, 6, 3, 3)]
    ),
    "product of integers": Case("MatMulInteger", [small_integers(20, 5, 12)], [small_integers(21, 12, 7)]),
    "sum of integers": Case("Add", [small_integers(20, 5, 12), small_integers(21, 5, 12)]),
    "product of each two integers": Case(
        "Mul", [small_integers(20, 5, 12, dtype="int32"), small_integers(21, 5, 12, dtype="int32")]
    ),
    "equal integers": Case("Equal", [small_integers(20, 5, 12), small_integers(21, 5, 12)]),
}


ABOUT_HALF = 0.5
"""A part at the edge of an image may say that it reads a row that only its padding would need."""


@pytest.mark.parametrize("dtype", ["float32", "int8", "int4"])
@pytest.mark.parametrize("name", CASES)
def test_a_part_depends_on_nothing_but_what_it_reads(name: str, dtype: str, tmp_path: Path) -> None:
    model = CASES[name].model()
    program = imported(model, tmp_path, dtype)
    (op,) = program.ops()
    check_reads(model, program, op, len(name))


@pytest.mark.parametrize("name", CASES)
def test_a_part_reads_no_row_that_it_does_not_need(name: str, tmp_path: Path) -> None:
    model = CASES[name].model()
    program = imported(model, tmp_path)
    (op,) = program.ops()
    assert needless_rows(model, program, op) <= ABOUT_HALF


def network() -> onnx.ModelProto:
    """A residual block with an activation function that is not fused into the op before it, a strided
    convolution, a shuffle of channels, and a classifier."""

    def node(op: str, inputs: Sequence[str], output: str, **attributes: Any) -> Any:
        return helper.make_node(op, list(inputs), [output], name=output, **attributes)

    nodes = [
        node("Conv", ["x", "wa"], "a", pads=[1, 1, 1, 1]),
        node("Tanh", ["a"], "b"),
        node("Conv", ["b", "wc", "vc"], "c", pads=[1, 1, 1, 1], group=8),
        node("Add", ["a", "c"], "d"),
        node("Reshape", ["d", "split"], "e"),
        node("Transpose", ["e"], "f", perm=[0, 2, 1, 3, 4]),
        node("Reshape", ["f", "joined"], "g"),
        node("Conv", ["g", "wh", "vh"], "h", strides=[2, 2], pads=[1, 1, 1, 1]),
        node("MaxPool", ["h"], "i", kernel_shape=[2, 2], strides=[1, 1]),
        node("GlobalAveragePool", ["i"], "j"),
        node("Flatten", ["j"], "k"),
        node("Gemm", ["k", "wl", "vl"], "l", transB=1),
        node("Softmax", ["l"], "y"),
    ]
    constants = {
        "wa": floats(31, 8, 3, 3, 3) / 4,
        "wc": floats(32, 8, 1, 3, 3) / 2,
        "vc": floats(33, 8),
        "split": np.array([1, 2, 4, 12, 10]),
        "joined": np.array([1, 8, 12, 10]),
        "wh": floats(34, 6, 8, 3, 3) / 4,
        "vh": floats(35, 6),
        "wl": floats(36, 5, 6),
        "vl": floats(37, 5),
    }
    return real_model(nodes, {"x": floats(38, 1, 3, 12, 10)}, constants)


def shuffle(order: Sequence[int], shape: Sequence[int]) -> onnx.ModelProto:
    """A transpose of a view of an image, and a convolution of a view of that."""
    nodes = [
        helper.make_node("Conv", ["x", "wa"], ["a"], name="a"),
        helper.make_node("Reshape", ["a", "split"], ["v"], name="v"),
        helper.make_node("Transpose", ["v"], ["t"], name="t", perm=order),
        helper.make_node("Reshape", ["t", "joined"], ["w"], name="w"),
        helper.make_node("Conv", ["w", "wb"], ["y"], name="y", pads=[1, 1, 1, 1]),
    ]
    constants = {"split": np.array([2, 3, 4, 12, 6]), "joined": np.array(shape)}
    constants |= {"wa": floats(1, 12, 8, 1, 1), "wb": floats(2, 4, shape[1], 3, 3)}
    return real_model(nodes, {"x": floats(3, 2, 8, 12, 6)}, constants)


@pytest.mark.parametrize(
    "model",
    [
        network(),
        shuffle((0, 2, 1, 3, 4), (2, 12, 12, 6)),
        shuffle((0, 3, 1, 2, 4), (2, 12, 12, 6)),
        shuffle((0, 1, 2, 4, 3), (2, 12, 6, 12)),
        shuffle((1, 0, 2, 3, 4), (2, 12, 12, 6)),
    ],
    ids=["network", "channels", "rows and channels", "rows and columns", "images"],
)
def test_parts_of_what_lies_in_another_order_depend_on_what_they_read(
    model: onnx.ModelProto, tmp_path: Path
) -> None:
    program = imported(model, tmp_path)
    for op in program.ops():
        check_reads(model, program, op, 0, 12)


class ByOnnx:
    """Evaluates the ops of a model by onnx: whole ones, of which the machine takes the part."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.model, self.found = model, dict[str, onnx.ModelProto]()

    def __call__(
        self, op: Op, program: Program, inputs: Sequence[Bytes], weights: Bytes, part: OpPart
    ) -> Sequence[Bytes]:
        own = self.found.setdefault(op.name, of_op(self.model, op))
        like = random_values(own, 0)
        given = {
            name: from_memory(program.tensors[name], data, like[name])
            for name, data in zip(op.inputs, inputs, strict=True)
        }
        return [in_memory(program.tensors[name], array) for name, array in computed(own, given).items()]


@pytest.mark.parametrize("rolls", [True, False])
@pytest.mark.parametrize("heights", [(1,) * 6, (2, 3, 1, 2, 5, 1)])
def test_a_plan_with_a_cascade_computes_what_onnx_does(
    rolls: bool, heights: tuple[int, ...], tmp_path: Path
) -> None:
    model = network()
    program = imported(model, tmp_path)
    ops = [op.name for op in program.ops()][1:7]
    choice = CascadeChoice(tuple(ops), heights, rolls)
    request = PlanRequest(program, LUNA_LIKE, "large-first", "ping-pong")
    planned = plan_in_rounds(request, None, None, with_cascades(program, [choice]))
    members = tuple(cascade.members for cascade in planned.schedule.cascades)
    assert members
    values = random_values(model, 0)
    found = execute(
        program,
        [planned.commands],
        LUNA_LIKE.shared_memory.bytes,
        {"x": in_memory(program.tensors["x"], values["x"])},
        random_weights(program),
        {},
        RunOptions(evaluate=ByOnnx(model), cascades=members),
    )
    assert found.faults == []
    right = computed(model, values)["y"]
    np.testing.assert_allclose(from_memory(program.tensors["y"], found.outputs["y"], right), right, 1e-5)
