"""Operators that ONNX Runtime 1.32 wrote when it quantised and optimised small networks, and what they are.

The nodes and their operands are those of files that ``quantize_static``, ``quantize_dynamic`` and sessions
with all optimisations made.
"""

from pathlib import Path
from typing import Any

import numpy
import pytest

from chipmodel.errors import BadInput
from tests.workloads.from_onnx.support_models import helper, kinds, load, model, node, onnx

MICROSOFT, NCHWC = "com.microsoft", "com.microsoft.nchwc"
INT8, UINT8, INT16, UINT16, UINT4, INT4 = 3, 2, 5, 4, 21, 22


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


def test_an_operator_set_that_does_not_know_a_type_is_no_obstacle(tmp_path: Path) -> None:
    nodes = [microsoft("QuantizeLinear", "x s z", "q"), microsoft("DequantizeLinear", "q s z", "y")]
    nodes.insert(0, node("Relu", "a", "x"))
    made = model(nodes, {"a": [1, 8]}, "y", {"s": numpy.array(0.1, "f")}, opset=13)
    made.graph.initializer.append(helper.make_tensor("z", onnx.TensorProto.UINT16, [], [0]))
    assert load(tmp_path, made, strict=True).tensors["x"].dtype == "uint16"
