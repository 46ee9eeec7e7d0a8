"""What the bound says of the turns of ops, beside the steps of random cascades.

How often two of them take turns in the bytes that hold the rows between them, and which op begins and ends.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, groupby
from random import Random

import pytest

from chipmodel.bounds.fluid import fluid_problem
from chipmodel.cascades.rewrite import CascadeChoice, cascade_op
from chipmodel.model.cascade_work import CascadeWork
from chipmodel.model.program import If, Loop, Op, Program
from solvers.fluid.residents import Residents
from solvers.fluid.stripes import Turns
from tests.fuzz import cascades, made_again
from tests.support.chips import LUNA_LIKE
from workloads.build.builder import ProgramBuilder

CASES = (
    *(cascades.random_case, cascades.two_readers_case, cascades.skipped_columns_case, cascades.pooled_case),
    made_again.made_again_case,
)


def test_which_ops_need_as_large_a_share_of_their_input_as_they_make() -> None:
    """Not where a window is out of place, rows are skipped or added up."""
    builder = ProgramBuilder("shares")
    x = builder.input("x", (1, 2, 8, 8))
    for name, kernel, stride, pad in (
        ("same", 3, 1, (1, 1, 1, 1)),
        ("low", (2, 1), 1, (2, 0, 0, 0)),
        ("wide", (1, 2), 1, (0, 2, 0, 0)),
        ("skipping", 1, 2, (0, 0, 0, 0)),
    ):
        x = builder.conv(name, x, 2, kernel, stride=stride, pad=pad)
    builder.output(builder.pool("pool", x, None, kind="average_pool"))
    problem = fluid_problem(builder.build(), LUNA_LIKE, {}, cascades=True)
    assert problem is not None
    assert [sorted(tensor.evenly) for tensor in problem.tensors if tensor.reads] == [[0], [], [], [], []]


def turns_along(program: Program, seed: int) -> tuple[Turns, list[Op]]:
    """The turns of a program along a random path, and the ops of that path."""
    path = dict[str, str]()
    for node in program.nodes():
        if isinstance(node, If | Loop):
            path[node.name] = Random(seed).choice(node.arms).name if isinstance(node, If) else "1"
    problem = fluid_problem(program, LUNA_LIKE, path, cascades=True)
    assert problem is not None
    return Turns(Residents(problem)), [op for op, _ in program.runs_along(path)]


def check(
    turns: Turns, program: Program, first: int, ops: Sequence[Op], choice: CascadeChoice
) -> Counter[str]:
    """Compare ``turns`` with the steps of a cascade whose first op is run number ``first``."""
    cascade, count, seen = cascade_op(program, ops, choice), len(ops), Counter[str]()
    assert isinstance(cascade.work, CascadeWork)
    steps = [step.op for step in cascade.work.steps]
    if turns.begins(first, first + count):
        seen["begins"] += 1
        assert steps[0] == 0
    if turns.ends(first, first + count):
        seen["ends"] += 1
        assert steps[-1] == count - 1
    maker = {name: index for index, op in enumerate(ops) for name in op.outputs}
    sizes = [(maker[name], program.tensors[name].bytes) for name in cascade.outputs]
    sizes += [(maker[held.tensor], held.bytes) for held in cascade.work.held if held.tensor in maker]
    for one, other in combinations(range(count), 2):
        order = [op for op, _ in groupby(step for step in steps if step in (one, other))]
        room = sum(size for index, size in sizes if one <= index < other)
        weights = sum(turns.ops[first + index].weights for index in (one, other))
        every = range(first, first + count)
        (least,) = turns.least(first + one, [first + other], every, room)
        assert least <= min(order.count(one), order.count(other))
        assert list(turns.least(first + one, [first + other], (), room + weights)) <= [least]
        seen["several"] += least > 1
        seen["as many"] += 1 < least == order.count(other)
    return seen


@pytest.mark.slow
def test_no_cascade_takes_fewer_turns_than_the_bound_says() -> None:
    seen = Counter[str]()
    for seed in range(60):
        for case in CASES:
            program, choices, _ = case(seed)
            if not choices:
                continue
            turns, runs = turns_along(program, seed)
            names = [op.name for op in runs]
            for choice in choices:
                if choice.ops[0] in names:
                    first = names.index(choice.ops[0])
                    seen += check(turns, program, first, runs[first : first + len(choice.ops)], choice)
    assert min(seen["begins"], seen["ends"], seen["several"], seen["as many"]) > 30, seen
