"""What parts of ops say that they read, and plans, against the reference evaluator of the onnx package.

The machine that runs plans gives every op a function of exactly the bytes that ``Op.reads`` names, so it
cannot see that these are too few. Here the op is what ONNX says: whatever a part does not read is changed,
and what it writes must stay. Transposed convolutions in groups and pooling of integers are not here, as the
evaluator of onnx 1.23.2 fails on them, nor are recurrent layers and operators that are not known.
"""

from collections.abc import Sequence
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
from tests.support.onnx_operators import OPERATORS, operator_model
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


def floats(seed: int, *shape: int) -> Array:
    """Values around 0 as networks have them."""
    return np.random.default_rng(seed).normal(0, 1, shape).astype(np.float32)


NOT_HERE = {"transposed conv output shape", "gru"}
"""What the evaluator fails on, or computes otherwise."""
CASES = {
    name: case
    for name, case in OPERATORS.items()
    if name not in NOT_HERE and "domain" not in case and len(case["kinds"].split()) == 1
}
READ_MORE = {"mul scalar", "embedding"}
"""One number that every part reads, and rows that a part finds only when it runs."""


ABOUT_HALF = 0.5
"""A part at the edge of an image may say that it reads a row that only its padding would need."""


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(n, t) for n in CASES for t in ("float32", "int8", "int4") if t == "float32" or n.endswith("of two")],
)
def test_a_part_depends_on_nothing_but_what_it_reads(name: str, dtype: str, tmp_path: Path) -> None:
    _, model = operator_model(CASES[name])
    program = imported(model, tmp_path, dtype)
    (op,) = program.ops()
    check_reads(model, program, op, len(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if name not in READ_MORE])
def test_a_part_reads_no_row_that_it_does_not_need(name: str, tmp_path: Path) -> None:
    _, model = operator_model(CASES[name])
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
    planned = plan_in_rounds(request, None, with_cascades(program, [choice]))
    assert planned.schedule.cascades
    values = random_values(model, 0)
    found = execute(
        program,
        [planned.commands],
        LUNA_LIKE.shared_memory.bytes,
        {"x": in_memory(program.tensors["x"], values["x"])},
        random_weights(program),
        {},
        RunOptions(evaluate=ByOnnx(model)),
    )
    assert found.faults == []
    right = computed(model, values)["y"]
    np.testing.assert_allclose(from_memory(program.tensors["y"], found.outputs["y"], right), right, 1e-5)
