"""Attention in a cascade: blocks of queries, whose scores are there a few rows at a time."""

from chipmodel.cascades.rewrite import CascadeChoice, cascade_op
from chipmodel.geometry.interval import Interval
from chipmodel.model.attributes import AlongAxis, AxisOrder
from chipmodel.model.cascade_work import CascadeWork
from chipmodel.model.program import Program
from workloads.build.builder import ProgramBuilder

HEADS, TOKENS, SIZE = 2, 4, 3
OPS = ("turned", "scores", "shares", "mixed")


def attention() -> Program:
    """Queries that are turned from rows of tokens to rows of heads, and keys and values that already are."""
    b = ProgramBuilder("attention")
    shape = (HEADS, TOKENS, SIZE)
    queries = b.input("queries", (TOKENS, HEADS, SIZE))
    keys, values = b.input("keys", shape), b.input("values", shape)
    turned = b.vector("transpose", "turned", [queries], shape, rows=1, attributes=AxisOrder((1, 0, 2)))
    scores = b.matmul("scores", turned, keys, transpose_right=True)
    shares = b.vector("softmax", "shares", [scores], attributes=AlongAxis(2, TOKENS))
    b.output(b.matmul("mixed", shares, values))
    return b.build()


def work(heights: tuple[int, ...]) -> CascadeWork:
    program = attention()
    found = cascade_op(program, list(program.ops()), CascadeChoice(OPS, heights)).work
    assert isinstance(found, CascadeWork)
    return found


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
