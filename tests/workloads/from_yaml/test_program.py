"""The YAML workload format: shapes, MACs and bytes of each op, compared with numbers worked out by hand."""

import json
from typing import Any, get_args

import pytest
import yaml

from chipmodel.errors import BadInput
from chipmodel.model.program import DTYPE_BITS, Op, Program, ops
from chipmodel.model.work import Matmul, Recurrent, Vector
from tests.support.figures import figure
from tests.support.folders import ROOT
from tests.workloads.from_yaml.yaml_text import X, kinds, program
from workloads.from_yaml.field_types import Dtype

OPS: list[dict[str, Any]] = yaml.safe_load((ROOT / "tests" / "data" / "yaml_ops.yaml").read_text())


def only(made: Program) -> Op:
    (op,) = ops(made.body)
    return op


def shapes(made: Program, *names: str) -> list[tuple[int, ...]]:
    return [made.tensors[name].shape for name in names]


# -- convolutions, pooling, matrices ---------------------------------------------------------------


@pytest.mark.parametrize("case", OPS, ids=lambda case: json.dumps(case["op"]))
def test_an_op_has_the_shape_the_work_and_the_bytes_that_were_counted_by_hand(case: dict[str, Any]) -> None:
    made = program(f"- {json.dumps(case['op'])}")
    (name,) = made.outputs
    found = only(made)
    assert type(found.work).__name__ == case["work"]
    assert made.tensors[name].shape == tuple(case["out"])
    assert made.macs == figure(case.get("macs", made.macs))
    assert made.block_bytes(found) == figure(case.get("weights", made.block_bytes(found)))
    assert made.tensors[name].bytes == case.get("bytes", made.tensors[name].bytes)


def test_convolution_in_one_dimension() -> None:
    made = program("- {op: conv, channels: 4, kernel: 5, stride: 2, pad: [4, 0]}", inputs="x: [1, 8, 100]")
    # (100 + 4 - 5) // 2 + 1 = 50
    assert shapes(made, *made.outputs) == [(1, 4, 50)]
    assert made.macs == 50 * 4 * 8 * 5


def test_given_weight_bytes_keep_the_parameter_count() -> None:
    plain = program("- {op: conv, channels: 4, kernel: 3}")
    given = program("- {op: conv, channels: 4, kernel: 3, weights: 100}")
    assert plain.parameters == given.parameters == 4 * 8 * 9 + 4
    assert (plain.weight_bytes, given.weight_bytes) == (304, 100)


def test_dense_and_matmul() -> None:
    made = program(
        "- {op: dense, name: q, in: x, features: 16}",
        "- {op: dense, name: k, in: x, features: 16, bias: false}",
        "- {op: matmul, name: qk, in: [q, k], transpose_right: true}",
        inputs="x: [12, 32]",
    )
    assert shapes(made, "q", "k", "qk") == [(12, 16), (12, 16), (12, 12)]
    assert made.macs == 2 * 12 * 32 * 16 + 12 * 16 * 12
    assert made.weight_bytes == 2 * 32 * 16 + 16 * 4
    assert all(isinstance(op.work, Matmul) for op in ops(made.body))


def test_recurrent_layers_chain() -> None:
    made = program(
        "- {op: lstm, name: a, hidden: 10, bidirectional: true}",
        "- {op: gru, name: b, hidden: 6}",
        "- {op: dense, name: c, features: 3}",
        inputs="x: [20, 1, 4]",
    )
    a, b, c = ops(made.body)
    assert isinstance(a.work, Recurrent)
    assert isinstance(b.work, Recurrent)
    assert (b.work.inputs, b.work.gates) == (20, 3)
    assert made.block_bytes(a) == 2 * (4 * 10 * (4 + 10) + 2 * 4 * 10 * 4)
    assert shapes(made, c.outputs[0]) == [(20, 1, 3)]


def test_embedding_reads_only_what_it_gathers() -> None:
    made = program("- {op: embedding, rows: 1000, features: 64}", inputs="x: {shape: [3], dtype: int32}")
    op = only(made)
    assert op.gathers
    assert made.block_bytes(op) == 3 * 64
    assert made.weight_bytes == 64_000
    assert made.tensors[op.outputs[0]].dtype == "int8"


# -- element-wise, along an axis, moving -----------------------------------------------------------


def test_weights_of_norms() -> None:
    made = program(
        "- {op: batch_norm}",  # a scale and a shift for each of 8 channels
        "- {op: group_norm, groups: 4}",
        "- {op: layer_norm, axis: 1}",  # a scale and a shift for each of 8 * 16 * 16
        "- {op: rms_norm, weight_dtype: float32}",  # a scale for each of 16, 4 bytes each
    )
    assert [made.block_bytes(op) for op in ops(made.body)] == [16, 16, 2 * 2048, 64]
    # Rows of an image have all of its channels, so groups of channels do not lie apart.
    assert [op.work.rows for op in ops(made.body)] == [2048, 1, 1, 8 * 16]


def test_broadcast_and_split() -> None:
    made = program(
        "- {op: split, name: s, in: x, out: [a, b], sizes: [6, 2]}",
        "- {op: global_average_pool, name: g, in: a}",
        "- {op: mul, name: m, in: [g, a]}",
    )
    assert shapes(made, "a", "b", "m") == [(1, 6, 16, 16), (1, 2, 16, 16), (1, 6, 16, 16)]
    assert list(ops(made.body))[-1].work == Vector(1536, 6 + 1536, 1536, 16, (0,))
    assert "nothing reads the result 'b'" in made.notes


def test_views_move_nothing() -> None:
    made = program(
        "- {op: reshape, name: r, shape: [8, -1]}", "- {op: flatten}", "- {op: dense, features: 2}"
    )
    assert kinds(made.body) == ["dense"]
    assert only(made).inputs == ("x",)
    assert made.macs == 8 * 256 * 2


def test_views_of_a_view_are_read_under_its_first_name() -> None:
    made = program("- {op: relu, name: a}", "- {op: reshape, name: r, shape: [-1]}", tail="outputs: [r]\n")
    assert made.outputs == ("a",)


# -- names, defaults, overrides --------------------------------------------------------------------


def test_ops_without_names_are_numbered_by_kind_and_avoid_given_ones() -> None:
    made = program("- {op: relu}", "- {op: relu, name: relu_2}", "- {op: relu}", "- {op: abs}")
    assert [op.name for op in ops(made.body)] == ["relu_1", "relu_2", "relu_3", "abs_1"]
    assert made.outputs == ("abs_1",)


def test_out_renames_the_tensor_and_cycles_replace_the_model() -> None:
    made = program(
        "- {op: relu, name: r, out: y, cycles: 0}", "- {op: conv, channels: 1, kernel: 1, cycles: 77}"
    )
    first, second = ops(made.body)
    assert (first.name, first.outputs, first.cycles) == ("r", ("y",), 0)
    assert (second.inputs, second.cycles) == (("y",), 77)


def test_in_place() -> None:
    made = program("- {op: copy, name: c}", "- {op: add, name: a, in: [c, x], in_place: true}")
    assert [op.overwrites for op in ops(made.body)] == [None, "c"]


def test_activations_are_free_and_noted() -> None:
    plain = program("- {op: conv, name: c, channels: 4, kernel: 1}")
    fused = program("- {op: conv, name: c, channels: 4, kernel: 1, activation: relu}")
    assert only(plain) == only(fused)
    assert not plain.notes
    assert "at no cost" in fused.notes[0]


def test_dtypes() -> None:
    text = "- {op: conv, name: c, channels: 4, kernel: 1}"
    assert program(text, tail="dtype: int16\n").weight_bytes == 32 * 2 + 4 * 4
    assert program(text, tail="dtype: float32\n").weight_bytes == 36 * 4
    assert program(text, tail="dtype: float32\n", dtype="int8").weight_bytes == 32 + 4 * 4
    mixed = program(text, inputs="x: {shape: [1, 8, 16, 16], dtype: int16}")
    assert mixed.tensors["c"].bytes == 2 * 4 * 256
    with pytest.raises(BadInput, match="int9") as raised:
        program(text, dtype="int9")
    assert "int8" in raised.value.hint


def test_every_dtype_of_the_vocabulary_is_known() -> None:
    assert set(get_args(Dtype)) == set(DTYPE_BITS)


def test_shapes_of_inputs_can_be_replaced() -> None:
    assert program("- {op: relu, name: r}", shapes={"x": (2, 3)}).tensors["r"].shape == (2, 3)
    with pytest.raises(BadInput, match="'y'") as raised:
        program("- {op: relu}", shapes={"y": (2, 3)})
    assert "x" in raised.value.hint


def test_plain_bytes_are_vectors_of_the_dtype() -> None:
    made = program("- {op: dense, features: 2}", inputs="x: 4KiB", tail="dtype: float32\n")
    assert (made.tensors["x"].bytes, made.tensors["x"].shape) == (4096, ())
    assert made.macs == 1024 * 2


def test_custom() -> None:
    made = program(
        "- {op: custom, name: f, out: {a: 4096, b: 1KiB}, weights: 2KiB, cycles: 1200, rows: 4}",
        "- {op: custom, name: g, in: [a, b], out: {c: [1, 8]}}",
        "- {op: custom, name: h, in: [], out: {d: {shape: [3], dtype: int32}}}",
        tail="outputs: [c, d]\n",
    )
    f, g, h = ops(made.body)
    assert (f.inputs, f.outputs, f.cycles, made.block_bytes(f)) == (("x",), ("a", "b"), 1200, 2048)
    assert f.work == Vector(4096 + 1024, 2048, 4096 + 1024, 4)
    assert (g.cycles, g.work.rows, h.inputs) == (None, 1, ())
    assert [made.tensors[t].bytes for t in made.outputs] == [8, 12]


def test_what_nothing_reads_is_noted() -> None:
    made = program("- {op: relu, name: a, in: x}", "- {op: relu, name: b, in: x}", inputs=X + ", y: 4")
    assert made.notes == ("nothing reads the input 'y'", "nothing reads the result 'a'")


def test_every_op_knows_its_place() -> None:
    made = program("- {op: relu, name: a}", "- {op: relu, name: b}")
    assert [str(op.place) for op in ops(made.body)] == ["w.yaml:4:5", "w.yaml:5:5"]
