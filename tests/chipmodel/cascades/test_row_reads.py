"""Rows that ops read, by their shortcuts, against the shares that they read."""

import pytest

from chipmodel.cascades.row_reads import row_reads, rows_of
from chipmodel.geometry.interval import Interval
from chipmodel.model.program import Program
from workloads.build.builder import ProgramBuilder


def ops() -> Program:
    b = ProgramBuilder("ops")
    x = b.input("x", (1, 4, 19, 12))
    x = b.conv("stride", x, 4, 3, pad=1, stride=2)
    x = b.conv("tall", x, 4, (5, 1), pad=(2, 0, 2, 0))
    x = b.pool("pool", x, 3, pad=1, stride=1)
    y = b.conv("one", x, 4, 1)
    x = b.elementwise("add", "sum", [x, y])
    x = b.conv("padded", x, 4, 3, pad=(4, 1, 4, 1))
    b.output(b.pool("mean", x, None))
    return b.build()


@pytest.mark.parametrize("name", [op.name for op in ops().ops()])
def test_shortcuts_are_as_what_the_op_reads(name: str) -> None:
    program = ops()
    op = next(op for op in program.ops() if op.name == name)
    made = op.work.rows
    for operand, tensor in enumerate(op.inputs):
        of_rows = program.tensors[tensor].shape[2]
        reads = row_reads(op, operand, made, of_rows)
        for start in range(made):
            for stop in range(start + 1, made + 1):
                share = op.reads(operand, Interval(start, stop), Interval(0, op.work.channels))
                assert Interval(*reads(start, stop)) == rows_of(share, of_rows)


def test_an_op_that_works_in_fewer_rows_than_its_operand() -> None:
    """24 rows of work as four rows of output, of an operand in six rows."""
    b = ProgramBuilder("flat")
    x = b.input("x", (1, 1, 12, 2))
    b.output(b.vector("relu", "relu", [x], rows=24))
    (op,) = b.build().ops()
    assert op.work.rows == 24
    assert row_reads(op, 0, 4, 6)(1, 2) == (1, 3)
    assert row_reads(op, 0, 24, 24)(1, 2) == (1, 2)
