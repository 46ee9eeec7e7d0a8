"""Shapes compared with NumPy and with windows placed one by one, weights counted by hand, and errors."""

from typing import Literal

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from chipmodel.errors import BadInput, Place
from chipmodel.model.program import If, Loop, Op, ops
from chipmodel.model.work import Conv, Pool, Recurrent, Vector
from tests.support.narrowed import of_kind
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value, bias_dtype, broadcast_shape, matmul_work, tensor_bytes


def fresh(dtype: str = "int8") -> ProgramBuilder:
    return ProgramBuilder("net", dtype)


def only(builder: ProgramBuilder) -> Op:
    (op,) = ops(builder.build().body)
    return op


# -- windows -----------------------------------------------------------------------------------------


def starts(size: int, kernel: int, stride: int, pads: tuple[int, int], dilation: int, ceil: bool) -> int:
    """Windows along one axis, one after another: each must end inside the padded image, or, with
    ``ceil``, begin inside the image or its leading padding."""
    count, start = 0, -pads[0]
    while start + dilation * (kernel - 1) < size + pads[1]:
        count, start = count + 1, start + stride
    reached = start - stride + dilation * (kernel - 1) + 1
    if ceil and reached < size + pads[1] and start < size:
        count += 1
    return count


side = st.integers(1, 11)
small = st.integers(1, 4)


@given(side, side, small, small, small, small, st.integers(0, 2), st.integers(0, 2), st.booleans())
def test_convolution_and_pooling_have_a_row_for_each_window(
    h: int,
    w: int,
    kernel_h: int,
    kernel_w: int,
    stride_h: int,
    stride_w: int,
    pad: int,
    more: int,
    ceil: bool,
) -> None:
    assume(max(pad, more) < min(kernel_h, kernel_w))
    kernel, stride, dilation = (kernel_h, kernel_w), (stride_h, stride_w), 1 + kernel_h % 2
    pads = (pad, more, more, pad)
    for pool in (True, False):
        apart = 1 if pool else dilation
        expected = (
            starts(h, kernel_h, stride_h, (pads[0], pads[2]), apart, ceil and pool),
            starts(w, kernel_w, stride_w, (pads[1], pads[3]), apart, ceil and pool),
        )
        builder = fresh()
        x = builder.input("x", (2, 3, h, w))

        def made(builder: ProgramBuilder = builder, x: Value = x, pool: bool = pool) -> tuple[int, ...]:
            if pool:
                return builder.pool("o", x, kernel, stride=stride, pad=pads, ceil=ceil).shape
            return builder.conv("o", x, 3, kernel, stride=stride, pad=pads, dilation=dilation).shape

        if 0 in expected:
            with pytest.raises(BadInput, match="does not fit"):
                made()
            continue
        assert made() == (2, 3, *expected)
        work = only(builder).work
        assert isinstance(work, Conv | Pool)
        assert (work.window.out_h, work.window.out_w) == expected
        assert (work.window.pad_top, work.window.pad_left) == pads[:2]
        assert (work.window.pad_bottom, work.window.pad_right) == pads[2:]


@given(side, small, small, st.integers(1, 2))
def test_same_padding_gives_one_output_for_each_stride(
    size: int, kernel: int, stride: int, dilation: int
) -> None:
    """TensorFlow: ceil(in / stride) outputs, the odd row of padding at the end."""
    builder = fresh()
    x = builder.input("x", (1, 1, size, 1))
    made = builder.conv("o", x, 1, (kernel, 1), stride=stride, dilation=dilation, pad="same")
    assert made.shape[2] == -(-size // stride)
    work = of_kind(Conv, only(builder).work)
    window = work.window
    assert window.pad_bottom - window.pad_top in (0, 1)
    needed = (made.shape[2] - 1) * stride + dilation * (kernel - 1) + 1
    assert window.pad_top + window.pad_bottom == max(0, needed - size)
    assert builder.pool("p", x, (kernel, 1), stride=stride, pad="same").shape[2] == -(-size // stride)


@given(side, small, small, st.integers(0, 1), st.integers(0, 2), st.integers(1, 2))
def test_transposed_convolution_covers_what_its_inputs_reach(
    size: int, kernel: int, stride: int, pad: int, output_pad: int, dilation: int
) -> None:
    """Each input row scatters to ``row * stride + tap * dilation``; padding is cut off both ends."""
    reached = {row * stride + tap * dilation for row in range(size) for tap in range(kernel)}
    expected = max(reached) + 1 - 2 * pad + output_pad
    builder = fresh()
    x = builder.input("x", (1, 4, size, 1))
    assume(expected > 0)
    made = builder.conv(
        "o", x, 6, (kernel, 1), stride=(stride, 1), pad=(pad, 0, pad, 0), dilation=(dilation, 1),
        transposed=True, output_pad=(output_pad, 0),
    )  # fmt: skip
    assert made.shape == (1, 6, expected, 1)
    assert only(builder).kind == "transposed_conv"
    assert only(builder).work.macs == size * 4 * 6 * kernel


@given(side, small, small)
def test_transposed_same_padding_is_stride_times_as_large(size: int, kernel: int, stride: int) -> None:
    assume(kernel >= stride)
    builder = fresh()
    x = builder.input("x", (1, 1, size, size))
    made = builder.conv("o", x, 1, kernel, stride=stride, pad="same", transposed=True)
    assert made.shape == (1, 1, size * stride, size * stride)


def test_a_sequence_is_an_image_of_one_column() -> None:
    builder = fresh()
    x = builder.input("x", (2, 4, 30))
    y = builder.conv("c", x, 6, 5, stride=2, pad=2, dilation=1)
    assert y.shape == (2, 6, 15)
    assert builder.pool("p", y, 3, pad="same").shape == (2, 6, 5)
    assert builder.pool("g", y, None).shape == (2, 6, 1)
    assert builder.conv("same", x, 4, 3, pad="same").shape == (2, 4, 30)
    assert builder.conv("t", x, 4, 4, stride=2, pad=1, transposed=True, output_pad=1).shape == (2, 4, 61)
    assert builder.build().weights["c.weight"].elements == 6 * 4 * 5


def test_convolutions_that_cannot_be() -> None:
    for groups in (3, 0, -1):
        with pytest.raises(BadInput, match="groups do not divide 8 input and 12 output channels"):
            fresh().conv("c", fresh().input("x", (1, 8, 6, 6)), 12, 3, groups=groups or 5)
    builder = fresh()
    builder.place = Place("net.yaml", 7, 3)
    with pytest.raises(BadInput) as refusal:
        builder.conv("c", builder.input("x", (1, 8, 6, 6)), 12, 7)
    assert str(refusal.value).startswith("net.yaml:7:3: 'c': a 7x7 window does not fit its 6x6 input")
    with pytest.raises(BadInput, match="has shape \\[8, 8\\]"):
        builder.conv("c", builder.input("flat", (8, 8)), 12, 1)


# -- matrices ----------------------------------------------------------------------------------------

dims = st.lists(st.sampled_from((1, 2, 3)), min_size=1, max_size=4).map(tuple)


@given(dims, dims)
def test_matmul_and_broadcasting_are_numpys(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    try:
        expected = np.matmul(np.zeros(a), np.zeros(b)).shape or (1,)
    except ValueError:
        with pytest.raises(BadInput):
            matmul_work("m", a, b)
    else:
        shape, work = matmul_work("m", a, b)
        assert shape == expected
        assert work.macs == int(np.prod(expected)) * a[-1]
        # The batch shares one right matrix exactly where that has no batch of its own.
        assert work.shared_right == (int(np.prod(b[:-2])) == 1)
    try:
        together = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(BadInput, match="cannot broadcast"):
            broadcast_shape("add", [a, b])
    else:
        assert broadcast_shape("add", [a, b]) == together


Cell = Literal["rnn", "gru", "lstm"]


@pytest.mark.parametrize(("cell", "gates"), [("rnn", 1), ("gru", 3), ("lstm", 4)])
@pytest.mark.parametrize("directions", [1, 2])
def test_recurrent_weights_are_onnxs(cell: Cell, gates: int, directions: int) -> None:
    """W (directions, gates * hidden, inputs), R (.., hidden), B (directions, 2 * gates * hidden)."""
    builder = fresh("float32")
    y = builder.recurrent("r", builder.input("x", (9, 2, 5)), 6, cell, directions=directions)
    assert y.shape == (9, directions, 2, 6)
    assert only(builder).work == Recurrent(9, 5, 6, gates, directions, 2)
    weights = builder.build().weights
    assert weights["r.weight"].elements == directions * gates * 6 * (5 + 6)
    assert weights["r.bias"].elements == directions * 2 * gates * 6


def test_elementwise_operands_that_are_broadcast_are_read_whole_by_every_part() -> None:
    builder = fresh()
    x, scale = builder.input("x", (2, 3, 4)), builder.input("scale", (3, 1))
    y = builder.elementwise("mul", "m", [x, scale])
    assert y.shape == (2, 3, 4)
    assert only(builder).work == Vector(24, 24 + 3, 24, rows=6, broadcast=(1,))
    builder = fresh()
    x = builder.input("x", (8,))
    builder.elementwise("add", "twice", [x, x], in_place=True)
    op = only(builder)
    assert op.work == Vector(8, 8, 8, rows=8)  # an operand that is read twice is loaded once
    assert op.overwrites == "x"


@pytest.mark.parametrize(
    ("shape", "rows"), [((1, 4, 6, 2), 6), ((2, 4, 6, 2), 12), ((1, 5, 3), 5), ((1, 4, 1, 1), 4)]
)
def test_elementwise_work_has_the_rows_of_its_tensor_or_is_cut_anywhere(
    shape: tuple[int, ...], rows: int
) -> None:
    builder = fresh()
    builder.elementwise("relu", "r", [builder.input("x", shape)])
    assert only(builder).work.rows == rows


def test_vector_work_is_cut_by_all_axes_but_the_last() -> None:
    builder = fresh()
    x = builder.input("x", (2, 3, 4))
    builder.vector("softmax", "s", [x])
    assert only(builder).work.rows == 6
    builder = fresh()
    one, two = builder.vectors("split", "s", [builder.input("x", (4, 6))], [(4, 2), (4, 4)], rows=2)
    assert (one.name, two.name, one.shape, two.shape) == ("s:0", "s:1", (4, 2), (4, 4))
    assert only(builder).work == Vector(24, 24, 24, rows=2)


# -- tensors, views and blocks -----------------------------------------------------------------------


def test_bytes_of_types() -> None:
    assert tensor_bytes((3, 5), "int4") == 8
    assert tensor_bytes((), "float32") == 4
    assert tensor_bytes((0, 9), "int8") == 0
    assert [bias_dtype(t) for t in ("int8", "uint4", "float16", "bfloat16")] == [
        *("int32", "int32", "float16", "bfloat16")
    ]
    with pytest.raises(BadInput, match="unknown dtype 'int7'"):
        fresh("int7")


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=4), st.lists(st.integers(-1, 6), min_size=1, max_size=4)
)
def test_views_are_numpys(shape: list[int], view: list[int]) -> None:
    builder = fresh()
    x = builder.input("x", shape)
    assume(0 not in view)
    try:
        expected = np.zeros(shape).reshape(view).shape
    except ValueError:
        with pytest.raises(BadInput, match="cannot view"):
            builder.reshape(x, view)
    else:
        made = builder.reshape(x, view)
        assert (made.name, made.shape) == ("x", expected)
    assert builder.build().body == ()


def test_a_tensor_defined_again_must_have_the_same_size() -> None:
    builder = fresh()
    x = builder.input("x", (4, 4))
    builder.elementwise("relu", "a", [x], outputs=["y"])
    builder.elementwise("relu", "b", [builder.reshape(x, (16,))], outputs=["y"])
    builder.place = Place("net.yaml", 3, 1)
    with pytest.raises(BadInput) as refusal:
        builder.dense("c", x, 5, outputs=["y"])
    assert str(refusal.value).startswith(
        "net.yaml:3:1: tensor 'y' is defined twice, with 16 and with 20 bytes"
    )


def test_a_name_is_given_once() -> None:
    builder = fresh()
    x = builder.input("x", (4,))
    builder.elementwise("relu", "a", [x])
    with builder.block() as body, pytest.raises(BadInput, match="the name 'a' is used twice"):
        builder.elementwise("relu", "a", [x])
    with pytest.raises(BadInput, match="the name 'a' is used twice"):
        builder.add_loop("a", 2, body)


def test_blocks_nest_and_close_also_after_an_error() -> None:
    builder = fresh()
    x = builder.input("x", (4,))
    with builder.block() as outer:
        builder.elementwise("relu", "a", [x])
        with builder.block() as inner:
            builder.elementwise("relu", "b", [x])
        builder.add_loop("loop", 3, inner, ["state"])
    with pytest.raises(ZeroDivisionError), builder.block():
        raise ZeroDivisionError
    builder.add_if("if", [("arm", outer), ("none", [])], x)
    (gate,) = builder.build().body
    assert isinstance(gate, If)
    assert (gate.condition, [arm.name for arm in gate.arms], gate.arms[1].body) == ("x", ["arm", "none"], ())
    loop = of_kind(Loop, gate.arms[0].body[1])
    assert (loop.iterations, loop.carried, [n.name for n in loop.body]) == (3, ("state",), ["b"])


def test_raw_tensors_and_weights_are_known_by_their_bytes() -> None:
    builder = fresh("int16")
    even, odd = builder.raw("even", 10, is_input=True), builder.raw("odd", 7)
    assert (even.shape, even.dtype, even.bytes) == ((5,), "int16", 10)
    assert (odd.shape, odd.dtype, odd.bytes) == ((7,), "uint8", 7)
    builder.custom("c", [even, even], [odd], rows=2, weights=[builder.raw_weight("w", 9)])
    program = builder.build()
    assert (program.tensors["odd"].bytes, program.tensors["odd"].shape) == (7, ())
    assert (program.weights["w"].elements, program.inputs) == (9, ("even",))
    assert only(builder).work == Vector(7, 10, 7, rows=1)  # half of 7 bytes is no whole number
    assert (only(builder).kind, only(builder).dtype) == ("custom", "int16")


def test_the_users_own_cycles_and_weight_bytes() -> None:
    builder = fresh()
    x = builder.dense("d", builder.input("x", (1, 4)), 4)
    builder.override(cycles=77)
    builder.override(weight_bytes=100)
    op = only(builder)
    weights = builder.build().weights
    assert (op.cycles, op.weights) == (77, ("d.weights",))
    assert {n: (w.bytes, w.elements) for n, w in weights.items()} == {"d.weights": (100, 16 + 4)}
    builder.override(cycles=0)
    assert only(builder).cycles == 0
    builder.add_loop("loop", 1, [])
    with pytest.raises(TypeError):
        builder.override(cycles=1)
    assert x.name == "d"


def test_an_arms_result_takes_the_name_of_the_ifs() -> None:
    builder = fresh()
    x = builder.input("x", (4,))
    with builder.block() as body:
        a = builder.elementwise("relu", "a", [x])
        with builder.block() as inner:
            builder.elementwise("relu", "b", [a], in_place=True)
        builder.add_loop("loop", 1, inner, ["a"])
        builder.add_if("if", [("only", [])], a)
    builder.rename(body, "a", "joined")
    first, loop, gate = body
    assert isinstance(loop, Loop)
    assert of_kind(Op, first).outputs == ("joined",)
    assert (loop.carried, of_kind(If, gate).condition) == (("joined",), "joined")
    (b,) = loop.body
    assert isinstance(b, Op)
    assert (b.inputs, b.overwrites, b.outputs) == (("joined",), "joined", ("b",))
    assert set(builder.build().tensors) == {"x", "b", "joined"}


def test_an_output_is_listed_once() -> None:
    builder = fresh()
    x = builder.elementwise("relu", "a", [builder.input("x", (4,))])
    builder.output(x)
    builder.output(builder.reshape(x, (2, 2)))
    assert builder.build().outputs == ("a",)


def test_types_follow_the_first_operand_or_what_is_said() -> None:
    builder = fresh("int16")
    wide, narrow = builder.input("w", (4,), "int32"), builder.input("n", (4,), "int8")
    assert builder.elementwise("add", "a", [narrow, wide]).dtype == "int8"
    work = only(builder).work
    (index,) = builder.emit("argmax", "m", work, [narrow], [(1,)], out_dtype="int32")
    assert (index.dtype, index.bytes) == ("int32", 4)
    values, indices = builder.emit("topk", "t", work, [wide], [(2,), (2,)], out_dtype=["int32", "int64"])
    assert (values.bytes, indices.bytes) == (8, 16)
    (made,) = builder.emit("constant", "c", work, [], [(3,)])
    assert (made.dtype, made.bytes) == ("int16", 6)
