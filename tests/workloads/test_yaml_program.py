"""The YAML workload format: what each way of writing means, in numbers worked out by hand."""

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from chipmodel.errors import BadInput
from chipmodel.program import DTYPE_BITS, If, Loop, Op, Program, ops
from chipmodel.work import Conv, Matmul, Pool, Recurrent, Vector
from workloads.yaml_program import load_yaml_program, parse_yaml_program
from workloads.yaml_schema import schema
from workloads.yaml_values import Dtype

EXAMPLES = sorted((Path(__file__).parents[2] / "workloads").glob("*.yaml"))
X = "x: [1, 8, 16, 16]"


def program(*lines: str, inputs: str = X, tail: str = "", **options: Any) -> Program:
    text = f"name: t\ninputs: {{{inputs}}}\nops:\n" + "".join(f"  {line}\n" for line in lines) + tail
    return parse_yaml_program(text, "w.yaml", **options)


def only(made: Program) -> Op:
    (op,) = ops(made.body)
    return op


def shapes(made: Program, *names: str) -> list[tuple[int, ...]]:
    return [made.tensors[name].shape for name in names]


def kinds(body: Sequence[object]) -> list[str]:
    return [n.kind if isinstance(n, Op) else type(n).__name__ for n in body]


# -- convolutions, pooling, matrices ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "out", "macs", "weights"),
    [
        # 3x3 over 8 -> 4 channels, 14x14 positions without padding; 4 int32 biases.
        ("{op: conv, channels: 4, kernel: 3}", (1, 4, 14, 14), 14 * 14 * 4 * 8 * 9, 4 * 8 * 9 + 16),
        ("{op: conv, channels: 4, kernel: 3, pad: same, bias: false}", (1, 4, 16, 16), 256 * 288, 288),
        ("{op: conv, channels: 4, kernel: [1, 3], pad: [0, 1]}", (1, 4, 16, 16), 256 * 4 * 8 * 3, 96 + 16),
        ("{op: conv, channels: 4, kernel: 3, stride: 2, pad: [0, 0, 1, 1]}", (1, 4, 8, 8), 64 * 288, 304),
        ("{op: conv, channels: 4, kernel: 3, dilation: 2}", (1, 4, 12, 12), 144 * 288, 304),
        ("{op: conv, channels: 4, kernel: 3, groups: 2, pad: 1}", (1, 4, 16, 16), 256 * 4 * 4 * 9, 144 + 16),
        ("{op: depthwise_conv, kernel: 3, pad: 1}", (1, 8, 16, 16), 256 * 8 * 9, 72 + 32),
        ("{op: depthwise_conv, kernel: 3, multiplier: 2}", (1, 16, 14, 14), 196 * 16 * 9, 144 + 64),
        # Transposed: (16 - 1) * 2 + 2 = 32; every input position is multiplied by the whole kernel.
        ("{op: transposed_conv, channels: 4, kernel: 2, stride: 2}", (1, 4, 32, 32), 256 * 4 * 8 * 4, 144),
        ("{op: conv, channels: 4, kernel: 1, weight_dtype: int4}", (1, 4, 16, 16), 256 * 32, 16 + 16),
        ("{op: conv, channels: 4, kernel: 1, weights: 1KiB}", (1, 4, 16, 16), 256 * 32, 1024),
    ],
)
def test_convolution(line: str, out: tuple[int, ...], macs: int, weights: int) -> None:
    made = program(f"- {line}")
    assert isinstance(only(made).work, Conv)
    assert shapes(made, *made.outputs) == [out]
    assert made.macs == macs
    assert made.block_bytes(only(made)) == weights


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


@pytest.mark.parametrize(
    ("line", "out"),
    [
        ("{op: max_pool, kernel: 2}", (1, 8, 8, 8)),
        ("{op: average_pool, kernel: 3, stride: 2}", (1, 8, 7, 7)),
        ("{op: max_pool, kernel: 3, stride: 2, ceil: true}", (1, 8, 8, 8)),
        ("{op: global_average_pool}", (1, 8, 1, 1)),
        ("{op: global_max_pool}", (1, 8, 1, 1)),
    ],
)
def test_pooling(line: str, out: tuple[int, ...]) -> None:
    made = program(f"- {line}")
    assert isinstance(only(made).work, Pool)
    assert shapes(made, *made.outputs) == [out]
    assert made.weight_bytes == 0


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


@pytest.mark.parametrize(
    ("line", "out", "bytes_"),
    [
        ("{op: relu}", (1, 8, 16, 16), 2048),
        ("{op: add, in: x, constant: [8, 1, 1]}", (1, 8, 16, 16), 2048),
        ("{op: softmax, axis: 1}", (1, 8, 16, 16), 2048),
        ("{op: argmax, axis: 1}", (1, 16, 16), 1024),
        ("{op: batch_norm}", (1, 8, 16, 16), 2048),
        ("{op: layer_norm}", (1, 8, 16, 16), 2048),
        ("{op: prelu}", (1, 8, 16, 16), 2048),
        ("{op: cast, dtype: int16}", (1, 8, 16, 16), 4096),
        ("{op: concat, in: [x, x]}", (1, 16, 16, 16), 4096),
        ("{op: slice, axis: 1, start: -3}", (1, 3, 16, 16), 768),
        ("{op: slice, axis: 2, stop: 4}", (1, 8, 4, 16), 512),
        ("{op: transpose, order: [0, 2, 3, 1]}", (1, 16, 16, 8), 2048),
        ("{op: pad, before: [0, 0, 1, 1], after: [0, 0, 0, 2]}", (1, 8, 17, 19), 2584),
        ("{op: resize, scale: 2}", (1, 8, 32, 32), 8192),
        ("{op: resize, size: [4, 6]}", (1, 8, 4, 6), 192),
        ("{op: space_to_depth, block: 2}", (1, 32, 8, 8), 2048),
        ("{op: depth_to_space, block: 2}", (1, 2, 32, 32), 2048),
        ("{op: reduce_mean, axes: [2, 3]}", (1, 8, 1, 1), 8),
        ("{op: reduce_max, axes: [-1], keep: false}", (1, 8, 16), 128),
        ("{op: copy}", (1, 8, 16, 16), 2048),
    ],
)
def test_vector_work(line: str, out: tuple[int, ...], bytes_: int) -> None:
    made = program(f"- {line}")
    (name,) = made.outputs
    assert isinstance(only(made).work, Vector)
    assert (made.tensors[name].shape, made.tensors[name].bytes) == (out, bytes_)


def test_weights_of_norms() -> None:
    made = program(
        "- {op: batch_norm}",  # a scale and a shift for each of 8 channels
        "- {op: group_norm, groups: 4}",
        "- {op: layer_norm, axis: 1}",  # a scale and a shift for each of 8 * 16 * 16
        "- {op: rms_norm, weight_dtype: float32}",  # a scale for each of 16, 4 bytes each
    )
    assert [made.block_bytes(op) for op in ops(made.body)] == [16, 16, 2 * 2048, 64]
    assert [op.work.rows for op in ops(made.body)] == [8 * 16, 4, 1, 8 * 16]


def test_broadcast_and_split() -> None:
    made = program(
        "- {op: split, name: s, in: x, out: [a, b], sizes: [6, 2]}",
        "- {op: global_average_pool, name: g, in: a}",
        "- {op: mul, name: m, in: [g, a]}",
    )
    assert shapes(made, "a", "b", "m") == [(1, 6, 16, 16), (1, 2, 16, 16), (1, 6, 16, 16)]
    assert list(ops(made.body))[-1].work == Vector(1536, 6 + 1536, 1536, 96, (0,))
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
    assert "int8" in raised.value.mend


def test_every_dtype_of_the_vocabulary_is_known() -> None:
    assert set(get_args(Dtype)) == set(DTYPE_BITS)


def test_shapes_of_inputs_can_be_replaced() -> None:
    assert program("- {op: relu, name: r}", shapes={"x": (2, 3)}).tensors["r"].shape == (2, 3)
    with pytest.raises(BadInput, match="'y'") as raised:
        program("- {op: relu}", shapes={"y": (2, 3)})
    assert "x" in raised.value.mend


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
    made = program("- {op: relu, name: a}", "- {op: relu, name: b, in: x}", inputs=X + ", y: 4")
    assert made.notes == ("nothing reads the input 'y'", "nothing reads the result 'a'")


def test_every_op_knows_its_place() -> None:
    made = program("- {op: relu, name: a}", "- {op: relu, name: b}")
    assert [str(op.place) for op in ops(made.body)] == ["w.yaml:4:5", "w.yaml:5:5"]


# -- if and loop -----------------------------------------------------------------------------------

ARMS = ("- op: if", "  name: gate", "  condition: score", "  arms:")


def gated(*lines: str) -> Program:
    return program("- {op: reduce_sum, name: score, in: x, axes: [0, 1, 2, 3]}", *ARMS, *lines)


def test_an_arms_own_tensor_becomes_the_output_and_an_outer_one_is_copied() -> None:
    made = gated(
        "    yes: [{op: relu, name: r, in: x}, {op: abs, name: s}]",
        "    no: []",
        "  outputs: {y: {yes: s, no: x}}",
        "- {op: neg, name: n}",
    )
    _, gate, after = made.body
    assert isinstance(gate, If)
    assert isinstance(after, Op)
    yes, no = gate.arms
    assert (gate.condition, yes.name, no.name) == ("score", "yes", "no")
    assert kinds(yes.body) == ["relu", "abs"]
    assert [op.outputs for op in ops(yes.body)] == [("r",), ("y",)]
    assert kinds(no.body) == ["copy"]
    assert [(op.inputs, op.outputs) for op in ops(no.body)] == [(("x",), ("y",))]
    assert after.inputs == ("y",)
    assert "s" not in made.tensors
    assert made.notes == ("the arm 'no' copies 'x' to 'y'",)


def test_arms_may_write_the_output_by_its_own_name() -> None:
    made = gated(
        "    yes: [{op: relu, in: x, out: y}]",
        "    no: [{op: abs, in: x, out: y}]",
        "  outputs: {y: {yes: y, no: y}}",
    )
    gate = made.body[1]
    assert isinstance(gate, If)
    assert [[op.outputs for op in ops(arm.body)] for arm in gate.arms] == [[("y",)], [("y",)]]
    assert made.outputs == ("y",)


def test_one_tensor_given_for_two_outputs_is_copied_once() -> None:
    made = gated(
        "    yes: [{op: relu, name: r, in: x}, {op: flatten, name: v}]",
        "    no: [{op: abs, name: s, in: x}]",
        "  outputs: {y: {yes: r, no: s}, z: {yes: r, no: x}}",
    )
    gate = made.body[1]
    assert isinstance(gate, If)
    assert [kinds(arm.body) for arm in gate.arms] == [["relu", "copy"], ["abs", "copy"]]
    assert made.outputs == ("y", "z")


def test_nested_results_and_loops_inside_an_arm_are_renamed_throughout() -> None:
    made = gated(
        "    yes:",
        "      - op: loop",
        "        name: l",
        "        trips: 3",
        "        carry: {h: {from: x, next: n}}",
        "        ops: [{op: relu, name: n, in: h}]",
        "    no:",
        "      - op: if",
        "        name: inner",
        "        arms: {a: [{op: relu, name: p, in: x}], b: []}",
        "        outputs: {q: {a: p, b: x}}",
        "  outputs: {y: {yes: h, no: q}}",
    )
    gate = made.body[1]
    assert isinstance(gate, If)
    loop, inner = gate.arms[0].body[-1], gate.arms[1].body[-1]
    assert isinstance(loop, Loop)
    assert loop.carried == ("y",)
    assert [(op.inputs, op.outputs) for op in ops(loop.body)] == [(("y",), ("n",)), (("n",), ("y",))]
    assert isinstance(inner, If)
    assert [op.outputs for arm in inner.arms for op in ops(arm.body)] == [("y",), ("y",)]


def test_the_first_op_of_an_arm_reads_what_stands_before_the_if() -> None:
    made = program(
        "- {op: abs, name: a}", "- {op: if, arms: {p: [{op: relu}], q: []}}", tail="outputs: [a]\n"
    )
    gate = made.body[1]
    assert isinstance(gate, If)
    assert [op.inputs for op in ops(gate.arms[0].body)] == [("a",)]


def test_a_loop_copies_in_before_and_over_at_the_end_of_each_trip() -> None:
    made = program(
        "- op: loop",
        "  name: l",
        "  trips: 10",
        "  carry: {h: {from: x, next: n}}",
        "  ops: [{op: conv, name: n, in: h, channels: 8, kernel: 1}]",
        "- {op: relu, name: r}",
    )
    before, loop, after = made.body
    assert isinstance(before, Op)
    assert isinstance(loop, Loop)
    assert isinstance(after, Op)
    assert (before.kind, before.inputs, before.outputs) == ("copy", ("x",), ("h",))
    assert (loop.trips, loop.carried, kinds(loop.body)) == (10, ("h",), ["conv", "copy"])
    assert [(op.inputs, op.outputs) for op in ops(loop.body)] == [(("h",), ("n",)), (("n",), ("h",))]
    assert after.inputs == ("h",)
    assert made.macs == 10 * 256 * 64


def test_carried_tensors_change_all_at_once() -> None:
    made = program(
        "- op: loop",
        "  name: fibonacci",
        "  trips: 3",
        "  carry: {a: {from: x, next: b}, b: {from: y, next: sum}, c: {from: x, next: a}}",
        "  ops: [{op: add, name: sum, in: [a, b]}]",
        inputs=X + ", y: [1, 8, 16, 16]",
        tail="outputs: [a, b, c]\n",
    )
    loop = made.body[-1]
    assert isinstance(loop, Loop)
    copies = [(op.inputs[0], op.outputs[0]) for op in ops(loop.body)][1:]
    # c takes the old a, which is saved before a is replaced by the old b.
    assert copies == [("a", "fibonacci.a.old"), ("b", "a"), ("sum", "b"), ("fibonacci.a.old", "c")]


# -- the format itself -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "macs", "parameters", "nodes"),
    [
        ("decoder_loop", 128 * 128 + 10 * (64 * 384 + 128 * 384 + 128 * 1000), 284_008, 4),
        ("gated_vision", 48 * 48 * 8 * 9 + 24 * 24 * 16 * 72 + 16 * 65 + 144 * 32 * 144 + 144 * 64 * 288 + 64 * 64 + 64 * 128, 37_969, 7),
        ("plain_bytes", 40 * 256 + 256 * 12, 2048 + 1536 + 40 * 256 + 256 + 256 * 12 + 12, 6),
        ("tiny_cnn", 1024 * 27 * 16 + 256 * 9 * 16 + 256 * 16 * 32 + 256 * 9 * 32 + 256 * 32 * 32 + 320, 3018, 10),
    ],
)  # fmt: skip
def test_examples(name: str, macs: int, parameters: int, nodes: int) -> None:
    (path,) = [p for p in EXAMPLES if p.stem == name]
    made = load_yaml_program(path)
    assert (made.macs, made.parameters, len(made.body)) == (macs, parameters, nodes)
    assert made.source == str(path)


def test_every_example_is_tested() -> None:
    assert [p.stem for p in EXAMPLES] == ["decoder_loop", "gated_vision", "plain_bytes", "tiny_cnn"]


def schema_mistakes(data: object) -> list[str]:
    # Without annotations of its own, and so not for the type checkers.
    library: Any = importlib.import_module("jsonschema")
    return [error.message for error in library.Draft202012Validator(schema()).iter_errors(data)]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_are_of_the_schema(path: Path) -> None:
    assert not schema_mistakes(yaml.safe_load(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "change",
    [{"inputs": {"x": [0]}}, {"inputs": {"a b": 4}}, {"dtype": "f32"}, {"ops": []}, {"extra": 1}]
    + [{"ops": [{"op": "relu", "in": "x", "stride": 2}]}, {"ops": [{"op": "conv", "kernel": 3}]}],
)
def test_the_schema_refuses_what_the_loader_refuses(change: dict[str, object]) -> None:
    data = {"name": "t", "inputs": {"x": [4]}, "ops": [{"op": "relu"}]}
    assert not schema_mistakes(data)
    assert schema_mistakes({**data, **change})
    with pytest.raises(BadInput):
        parse_yaml_program(json.dumps({**data, **change}), "w.yaml")


def test_every_key_of_the_schema_is_described() -> None:
    definitions: Any = {**schema(), "properties": {}}["$defs"]
    described = [f for m in definitions.values() for k, f in m["properties"].items() if k != "op"]
    assert all(len(f["description"]) > 8 for f in described)
    assert all(m["additionalProperties"] is False for m in definitions.values())
    assert all(m["description"] for m in definitions.values())
