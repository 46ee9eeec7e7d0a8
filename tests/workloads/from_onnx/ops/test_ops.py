"""Every family of operators: which op it becomes, its MACs, its parameters, its shape."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy
import pytest

from tests.workloads.from_onnx.support_models import (
    Constants,
    ints,
    kinds,
    load,
    model,
    node,
    onnx,
    reference_shapes,
)


@dataclass(frozen=True)
class Case:
    """One operator on inputs of given shapes and what it must become."""

    op: str
    inputs: Mapping[str, tuple[int, ...]]
    kinds: list[str]
    macs: int = 0
    parameters: int = 0
    constants: Constants = field(default_factory=dict[str, Any])
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    operands: str = ""
    outputs: str = "y"
    opset: int = 17
    reference: bool = True
    """Whether the reference implementation of every supported onnx package runs this case."""
    shape: tuple[int, ...] = ()
    """Of the first output, where the reference does not."""
    types: Mapping[str, int] = field(default_factory=dict[str, int])

    def model(self) -> Any:
        operands = self.operands or " ".join([*self.inputs, *self.constants])
        made = node(self.op, operands, self.outputs, **self.attributes)
        return model([made], self.inputs, self.outputs, self.constants, opset=self.opset, types=self.types)


X = {"x": (1, 4, 9, 9)}
SEQUENCE = {"x": (1, 4, 20)}
MATRIX = {"x": (2, 6)}
TOKENS = {"x": (2, 5, 8)}
BOOL, INT64 = 9, 7
NEWEST: int = onnx.defs.onnx_opset_version()


def conv(
    kinds_: list[str],
    macs: int,
    parameters: int,
    weight: tuple[int, ...],
    shape: Any = (),
    **attributes: object,
) -> Case:
    x = X if len(weight) == 4 else SEQUENCE
    constants = {"w": weight}
    return Case("Conv", x, kinds_, macs, parameters, constants, attributes, reference=not shape, shape=shape)


CASES = {
    "conv": conv(["conv"], 8 * 4 * 9 * 7 * 7, 288, (8, 4, 3, 3)),
    "conv same upper": conv(
        ["conv"], 8 * 4 * 9 * 25, 288, (8, 4, 3, 3), (1, 8, 5, 5), auto_pad="SAME_UPPER", strides=[2, 2]
    ),
    "conv same lower": conv(["conv"], 8 * 4 * 4 * 81, 128, (8, 4, 2, 2), auto_pad="SAME_LOWER"),
    "conv valid": conv(["conv"], 8 * 4 * 9 * 49, 288, (8, 4, 3, 3), (1, 8, 7, 7), auto_pad="VALID"),
    "conv lopsided": conv(["conv"], 8 * 4 * 3 * 10 * 9, 96, (8, 4, 3, 1), pads=[1, 0, 2, 0]),
    "conv dilated": conv(["conv"], 8 * 4 * 9 * 25, 288, (8, 4, 3, 3), dilations=[2, 2]),
    "conv rows unread": conv(["conv"], 8 * 4 * 16, 32, (8, 4, 1, 1), strides=[3, 3], pads=[0, 0, 1, 1]),
    "conv grouped": conv(["conv"], 8 * 2 * 9 * 49, 144, (8, 2, 3, 3), group=2),
    "conv depthwise": conv(["depthwise_conv"], 4 * 9 * 49, 36, (4, 1, 3, 3), group=4),
    "conv 1-D": conv(["conv"], 8 * 4 * 5 * 10, 160, (8, 4, 5), strides=[2], pads=[2, 2]),
    "conv 3-D": Case(
        "Conv", {"x": (1, 2, 4, 5, 6)}, ["conv"], 3 * 2 * 8 * 3 * 4 * 5, 48, {"w": (3, 2, 2, 2, 2)}
    ),
    "conv 3-D depthwise": Case(
        "Conv", {"x": (1, 2, 4, 5, 6)}, ["conv"], 2 * 8 * 60, 16, {"w": (2, 1, 2, 2, 2)}, {"group": 2}
    ),
    "conv of computed weights": Case("Conv", {"x": (1, 4, 9, 9), "w": (8, 4, 3, 3)}, ["conv"], 8 * 36 * 49),
    "transposed conv": Case(
        "ConvTranspose",
        X,
        ["transposed_conv"],
        81 * 4 * 6 * 16,
        4 * 6 * 16,
        {"w": (4, 6, 4, 4)},
        {"strides": [2, 2], "pads": [1, 1, 1, 1]},
    ),
    "transposed conv output padding": Case(
        "ConvTranspose",
        X,
        ["transposed_conv"],
        81 * 4 * 6 * 9,
        4 * 6 * 9,
        {"w": (4, 6, 3, 3)},
        {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]},
    ),
    "transposed conv output shape": Case(
        "ConvTranspose",
        X,
        ["transposed_conv"],
        81 * 4 * 6 * 9,
        4 * 6 * 9,
        {"w": (4, 6, 3, 3)},
        {"strides": [2, 2], "output_shape": [18, 18]},
        reference=False,
        shape=(1, 6, 18, 18),
    ),
    "max pool": Case("MaxPool", X, ["max_pool"], attributes={"kernel_shape": [3, 3], "strides": [2, 2]}),
    "max pool ceil": Case(
        "MaxPool", X, ["max_pool"], attributes={"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}
    ),
    "max pool with indices": Case(
        "MaxPool",
        X,
        ["max_pool"],
        attributes={"kernel_shape": [3, 3]},
        outputs="y i",
        reference=False,
        shape=(1, 4, 7, 7),
    ),
    "average pool": Case(
        "AveragePool", X, ["average_pool"], attributes={"kernel_shape": [2, 2], "pads": [1] * 4}
    ),
    "average pool 1-D": Case("AveragePool", SEQUENCE, ["average_pool"], attributes={"kernel_shape": [5]}),
    "lp pool": Case(
        "LpPool",
        X,
        ["average_pool"],
        attributes={"kernel_shape": [2, 2]},
        reference=False,
        shape=(1, 4, 8, 8),
    ),
    "max pool 3-D": Case(
        "MaxPool", {"x": (1, 2, 4, 4, 4)}, ["max_pool"], attributes={"kernel_shape": [2, 2, 2]}
    ),
    "global average pool": Case("GlobalAveragePool", X, ["average_pool"]),
    "global max pool": Case("GlobalMaxPool", X, ["max_pool"]),
    "gemm": Case(
        "Gemm", MATRIX, ["dense"], 2 * 6 * 5, 35, {"w": (5, 6), "b": (5,)}, {"transB": 1, "alpha": 0.5}
    ),
    "gemm transposed left": Case("Gemm", MATRIX, ["dense"], 6 * 2 * 5, 10, {"w": (2, 5)}, {"transA": 1}),
    "gemm of activations": Case("Gemm", {"x": (2, 6), "w": (6, 5), "c": (2, 5)}, ["matmul"], 60),
    "matmul": Case("MatMul", TOKENS, ["dense"], 10 * 8 * 3, 24, {"w": (8, 3)}),
    "matmul vector": Case("MatMul", TOKENS, ["dense"], 10 * 8, 8, {"w": (8,)}),
    "matmul batch of weights": Case("MatMul", TOKENS, ["dense"], 2 * 5 * 8 * 3, 48, {"w": (2, 8, 3)}),
    "matmul weight left": Case("MatMul", TOKENS, ["dense"], 2 * 7 * 5 * 8, 35, {"w": (7, 5)}, operands="w x"),
    "matmul of activations": Case(
        "MatMul", {"a": (2, 3, 5, 8), "b": (3, 8, 4)}, ["matmul"], 2 * 3 * 5 * 8 * 4
    ),
    "einsum": Case(
        "Einsum",
        {"a": (2, 5, 3, 8), "b": (2, 7, 3, 8)},
        ["transpose", "transpose", "matmul"],
        2 * 3 * 5 * 7 * 8,
        attributes={"equation": "bqhd,bkhd->bhqk"},
    ),
    "einsum in order": Case(
        "Einsum",
        {"a": (2, 3, 5, 8), "b": (2, 3, 7, 8)},
        ["matmul"],
        2 * 3 * 5 * 7 * 8,
        attributes={"equation": "bhid,bhjd->bhij"},
    ),
    "einsum weight in another order": Case(
        "Einsum", TOKENS, ["dense"], 10 * 8 * 6, 48, {"w": (2, 8, 3)}, {"equation": "bsd,hdk->bshk"}
    ),
    "einsum weight": Case(
        "Einsum", TOKENS, ["dense"], 10 * 8 * 6, 48, {"w": (8, 2, 3)}, {"equation": "bsd,dhk->bshk"}
    ),
    "einsum outer": Case("Einsum", {"a": (3,), "b": (4,)}, ["einsum"], attributes={"equation": "i,j->ij"}),
    "lstm": Case(
        "LSTM",
        {"x": (5, 1, 4)},
        ["lstm"],
        5 * 4 * 8 * (4 + 8),
        4 * 8 * 12 + 64,
        {"w": (1, 32, 4), "r": (1, 32, 8), "b": (1, 64)},
        {"hidden_size": 8},
        outputs="y h c",
        reference=False,
        shape=(5, 1, 1, 8),
    ),
    "lstm both directions": Case(
        "LSTM",
        {"x": (5, 2, 4)},
        ["lstm"],
        2 * 2 * 5 * 4 * 8 * 12,
        2 * 4 * 8 * 12,
        {"w": (2, 32, 4), "r": (2, 32, 8)},
        {"hidden_size": 8, "direction": "bidirectional"},
        reference=False,
        shape=(5, 2, 2, 8),
    ),
    "gru": Case(
        "GRU",
        {"x": (5, 1, 4)},
        ["gru"],
        5 * 3 * 8 * 12,
        3 * 8 * 12,
        {"w": (1, 24, 4), "r": (1, 24, 8)},
        {"hidden_size": 8},
    ),
    "rnn batch first": Case(
        "RNN",
        {"x": (3, 5, 4)},
        ["rnn"],
        3 * 5 * 8 * 12,
        8 * 12,
        {"w": (1, 8, 4), "r": (1, 8, 8)},
        {"hidden_size": 8, "layout": 1},
        reference=False,
        shape=(3, 5, 1, 8),
    ),
    "batch norm": Case(
        "BatchNormalization", X, ["batch_norm"], 0, 8, {"s": (4,), "b": (4,), "m": (4,), "v": (4,)}
    ),
    "instance norm": Case("InstanceNormalization", X, ["instance_norm"], 0, 8, {"s": (4,), "b": (4,)}),
    "layer norm": Case("LayerNormalization", TOKENS, ["layer_norm"], 0, 16, {"s": (8,), "b": (8,)}),
    "group norm": Case(
        "GroupNormalization", X, ["group_norm"], 0, 8, {"s": (4,), "b": (4,)}, {"num_groups": 2}, opset=21
    ),
    "rms norm": Case("RMSNormalization", TOKENS, ["rms_norm"], 0, 8, {"s": (8,)}, opset=23),
    "lrn": Case("LRN", X, ["lrn"], attributes={"size": 3}),
    "mean variance norm": Case("MeanVarianceNormalization", X, ["instance_norm"]),
    "lp norm": Case("LpNormalization", TOKENS, ["lp_norm"]),
    "softmax": Case("Softmax", TOKENS, ["softmax"]),
    "log softmax old": Case("LogSoftmax", TOKENS, ["log_softmax"], opset=9, reference=False, shape=(2, 5, 8)),
    "relu": Case("Relu", X, ["relu"]),
    "clip": Case("Clip", X, ["clip"], constants={"lo": numpy.array(0, "f"), "hi": numpy.array(6, "f")}),
    "prelu": Case("PRelu", X, ["prelu"], 0, 4, {"s": (4, 1, 1)}),
    "add": Case("Add", {"a": (1, 4, 9, 9), "b": (4, 1, 1)}, ["add"]),
    "add constant": Case("Add", TOKENS, ["add"], 0, 40, {"p": (5, 8)}),
    "mul scalar": Case("Mul", TOKENS, ["mul"], 0, 0, {"p": ()}),
    "sum": Case("Sum", {"a": (2, 3), "b": (2, 3), "c": (2, 3)}, ["add"]),
    "where": Case("Where", {"c": (2, 3), "a": (2, 3), "b": (2, 3)}, ["where"], types={"c": BOOL}),
    "less": Case("Less", {"a": (2, 3), "b": (2, 3)}, ["less"]),
    "gelu": Case("Gelu", TOKENS, ["gelu"], opset=20),
    "hard swish": Case("HardSwish", X, ["hard_swish"]),
    "mish": Case("Mish", X, ["mish"], opset=18),
    "concat": Case("Concat", {"a": (1, 4, 9, 9), "b": (1, 2, 9, 9)}, ["concat"], attributes={"axis": 1}),
    "concat with token": Case("Concat", TOKENS, ["concat"], 0, 16, {"t": (2, 1, 8)}, {"axis": 1}, "t x"),
    "split": Case("Split", X, ["split"], 0, 0, {"s": ints(1, 3)}, {"axis": 1}, outputs="y z"),
    "slice": Case("Slice", X, ["slice"], 0, 0, {"s": ints(1, 0), "e": ints(9, 5), "a": ints(2, 3)}),
    "slice of all": Case("Slice", X, [], 0, 0, {"s": ints(0), "e": ints(9), "a": ints(2)}),
    "transpose": Case("Transpose", X, ["transpose"], attributes={"perm": [0, 2, 3, 1]}),
    "transpose of ones": Case("Transpose", {"x": (1, 4, 1, 1)}, [], attributes={"perm": [0, 2, 3, 1]}),
    "pad": Case("Pad", X, ["pad"], 0, 0, {"p": ints(0, 0, 1, 1, 0, 0, 1, 1)}),
    "resize": Case("Resize", X, ["resize"], 0, 0, {"s": numpy.array([1, 1, 2, 2], "f")}, operands="x _ s"),
    "upsample": Case(
        "Upsample",
        X,
        ["resize"],
        0,
        0,
        {"s": numpy.array([1, 1, 2, 2], "f")},
        opset=9,
        reference=False,
        shape=(1, 4, 18, 18),
    ),
    "reduce mean": Case("ReduceMean", X, ["average_pool"], attributes={"axes": [2, 3]}),
    "reduce sum by input": Case("ReduceSum", X, ["reduce_sum"], 0, 0, {"a": ints(-1)}, {"keepdims": 0}),
    "argmax": Case("ArgMax", TOKENS, ["argmax"], attributes={"axis": -1}),
    "top k": Case("TopK", TOKENS, ["topk"], 0, 0, {"k": ints(3)}, outputs="y i"),
    "embedding": Case(
        "Gather", {"i": (1, 7)}, ["gather"], 0, 800, {"t": (100, 8)}, operands="t i", types={"i": INT64}
    ),
    "gather of an activation": Case("Gather", TOKENS, ["gather"], 0, 0, {"i": ints(0, 2)}, {"axis": 1}),
    "expand": Case("Expand", {"x": (2, 1, 8)}, ["expand"], 0, 0, {"s": ints(2, 5, 8)}),
    "tile": Case("Tile", TOKENS, ["tile"], 0, 0, {"r": ints(1, 2, 1)}),
    "depth to space": Case("DepthToSpace", X, ["depth_to_space"], attributes={"blocksize": 2}),
    "space to depth": Case(
        "SpaceToDepth", {"x": (1, 4, 8, 8)}, ["space_to_depth"], attributes={"blocksize": 2}
    ),
    "cumsum": Case("CumSum", TOKENS, ["cumsum"], 0, 0, {"a": numpy.array(1)}),
    "trilu": Case("Trilu", TOKENS, ["trilu"]),
    "scatter": Case("ScatterND", TOKENS, ["scatternd"], 0, 40, {"i": ints(0).reshape(1, 1), "u": (1, 5, 8)}),
    "cast to integers": Case("Cast", TOKENS, ["cast"], attributes={"to": INT64}),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_operator(case: Case, tmp_path: Path) -> None:
    if case.opset > NEWEST:
        pytest.skip(f"the installed onnx package knows operator sets up to {NEWEST}")
    made = case.model()
    program = load(tmp_path, made, strict=True)
    assert kinds(program) == case.kinds
    assert program.macs == case.macs
    assert program.parameters == case.parameters
    if case.reference and program.body:
        assert [program.tensors[t].shape for t in program.outputs] == reference_shapes(made, case.inputs)
    if case.shape:
        assert program.tensors[program.outputs[0]].shape == case.shape
    if not program.body:
        assert program.outputs == program.inputs
