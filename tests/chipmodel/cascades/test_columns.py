"""Which ops may make some of their columns, and what they read for them."""

import pytest

from chipmodel.cascades.columns import columns_read, op_columns, part_reads, part_writes
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share
from chipmodel.geometry.window import Window
from chipmodel.model.attributes import AlongAxis
from chipmodel.model.program import Op, Program
from workloads.build.builder import ProgramBuilder

ROWS, COLUMNS = Interval(2, 4), Interval(3, 5)


def program() -> Program:
    """Ops of several kinds on images of 8 rows by 10 columns."""
    b = ProgramBuilder("columns", dtype="int16")
    x = b.input("x", (1, 3, 8, 10))
    conv = b.conv("conv", x, 4, (3, 5), pad=(1, 2, 1, 2))
    thin = b.conv("strided", conv, 4, (1, 3), stride=(1, 2), pad=(0, 1, 0, 1))
    b.conv("up", thin, 2, (2, 2), stride=(2, 2), transposed=True)
    relu = b.elementwise("relu", "relu", [conv])
    add = b.elementwise("add", "add", [relu, conv])
    scale = b.pool("mean", add, None)
    b.elementwise("mul", "mul", [add, scale])
    joined = b.vector("concat", "concat", [x, add], (1, 7, 8, 10), rows=8, attributes=AlongAxis(1, 7))
    b.vector("softmax", "softmax", [joined], (1, 7, 8, 10), attributes=AlongAxis(3, 10))
    b.output(b.vector("resize", "resize", [joined], (1, 7, 16, 20)))
    return b.build()


PROGRAM = program()
OPS = {op.name: op for op in PROGRAM.ops()}


def op(name: str) -> Op:
    return OPS[name]


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("conv", 10),
        ("strided", 5),
        ("up", 10),
        ("relu", 10),
        ("add", 10),
        ("mul", 10),
        ("concat", 10),
        ("mean", None),  # all columns become one
        ("softmax", None),  # a column needs all the others
        ("resize", None),
    ],
)
def test_ops_whose_columns_are_apart(name: str, columns: int | None) -> None:
    assert op_columns(PROGRAM, op(name)) == columns


@pytest.mark.parametrize(
    ("name", "operand", "made", "read"),
    [
        ("conv", 0, Interval(3, 5), Interval(1, 7)),  # two more on both sides
        ("conv", 0, Interval(0, 2), Interval(0, 4)),  # padding on the left
        ("conv", 0, Interval(8, 10), Interval(6, 10)),
        ("strided", 0, Interval(1, 3), Interval(1, 6)),  # 1 * 2 - 1 to 2 * 2 + 1
        ("up", 0, Interval(3, 5), Interval(1, 3)),  # from 3 // 2 to 4 // 2
        ("add", 1, Interval(3, 5), Interval(3, 5)),
        ("mul", 1, Interval(3, 5), None),  # one number for each channel
        ("conv", 0, Interval(2, 8), None),  # reaches both borders
    ],
)
def test_columns_that_are_read(name: str, operand: int, made: Interval, read: Interval | None) -> None:
    assert columns_read(PROGRAM, op(name), operand, made) == read


def test_a_part_reads_rows_of_all_channels_in_some_columns() -> None:
    share = part_reads(PROGRAM, op("conv"), 0, ROWS, Interval(0, 4), COLUMNS)
    assert share == Share(Interval(1, 5), 8, Interval(0, 3), 3, Interval(1, 7), 10)
    assert (share.runs, share.bytes(480)) == (4 * 3, 4 * 3 * 6 * 2)
    assert share.band_bytes(480) == 8 * 3 * 6 * 2


def test_a_part_writes_its_columns() -> None:
    share = part_writes(PROGRAM, op("conv"), "conv", ROWS, Interval(0, 4), COLUMNS)
    assert share == Share(ROWS, 8, Interval(0, 4), 4, COLUMNS, 10)
    assert part_writes(PROGRAM, op("conv"), "conv", ROWS, Interval(0, 4), None) == op("conv").writes(
        "conv", ROWS, Interval(0, 4)
    )


def test_a_band_is_padded_only_at_the_border() -> None:
    window = Window(8, 10, 8, 10, 3, 5, pad_top=1, pad_left=2, pad_bottom=1, pad_right=2)
    found = [window.in_band(Interval(start, start + 5)) for start in (0, 5)]
    assert [(w.in_w, w.out_w, w.pad_left, w.pad_right) for w in found] == [(7, 5, 2, 0), (7, 5, 0, 2)]
    middle = window.in_band(Interval(4, 6))
    assert (middle.in_w, middle.pad_left, middle.pad_right) == (6, 0, 0)
    assert {w.pad_top for w in (*found, middle)} == {1}


def test_bands_have_all_columns_that_a_stride_skips() -> None:
    """So that they never cost less than the whole."""
    window = Window(1, 10, 1, 5, 1, 1, stride_w=2)
    assert [window.in_band(Interval(at, at + 1)).in_w for at in range(5)] == [2] * 5
