"""Ops that follow one another, and what is alive around some of them."""

from chipmodel.geometry.interval import Interval
from chipmodel.model.program import Program
from dma.cascade_choice.straight_chains import LiveAround, op_chains, straight_chains
from workloads.build.builder import ProgramBuilder


def branched() -> Program:
    """Two ops, a branch with an op in one arm and two in the other, and an op after it."""
    builder = ProgramBuilder("branched")
    a = builder.elementwise("relu", "a", [builder.input("x", (1, 2, 4, 4))])
    b = builder.elementwise("relu", "b", [a])
    with builder.block() as first:
        builder.elementwise("neg", "c", [b], outputs=["y"])
    with builder.block() as second:
        builder.elementwise("abs", "e", [builder.elementwise("abs", "d", [b])], outputs=["y"])
    builder.add_if("which", [("one", first), ("two", second)])
    builder.output(builder.elementwise("relu", "last", [a.__class__("y", (1, 2, 4, 4), "int8")]))
    return builder.build()


def straight() -> Program:
    builder = ProgramBuilder("straight")
    x = builder.input("x", (1, 2, 6, 4))
    a = builder.conv("a", x, 4, 1)
    b = builder.conv("b", a, 4, 1)
    builder.output(builder.elementwise("add", "c", [b, a]))
    return builder.build()


def test_chains_end_where_bodies_do() -> None:
    program = branched()
    chains = [Interval(0, 2), Interval(2, 3), Interval(3, 5), Interval(5, 6)]
    assert list(straight_chains(program.body)) == chains
    names = [tuple(op.name for op in chain) for chain in op_chains(program)]
    assert names == [("a", "b"), ("c",), ("d", "e"), ("last",)]


def test_an_input_is_there_only_where_ops_read_it() -> None:
    """It can be loaded again; what ops make is there from op to op."""
    builder = ProgramBuilder("residual")
    x = builder.input("x", (1, 2, 6, 4))
    y = builder.conv("b", builder.conv("a", x, 4, 1), 2, 1)
    builder.output(builder.elementwise("add", "c", [y, x]))
    program = builder.build()
    assert LiveAround(program, inputs_apart=True).through == (48 + 96, 96 + 48, 3 * 48)
    assert LiveAround(program).through == (48 + 96, 48 + 96 + 48, 3 * 48)


def test_bytes_outside_of_a_cascade_leave_out_what_only_its_ops_touch() -> None:
    """The input has 48 bytes, the others 96; the last op reads both before it."""
    around = LiveAround(straight())
    assert list(around.outside(1)) == [48 + 96]
    assert list(around.outside(2)) == [96 + 96, 48 + 96 + 96]
    assert list(around.outside(3)) == [3 * 96, 96 + 96, 48 + 96]
    assert around.is_inside("a", Interval(0, 3))
    assert not around.is_inside("a", Interval(0, 2))
    assert not around.is_inside("a", Interval(1, 3))
    assert not around.is_inside("c", Interval(0, 3))
