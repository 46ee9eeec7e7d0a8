"""Ops that add up a whole image in a cascade: what they hold, in how many bytes, when the output is made."""

from fractions import Fraction
from typing import Literal

import pytest

from chipmodel.cascades.accumulation import accumulating, with_accumulators
from chipmodel.cascades.rewrite import CascadeChoice, cascade_op, with_cascades
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import WHOLE, by_rows, by_rows_and_channels
from chipmodel.model.cascade_work import CascadeWork
from chipmodel.model.program import Op, Program
from chipmodel.npu.cycles import share_read
from tests.support.narrowed import of_kind, some
from tests.support.small_networks import small_network
from workloads.build.builder import ProgramBuilder

PoolKind = Literal["max_pool", "average_pool"]

ROWS, CHANNELS = 5, 6
OPS = ("conv", "pool", "act")


def pooled(
    dtype: str = "int8", kind: PoolKind = "average_pool", image: tuple[int, ...] = (1, 4, ROWS, 3)
) -> Program:
    """A 1 x 1 convolution, pooling over all of it, and a rectifier."""
    builder = ProgramBuilder("pooled", dtype=dtype)
    x = builder.conv("conv", builder.input("x", image), CHANNELS, 1)
    x = builder.pool("pool", x, None, kind=kind)
    builder.output(builder.elementwise("relu", "act", [x]))
    return builder.build()


def pool(program: Program) -> Op:
    return accumulating(program, next(op for op in program.ops() if op.name == "pool"))


def work(
    program: Program, heights: tuple[int, ...], rolls: bool = True, ops: tuple[str, ...] = OPS
) -> CascadeWork:
    own = [op for op in program.ops() if op.name in ops]
    return of_kind(CascadeWork, cascade_op(program, own, CascadeChoice(ops, heights, rolls)).work)


@pytest.mark.parametrize(
    ("dtype", "kind", "size", "of"),
    [
        ("int8", "average_pool", 4, "int32"),
        ("int16", "average_pool", 4, "int32"),
        ("int32", "average_pool", 4, "int32"),
        ("int64", "average_pool", 8, "int64"),
        ("float16", "average_pool", 4, "float32"),
        ("float32", "average_pool", 4, "float32"),
        ("int8", "max_pool", 1, "int8"),
        ("int16", "max_pool", 2, "int16"),
        ("float32", "max_pool", 4, "float32"),
    ],
)
def test_a_sum_is_wider_than_what_it_sums(dtype: str, kind: PoolKind, size: int, of: str) -> None:
    sums = some(pool(pooled(dtype, kind)).accumulator)
    assert (sums.bytes, sums.dtype, sums.name) == (size * CHANNELS, of, "pool.sums")


@pytest.mark.parametrize("image", [(1, 4, 1, 7), (2, 4, 5, 3)])
def test_a_single_row_or_several_images_are_not_added_up(image: tuple[int, ...]) -> None:
    program = pooled(image=image)
    assert pool(program) == next(op for op in program.ops() if op.name == "pool")


@pytest.mark.parametrize(
    ("kernel", "pad"), [((4, 3), 0), ((5, 2), 0), ((5, 3), (0, 1, 0, 0)), ((5, 3), (1, 0, 0, 0))]
)
def test_windows_on_part_of_an_image_are_not_added_up(
    kernel: tuple[int, int], pad: int | tuple[int, int, int, int]
) -> None:
    builder = ProgramBuilder("window")
    builder.output(builder.pool("pool", builder.input("x", (1, 4, 5, 3)), kernel, stride=9, pad=pad))
    assert pool(builder.build()).accumulator is None


def test_parts_read_their_rows_and_what_was_before() -> None:
    op = pool(pooled())
    first, last = Interval(0, ROWS - 1), Interval(ROWS - 1, ROWS)
    assert op.work.rows == ROWS
    share = by_rows_and_channels(last, ROWS, Interval(0, CHANNELS), CHANNELS)
    assert op.reads(0, last, Interval(0, CHANNELS)) == share
    assert (op.continued(first), op.continued(last)) == (None, op.accumulator)
    assert (op.made(first), op.made(last), op.made(Interval(0, ROWS))) == (
        ("pool.sums",),
        ("pool",),
        ("pool",),
    )
    assert op.writes("pool", last, Interval(0, CHANNELS)) == WHOLE


def test_rows_are_added_up_as_they_arrive() -> None:
    """A row of the convolution is there at a time; what comes after pooling waits for its last row."""
    found = work(pooled(), (1, 1, 1))
    assert [step.op for step in found.steps] == [0, 1] * ROWS + [2]
    assert {held.tensor: held.bytes for held in found.held} == {
        "conv": 3 * CHANNELS,
        "pool": CHANNELS,
        "pool.sums": 4 * CHANNELS,
    }


@pytest.mark.parametrize("rolls", [True, False])
def test_the_output_is_made_with_the_last_row(rolls: bool) -> None:
    found = work(pooled(), (1, 2), rolls, OPS[:2])
    assert len(found.groups) == 3
    assert [made.of_group for made in found.makes] == [(Interval(0, 0), Interval(0, 0), Interval(0, 1))]
    assert [made.of_rows for made in found.makes] == [1]
    assert {held.tensor: (held.bytes, held.rolls) for held in found.held} == {
        "conv": (2 * 3 * CHANNELS, rolls),
        "pool.sums": (4 * CHANNELS, rolls),
    }


FLAT = small_network("flat")
"""A 1 x 1 convolution, and two features of all that it makes."""


def test_a_dense_layer_adds_up_the_rows_of_an_image() -> None:
    """Each feature has an accumulator; 18 B of a row meet a fifth of the weights."""
    found = work(FLAT, (1, 1), ops=("conv", "dense"))
    assert [step.op for step in found.steps] == [0, 1] * ROWS
    assert {held.tensor: held.bytes for held in found.held} == {"conv": 3 * CHANNELS, "dense.sums": 2 * 4}
    assert found.makes[0].of_group[-1] == Interval(0, 1)
    op = accumulating(FLAT, [*FLAT.ops()][1])
    assert op.reads(0, Interval(1, 3), Interval(0, 2)) == by_rows(Interval(1, 3), ROWS)
    assert op.work.part(2, 2).macs == 2 * 3 * CHANNELS * 2
    assert share_read(op, 2, 2) == Fraction(2, ROWS)


@pytest.mark.parametrize("shape", [(2, 4, ROWS, 3), (1, 4, 1, 3)])
def test_several_rows_or_a_flat_input_are_not_added_up(shape: tuple[int, ...]) -> None:
    builder = ProgramBuilder("rows")
    builder.output(builder.dense("dense", builder.flatten(builder.input("x", shape)), 2))
    (op,) = builder.build().ops()
    assert accumulating(builder.build(), op) == op


def test_a_window_over_channels_waits_for_all_rows_of_the_image() -> None:
    """As in efficient channel attention: the channels are rows there, and none of them is made before."""
    found = work(small_network("attention"), (1, 1, 1))
    assert [step.op for step in found.steps] == [0, 1] * ROWS + [2] * CHANNELS


def test_two_rows_are_added_up_as_well() -> None:
    held = work(pooled(image=(1, 4, 2, 3)), (1, 1, 1)).held
    assert [each.tensor for each in held] == ["conv", "pool", "pool.sums"]


def test_a_single_part_needs_no_accumulators() -> None:
    assert [held.tensor for held in work(pooled(), (1, ROWS, 1)).held] == ["conv", "pool"]


def test_a_program_gets_the_accumulators_of_its_cascades() -> None:
    program = pooled()
    cascaded = with_cascades(program, [CascadeChoice(OPS, (1, 1, 1))])
    sums = pool(program).accumulator
    assert cascaded.tensors["pool.sums"] == with_accumulators(program, {"pool"}).tensors["pool.sums"] == sums
    assert with_accumulators(program, {"conv"}) is program


def test_a_name_that_is_taken_is_not_taken_again() -> None:
    sums = some(pool(small_network("taken")).accumulator)
    assert sums.name == "pool.sums'"
