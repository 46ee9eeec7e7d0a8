"""The fewest rows inside cascades, against those that cascades in stripes of random heights hold."""

from random import Random

import pytest

from chipmodel.cascades.rewrite import CascadeChoice, cascade_op
from chipmodel.model.cascade_work import CascadeWork
from dma.cascade_choice.least_rows import LeastRows
from dma.cascade_choice.straight_chains import op_chains
from tests.fuzz.cascades import random_case
from workloads.build.builder import ProgramBuilder

PROGRAMS = 40
HEIGHTS = 6


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_no_cascade_holds_fewer(seed: int) -> None:
    program, choices, _ = random_case(seed)
    random, known = Random(seed), {op.name: op for op in program.ops()}
    for choice in choices:
        ops = [known[name] for name in choice.ops]
        chain = next(list(each) for each in op_chains(program) if ops[0] in each)
        least = LeastRows(program, chain)
        maker = {name: index for index, op in enumerate(chain) for name in op.outputs}
        for _ in range(HEIGHTS):
            heights = tuple(random.choice((1, 1, 2, 3, 5)) for _ in ops)
            work = cascade_op(program, ops, CascadeChoice(choice.ops, heights, choice.rolls)).work
            assert isinstance(work, CascadeWork)
            for held in (each for each in work.held if each.tensor in maker):
                assert least.held(maker[held.tensor], held.tensor) <= held.bytes


def test_a_window_over_channels_waits_for_all_that_is_added_up() -> None:
    builder = ProgramBuilder("attention")
    x = builder.conv("conv", builder.input("x", (1, 4, 5, 3)), 6, 1)
    x = builder.reshape(builder.pool("pool", x, None, kind="average_pool"), (1, 1, 6, 1))
    builder.output(builder.conv("window", x, 1, (3, 1), pad=(1, 0, 1, 0)))
    program = builder.build()
    rows = LeastRows(program, list(program.ops()))
    assert [rows.waits(index) for index in range(3)] == [frozenset(), frozenset(), {"pool"}]
    assert [rows.sums(index) for index in range(3)] == [0, 4 * 6, 0]
