"""Which nodes are fused into the op before them, and which must not be."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest

from chipmodel.model.attributes import OverAxes
from chipmodel.model.program import Program
from chipmodel.model.work import Vector
from tests.workloads.from_onnx.support_models import kinds, load, model, node, operations

NORM: dict[str, Any] = {"s": (8,), "b": (8,), "m": (8,), "v": (8,)}
CONV = node("Conv", "x w", "c", kernel_shape=[1, 1])
DENSE = node("MatMul", "x w", "c")


def _conv(tmp_path: Path, *nodes: Any, outputs: str = "y", **constants: Any) -> Program:
    known = {"w": (8, 4, 1, 1), **constants}
    return load(tmp_path, model([CONV, *nodes], {"x": [1, 4, 5, 5]}, outputs, known))


def test_batch_norm_and_relu_become_part_of_the_convolution(tmp_path: Path) -> None:
    norm, relu = node("BatchNormalization", "c s b m v", "n"), node("Relu", "n", "y")
    program = _conv(tmp_path, norm, relu, **NORM)
    (op,) = operations(program)
    assert (op.kind, op.outputs, op.weights) == ("conv", ("y",), ("w", "b"))
    assert program.parameters == 32 + 8
    assert program.weights["b"].bytes == 8 * 4
    assert list(program.tensors) == ["x", "y"]


def test_the_batch_norm_is_merged_into_an_existing_bias(tmp_path: Path) -> None:
    biased = node("Conv", "x w own", "c", kernel_shape=[1, 1])
    norm = node("BatchNormalization", "c s b m v", "y")
    made = model([biased, norm], {"x": [1, 4, 5, 5]}, "y", {"w": (8, 4, 1, 1), "own": (8,), **NORM})
    program = load(tmp_path, made)
    assert operations(program)[0].weights == ("w", "own")
    assert program.parameters == 40


def test_caffes_batch_norm_scale_and_shift_fold_together(tmp_path: Path) -> None:
    nodes = [
        node("BatchNormalization", "c s b m v", "n"),
        node("Mul", "n gamma", "g"),
        node("Add", "g beta", "a"),
        node("Relu", "a", "y"),
    ]
    program = _conv(tmp_path, *nodes, **NORM, gamma=(8, 1, 1), beta=(8, 1, 1))
    assert kinds(program) == ["conv"]
    assert program.parameters == 40


ACTIVATIONS = {
    "relu": [node("Relu", "c", "y")],
    "relu6": [node("Clip", "c lo hi", "y")],
    "leaky": [node("LeakyRelu", "c", "y")],
    "sigmoid": [node("Sigmoid", "c", "y")],
    "hard swish in pieces": [
        node("Add", "c three", "p"),
        node("Clip", "p lo hi", "q"),
        node("Mul", "c q", "r"),
        node("Div", "r six", "y"),
    ],
    "silu": [node("Sigmoid", "c", "p"), node("Mul", "c p", "y")],
    "gelu in pieces": [
        node("Div", "c root", "p"),
        node("Erf", "p", "q"),
        node("Add", "q one", "r"),
        node("Mul", "c r", "s"),
        node("Mul", "s half", "y"),
    ],
    "mish in pieces": [node("Softplus", "c", "p"), node("Tanh", "p", "q"), node("Mul", "c q", "y")],
}
SCALARS: dict[str, Any] = {
    name: numpy.array(value, "f")
    for name, value in {"lo": 0, "hi": 6, "three": 3, "six": 6, "root": 1.4, "one": 1, "half": 0.5}.items()
}


@pytest.mark.parametrize("nodes", ACTIVATIONS.values(), ids=ACTIVATIONS)
def test_an_activation_of_any_number_of_nodes_is_fused(nodes: list[Any], tmp_path: Path) -> None:
    program = _conv(tmp_path, *nodes, **SCALARS)
    (op,) = operations(program)
    assert op.outputs == ("y",)
    assert program.parameters == 32


@pytest.mark.parametrize("nodes", ACTIVATIONS.values(), ids=ACTIVATIONS)
def test_an_activation_whose_input_has_another_reader_stays_an_op(nodes: list[Any], tmp_path: Path) -> None:
    other = node("MaxPool", "c", "z", kernel_shape=[5, 5])
    program = _conv(tmp_path, *nodes, other, outputs="y z", **SCALARS)
    convolution, *others = operations(program)
    assert convolution.outputs == ("c",)
    assert any("c" in op.inputs and op.kind != "max_pool" for op in others)


def test_an_activation_whose_input_is_an_output_stays_an_op(tmp_path: Path) -> None:
    program = _conv(tmp_path, node("Relu", "c", "y"), outputs="c y")
    assert kinds(program) == ["conv", "relu"]
    assert program.outputs == ("c", "y")


def test_the_slopes_of_a_fused_prelu_are_weights(tmp_path: Path) -> None:
    program = _conv(tmp_path, node("PRelu", "c slope", "y"), slope=(8, 1, 1))
    (op,) = operations(program)
    assert op.weights == ("w", "slope")


def test_a_scale_per_channel_after_the_activation_stays_an_op(tmp_path: Path) -> None:
    program = _conv(tmp_path, node("Relu", "c", "r"), node("Mul", "r g", "y"), g=(8, 1, 1))
    assert kinds(program) == ["conv", "mul"]


def test_batch_norm_of_a_tensor_with_two_readers_stays_an_op(tmp_path: Path) -> None:
    norm, relu = node("BatchNormalization", "c s b m v", "n"), node("Relu", "c", "z")
    program = _conv(tmp_path, norm, relu, outputs="n z", **NORM)
    assert kinds(program) == ["conv", "batch_norm", "relu"]
    assert program.parameters == 32 + 16


def test_batch_norm_in_training_is_not_folded(tmp_path: Path) -> None:
    norm = node("BatchNormalization", "c s b m v", "y mean var", training_mode=1)
    program = _conv(tmp_path, norm, **NORM)
    assert kinds(program) == ["conv", "batch_norm"]
    assert "statistics are computed" in program.notes[0]


def test_bias_and_batch_norm_of_a_dense_layer(tmp_path: Path) -> None:
    nodes = [
        DENSE,
        node("Add", "c bias", "a"),
        node("BatchNormalization", "a s b m v", "n"),
        node("Tanh", "n", "y"),
    ]
    program = load(tmp_path, model(nodes, {"x": [3, 4]}, "y", {"w": (4, 8), "bias": (8,), **NORM}))
    (op,) = operations(program)
    assert (op.kind, op.weights) == ("dense", ("w", "bias"))
    assert program.parameters == 40


def test_the_scale_of_attention_scores_is_fused(tmp_path: Path) -> None:
    nodes = [node("MatMul", "a b", "c"), node("Div", "c root", "y")]
    made = model(nodes, {"a": [1, 2, 5, 8], "b": [1, 2, 8, 5]}, "y", {"root": SCALARS["root"]})
    assert kinds(load(tmp_path, made)) == ["matmul"]


def test_no_weights_no_scale_per_channel(tmp_path: Path) -> None:
    nodes = [node("MatMul", "a b", "c"), node("Mul", "c g", "y")]
    made = model(nodes, {"a": [5, 8], "b": [8, 5]}, "y", {"g": (5,)})
    assert kinds(load(tmp_path, made)) == ["matmul", "mul"]


def test_a_relu_is_fused_into_a_sum_of_activations(tmp_path: Path) -> None:
    nodes = [node("Add", "a b", "c"), node("Relu", "c", "y")]
    program = load(tmp_path, model(nodes, {"a": [1, 4, 5, 5], "b": [1, 4, 5, 5]}, "y"))
    assert kinds(program) == ["add"]


def test_a_constant_that_adds_an_axis_is_fused(tmp_path: Path) -> None:
    program = _conv(tmp_path, node("Mul", "c g", "y"), g=numpy.ones((1, 1, 1, 1, 1), "f"))
    assert program.tensors["y"].shape == (1, 8, 5, 5)
    assert kinds(program) == ["conv"]


@pytest.mark.parametrize("op", ["Mul", "Add"])
def test_a_relu_is_fused_into_what_is_left_of_a_batch_norm(op: str, tmp_path: Path) -> None:
    """TensorFlow moves the shift of a batch norm into the convolution after it."""
    nodes = [node("MaxPool", "x", "p", kernel_shape=[2, 2]), node(op, "p g", "c"), node("Relu", "c", "y")]
    program = load(tmp_path, model(nodes, {"x": [1, 8, 5, 5]}, "y", {"g": (8, 1, 1)}))
    assert kinds(program) == ["max_pool", op.lower()]


def test_a_widening_constant_is_no_activation(tmp_path: Path) -> None:
    program = _conv(tmp_path, node("Mul", "c g", "y"), g=numpy.ones((2, 1, 1, 1, 1), "f"))
    assert program.tensors["y"].shape == (2, 1, 8, 5, 5)
    assert kinds(program) == ["conv", "mul"]


def test_an_activation_after_views_is_fused(tmp_path: Path) -> None:
    nodes = [node("Identity", "c", "i"), node("Dropout", "i", "d"), node("Relu", "d", "y")]
    assert kinds(_conv(tmp_path, *nodes)) == ["conv"]


def test_views_after_the_last_activation_do_not_name_the_result(tmp_path: Path) -> None:
    nodes = [node("Relu", "c", "r"), node("Identity", "r", "y")]
    program = _conv(tmp_path, *nodes)
    assert program.outputs == ("r",)


def _in_pieces(*texts: str, axes: Sequence[int] = (-1,)) -> Any:
    """Nodes ``name = Kind operands`` of a norm of ``x`` (2, 6, 12), the last of which is ``y``."""
    nodes: list[Any] = []
    for text in texts:
        name, _, made = text.partition(" = ")
        kind, _, operands = made.partition(" ")
        options: dict[str, Any] = {"axes": list(axes)} if kind == "ReduceMean" else {}
        nodes.append(node(kind, operands, name, **options))
    constants: dict[str, Any] = {"eps": numpy.array(1e-5, "f"), "g": (12,), "h": (12,)}
    constants |= {"one": numpy.array(1, "f"), "two": numpy.array(2, "f"), "low": numpy.array(-0.5, "f")}
    return model(nodes, {"x": [2, 6, 12]}, "y", constants)


MEAN = ("m = ReduceMean x", "d = Sub x m", "q = Mul d d", "v = ReduceMean q", "a = Add v eps")
SQUARES = ("q = Pow x two", "v = ReduceMean q", "a = Add eps v")


@pytest.mark.parametrize(
    ("texts", "kind", "weights"),
    [
        (
            (*MEAN, "s = Sqrt a", "i = Reciprocal s", "n = Mul d i", "z = Mul g n", "y = Add h z"),
            "layer_norm",
            "gh",
        ),
        ((*MEAN, "s = Sqrt a", "n = Div d s", "z = Mul n g", "y = Add z h"), "layer_norm", "gh"),
        ((*MEAN, "s = Sqrt a", "i = Div one s", "y = Mul i d"), "layer_norm", ""),
        # Keras: the scale is multiplied first, and the mean taken off with the bias.
        (
            (
                *MEAN,
                "i = Pow a low",
                "s = Mul i g",
                "e = Mul x s",
                "f = Mul m s",
                "b = Sub h f",
                "y = Add e b",
            ),
            "layer_norm",
            "gh",
        ),
        (
            (*MEAN, "i = Pow a low", "s = Mul i g", "e = Mul x s", "k = Neg m", "f = Mul k s", "y = Add e f"),
            "layer_norm",
            "g",
        ),
        ((*SQUARES, "s = Sqrt a", "n = Div x s", "y = Mul n g"), "rms_norm", "g"),
        ((*SQUARES, "s = Sqrt a", "i = Reciprocal s", "n = Mul x i", "y = Mul g n"), "rms_norm", "g"),
    ],
)
def test_norms_in_pieces_are_one_op(texts: Sequence[str], kind: str, weights: str, tmp_path: Path) -> None:
    (op,) = operations(load(tmp_path, _in_pieces(*texts)))
    assert (op.kind, op.inputs, op.outputs, op.weights) == (kind, ("x",), ("y",), tuple(weights))


@pytest.mark.parametrize(
    "texts",
    [
        (*MEAN, "s = Sqrt a", "n = Div x s", "y = Mul n g"),  # the mean is not taken off
        (*MEAN, "s = Sqrt a", "y = Div s d"),
        (*SQUARES, "s = Sqrt a", "n = Div x s", "y = Add n v"),
        (*SQUARES, "y = Div x a"),  # no root
        (
            "m = ReduceMean x",
            "q = Mul x x",
            "v = ReduceMean q",
            "a = Add v eps",
            "s = Sqrt a",
            "d = Sub x m",
            "y = Div d s",
        ),
    ],
)
def test_pieces_that_are_no_norm_stay(texts: Sequence[str], tmp_path: Path) -> None:
    assert not {"layer_norm", "rms_norm"} & set(kinds(load(tmp_path, _in_pieces(*texts))))


@pytest.mark.parametrize("again", ["d", "m"])
def test_a_difference_that_is_read_again_is_the_operand_of_an_rms_norm(again: str, tmp_path: Path) -> None:
    made = _in_pieces(*MEAN, "s = Sqrt a", "n = Div d s", f"y = Add n {again}")
    assert kinds(load(tmp_path, made)) == ["reduce_mean", "sub", "rms_norm", "add"]


def test_a_norm_over_another_axis_is_joined_without_a_scale_along_the_last_one(tmp_path: Path) -> None:
    pieces = (*MEAN, "s = Sqrt a", "n = Div d s", "z = Mul n g", "y = Add z h")
    program = load(tmp_path, _in_pieces(*pieces, axes=(1,)))
    assert kinds(program) == ["layer_norm", "mul", "add"]
    work = operations(program)[0].work
    assert isinstance(work, Vector)
    assert work.attributes == OverAxes((1,))


def test_what_follows_a_norm_without_scale_is_no_part_of_it(tmp_path: Path) -> None:
    made = _in_pieces(*SQUARES, "s = Sqrt a", "n = Div x s", "z = Mul n g", "y = Add z h")
    assert kinds(load(tmp_path, made)) == ["rms_norm", "add"]


PRODUCTS: dict[str, tuple[list[Any], list[str]]] = {
    "hard swish": (
        [node("HardSigmoid", "t", "g", alpha=1 / 6, beta=0.5), node("Mul", "g t", "y")],
        ["hard_swish"],
    ),
    "silu": ([node("Sigmoid", "t", "g"), node("Mul", "t g", "y")], ["silu"]),
    "seen through views": (
        [
            node("Identity", "t", "v"),
            node("Sigmoid", "t", "g"),
            node("Identity", "g", "h"),
            node("Mul", "v h", "y"),
        ],
        ["silu"],
    ),
    "another slope": ([node("HardSigmoid", "t", "g"), node("Mul", "g t", "y")], ["hard_sigmoid", "mul"]),
    "another operand": ([node("Sigmoid", "t", "g"), node("Mul", "g x", "y")], ["sigmoid", "mul"]),
    "its square": ([node("Sigmoid", "t", "g"), node("Mul", "g g", "y")], ["sigmoid", "mul"]),
    "read twice": (
        [node("Sigmoid", "t", "g"), node("Mul", "g t", "p"), node("Add", "p g", "y")],
        ["sigmoid", "mul", "add"],
    ),
    "a sum": ([node("Sigmoid", "t", "g"), node("Add", "g t", "y")], ["sigmoid", "add"]),
}


@pytest.mark.parametrize(("nodes", "expected"), PRODUCTS.values(), ids=PRODUCTS)
def test_a_product_with_its_own_sigmoid_is_one_op(
    nodes: list[Any], expected: list[str], tmp_path: Path
) -> None:
    """As ONNX Runtime's pre-processing writes a HardSwish, here behind a transpose, which no op takes in."""
    turned = node("Transpose", "x", "t", perm=[0, 2, 1])
    program = load(tmp_path, model([turned, *nodes], {"x": [1, 6, 6]}, "y", {}))
    assert kinds(program) == ["transpose", *expected]
    assert operations(program)[-1].outputs == ("y",)
