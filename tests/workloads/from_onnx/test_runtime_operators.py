"""Operators that ONNX Runtime 1.32 wrote when it quantised and optimised small networks, and what they are.

The nodes and their operands are those of files that ``quantize_static``, ``quantize_dynamic`` and sessions
with all optimisations made.
"""

from math import prod
from pathlib import Path
from typing import Any

import numpy
import pytest

from chipmodel.errors import BadInput
from tests.workloads.from_onnx.support_models import helper, ints, kinds, load, model, node, onnx, zeros

MICROSOFT, NCHWC = "com.microsoft", "com.microsoft.nchwc"
INT8, UINT8, INT16, UINT16, UINT4, INT4 = 3, 2, 5, 4, 21, 22


def quantisation(kind: Any) -> dict[str, Any]:
    return {"s": numpy.array(0.1, "f"), "z": numpy.array(0, kind), "wz": numpy.array(0, "int8")}


def microsoft(op: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    return node(op, inputs, outputs, domain=MICROSOFT, **attributes)


@pytest.mark.parametrize(
    ("domain", "op", "hint"),
    [
        ("ai.onnx.ml", "TreeEnsembleRegressor", "neural network"),
        (NCHWC, "ReorderInput", "ORT_ENABLE_EXTENDED"),
    ],
)
def test_what_no_npu_runs_is_refused_by_its_node(domain: str, op: str, hint: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        load(tmp_path, model([node(op, "x", "y", "first", domain=domain)], {"x": [1, 4]}, "y"))
    assert f"node 'first' ({domain}.{op})" in caught.value.what
    assert "not supported" in caught.value.what
    assert hint in (caught.value.hint or "")


def test_quantised_operators_are_what_they_are_for_floats(tmp_path: Path) -> None:
    nodes = [
        node("QuantizeLinear", "x s z", "q"),
        node("QLinearConv", "q s z w s wz s z b", "c", kernel_shape=[1, 1]),
        microsoft("QLinearLeakyRelu", "c s z s z", "l", alpha=0.1),
        microsoft("QLinearAdd", "l s z q2 s z s z", "a"),
        microsoft("QLinearSigmoid", "a s z s z", "g"),
        microsoft("QLinearMul", "a s z g s z s z", "m"),
        microsoft("QLinearAveragePool", "m s z s z", "p", kernel_shape=[2, 2], strides=[2, 2]),
        microsoft("QLinearConcat", "s z p s z p s z", "t", axis=1),
        microsoft("QLinearGlobalAveragePool", "t s z s z", "v"),
        node("Reshape", "v flat", "f"),
        microsoft("QGemm", "f s z d s wz e s z", "j"),
        node("QLinearMatMul", "j s z k s wz s z", "h"),
        microsoft("QLinearSoftmax", "h s z s z", "o", axis=-1, opset=13),
        microsoft("QLinearWhere", "if o s z h s z s z", "n"),
        node("DequantizeLinear", "n s z", "y"),
    ]
    constants = {
        **quantisation("int8"),
        "w": numpy.zeros((8, 4, 1, 1), "int8"),
        "b": numpy.zeros(8, "int32"),
        "d": numpy.zeros((16, 10), "int8"),
        "e": numpy.zeros(10, "int32"),
        "k": numpy.zeros((10, 10), "int8"),
        "flat": ints(1, 16),
        "if": numpy.array([True, False] * 5),
    }
    inputs = {"x": [1, 4, 6, 6], "q2": [1, 8, 6, 6]}
    program = load(tmp_path, model(nodes, inputs, "y", constants, types={"q2": INT8}), strict=True)
    # The swish is the activation of the addition.
    names = "conv add average_pool concat average_pool dense dense softmax where"
    assert kinds(program) == names.split()
    assert program.macs == 36 * 32 + 160 + 100
    assert program.weight_bytes == 32 + 8 * 4 + 160 + 10 * 4 + 100 + 10
    assert program.tensors["p"].shape == (1, 8, 3, 3)


@pytest.mark.parametrize(
    ("kind", "name", "bits"),
    [(UINT4, "uint4", 4), (INT8, "int8", 8), (UINT16, "uint16", 16), (INT16, "int16", 16)],
)
@pytest.mark.parametrize("domain", ["", MICROSOFT])
def test_quantised_tensors_have_the_bits_of_their_nodes(
    kind: int, name: str, bits: int, domain: str, tmp_path: Path
) -> None:
    nodes = [
        node("QuantizeLinear", "x s z", "q", domain=domain),
        node("DequantizeLinear", "q s z", "d", domain=domain),
        node("DequantizeLinear", "w s2 z4", "v", domain=domain, axis=0),
        node("Conv", "d v", "c", kernel_shape=[1, 1]),
        node("Relu", "c", "r"),
        node("QuantizeLinear", "r s z", "u", domain=domain),
        node("DequantizeLinear", "u s z", "y", domain=domain),
    ]
    made = model(nodes, {"x": [1, 4, 6, 6]}, "y", opset=21)
    made.graph.initializer.extend(
        [
            helper.make_tensor("s", 1, [], [0.1]),
            helper.make_tensor("z", kind, [], [0]),
            helper.make_tensor("w", INT4, [8, 4, 1, 1], [0] * 32),
            helper.make_tensor("s2", 1, [8], [0.1] * 8),
            helper.make_tensor("z4", INT4, [8], [0] * 8),
        ]
    )
    program = load(tmp_path, made, strict=True)
    assert kinds(program) == ["conv"]
    assert [program.tensors[each].dtype for each in ("x", "r")] == [name, name]
    assert program.tensors["r"].bytes == 8 * 36 * bits // 8
    # Scales and zero points are parameters of the op, no weights.
    assert (program.parameters, program.weight_bytes) == (32, 16)


@pytest.mark.parametrize("integer", ["MatMulInteger", "ConvInteger"])
def test_a_dynamically_quantised_product_is_one_op(integer: str, tmp_path: Path) -> None:
    image = integer == "ConvInteger"
    kernel: dict[str, Any] = {"kernel_shape": [1, 1]} if image else {}
    nodes = [
        node("DynamicQuantizeLinear", "x", "q qs qz"),
        node(integer, "q w qz wz", "p", **kernel),
        node("Cast", "p", "c", to=1),
        node("Mul", "qs ws", "k"),
        node("Mul", "c k", "m"),
        node("Add", "m b", "a"),
        node("Relu", "a", "y"),
    ]
    weight = (8, 4, 1, 1) if image else (4, 8)
    constants: dict[str, Any] = {
        "w": numpy.zeros(weight, "int8"),
        "b": zeros(*((1, 8, 1, 1) if image else (8,))),
        "ws": numpy.array(0.1, "f"),
        "wz": numpy.array(0, "int8"),
    }
    shape = [1, 4, 3, 3] if image else [1, 9, 4]
    program = load(tmp_path, model(nodes, {"x": shape}, "y", constants), strict=True)
    assert kinds(program) == ["cast", "conv" if image else "dense"]
    assert (program.macs, program.weight_bytes) == (9 * 32, 32 + 8 * 4)


def test_weights_in_blocks_are_loaded_with_their_scales_and_zero_points(tmp_path: Path) -> None:
    product = microsoft("MatMulNBits", "x w s z", "y", K=40, N=6, bits=4, block_size=32)
    constants: dict[str, Any] = {
        "w": numpy.zeros((6, 2, 16), "uint8"),
        "s": (12,),
        "z": numpy.zeros(6, "uint8"),
    }
    program = load(tmp_path, model([product], {"x": [3, 40]}, "y", constants), strict=True)
    assert (kinds(program), program.weights["w"].elements) == (["dense"], 40 * 6)
    # The second block of each column is padded: 2 x 16 bytes, a float and half a byte for each block.
    assert program.weight_bytes == 6 * 32 + 12 * 4 + 6
    assert program.macs == 3 * 40 * 6


@pytest.mark.parametrize("past", [0, 5])
@pytest.mark.parametrize("quantised", [False, True])
def test_packed_attention_with_a_cache(past: int, quantised: bool, tmp_path: Path) -> None:
    cache = "past" if past else "_"
    attention = (
        microsoft("QAttention", f"x w b s s _ z z {cache}", "y present", num_heads=2)
        if quantised
        else microsoft("Attention", f"x w b _ {cache}", "y present", num_heads=2)
    )
    inputs = {"x": [1, 3, 8], **({"past": [2, 1, 2, past, 4]} if past else {})}
    constants = {**quantisation("int8"), "w": numpy.zeros((8, 24), "int8"), "b": zeros(24)}
    program = load(tmp_path, model([attention], inputs, "y present", constants), strict=True)
    assert kinds(program) == ["dense", "concat" if past else "transpose", "matmul", "softmax", "matmul"]
    assert program.macs == 3 * 8 * 24 + 2 * 2 * 3 * (3 + past) * 4
    assert program.tensors["present"].shape == (2, 1, 2, 3 + past, 4)


@pytest.mark.parametrize(
    ("op", "inputs", "constants", "opset"),
    [
        ("LayerNormalization", "x g h", {"g": (8,), "h": (8,)}, 13),
        ("SimplifiedLayerNormalization", "x g", {"g": (8,)}, 13),
        ("GroupNormalization", "x g h", {"g": (2,), "h": (2,)}, 18),
        ("GroupNormalization", "x g h", {"g": (4,), "h": (4,)}, 21),
    ],
)
def test_norms_that_are_newer_or_older_than_their_operator_set(
    op: str, inputs: str, constants: dict[str, Any], opset: int, tmp_path: Path
) -> None:
    groups: dict[str, Any] = {"num_groups": 2} if op.startswith("Group") else {}
    made = model([node(op, inputs, "y", **groups)], {"x": [1, 4, 3, 8]}, "y", constants, opset=opset)
    program = load(tmp_path, made, strict=True)
    assert len(kinds(program)) == 1
    assert program.tensors["y"].shape == (1, 4, 3, 8)
    assert program.parameters == sum(prod(shape) for shape in constants.values())


def test_an_operator_set_that_does_not_know_a_type_is_no_obstacle(tmp_path: Path) -> None:
    nodes = [microsoft("QuantizeLinear", "x s z", "q"), microsoft("DequantizeLinear", "q s z", "y")]
    nodes.insert(0, node("Relu", "a", "x"))
    made = model(nodes, {"a": [1, 8]}, "y", {"s": numpy.array(0.1, "f")}, opset=13)
    made.graph.initializer.append(helper.make_tensor("z", onnx.TensorProto.UINT16, [], [0]))
    assert load(tmp_path, made, strict=True).tensors["x"].dtype == "uint16"
