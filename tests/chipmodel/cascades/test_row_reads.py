"""Rows that ops read, by their shortcuts, against their shares; attention in blocks of queries."""

import pytest

from chipmodel.cascades.rewrite import CascadeChoice, cascade_op
from chipmodel.cascades.row_reads import row_reads, rows_of
from chipmodel.geometry.interval import Interval
from chipmodel.model.cascade_work import CascadeWork
from chipmodel.model.program import Program
from tests.support.narrowed import of_kind
from tests.support.small_networks import small_network
from workloads.build.builder import ProgramBuilder


def ops() -> Program:
    return small_network("ops")


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


HEADS, TOKENS, SIZE = 2, 4, 3
OPS = ("turned", "scores", "shares", "mixed")


def attention() -> Program:
    """Queries that are turned from rows of tokens to rows of heads, and keys and values that already are."""
    return small_network("row_reads attention")


def work(heights: tuple[int, ...]) -> CascadeWork:
    program = attention()
    return of_kind(CascadeWork, cascade_op(program, list(program.ops()), CascadeChoice(OPS, heights)).work)


def test_a_block_of_queries_has_its_scores_alone() -> None:
    """Turned queries are made as a whole, and then two queries at a time have their rows of four scores."""
    found = work((1, 2, 2, 2))
    assert [step.op for step in found.steps] == [0, *[1, 2, 3] * 4]
    assert [step.rows for step in found.steps if step.op == 1] == [Interval(n, n + 2) for n in (0, 2, 4, 6)]
    assert {held.tensor: held.bytes for held in found.held} == {
        "turned": HEADS * TOKENS * SIZE,
        "scores": 2 * TOKENS,
        "shares": 2 * TOKENS,
    }


def test_a_block_reads_the_keys_and_values_of_its_own_heads() -> None:
    whole, none, first, last = Interval(0, 8), Interval(0, 0), Interval(0, 4), Interval(4, 8)
    keys = (first, first, last, last)
    assert [each.of_group for each in work((1, 2, 2, 2)).reads] == [(whole, none, none, none), keys, keys]
    assert work((1, 3, 3, 3)).reads[1].of_group == (first, whole, last)
