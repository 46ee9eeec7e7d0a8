"""Walking a program: every node, every op, every run of an op, and changed copies."""

from collections import Counter
from dataclasses import replace
from random import Random

from hypothesis import given, strategies as st

from chipmodel.model.program import (
    If,
    Loop,
    Node,
    Op,
    Program,
    nodes,
    numbered_nodes,
    ops,
    rewritten,
    with_ops,
)
from tests.support.random_programs import TreeShape, random_program


def tree(seed: int) -> Program:
    return random_program(seed, TreeShape(ops=5, depth=2, side=4, channels=4))


def random_path(program: Program, random: Random) -> dict[str, str]:
    path: dict[str, str] = {}
    for node in program.nodes():
        if isinstance(node, If):
            path[node.name] = random.choice(node.arms).name
        elif isinstance(node, Loop):
            path[node.name] = str(random.randrange(3))
    return path


@given(st.integers(0, 10_000))
def test_an_op_runs_along_a_path_as_often_as_it_is_counted(seed: int) -> None:
    program = tree(seed)
    path = random_path(program, Random(seed))
    runs = Counter(op.name for op in program.ops_along(path))
    counts = {op.name: times for op, times in program.op_counts(path)}
    assert list(counts) == [op.name for op in program.ops()]
    assert {name: times for name, times in counts.items() if times} == runs


@given(st.integers(0, 10_000))
def test_nodes_are_numbered_by_the_first_op_that_is_not_before_them(seed: int) -> None:
    program = tree(seed)
    order = [op.name for op in program.ops()]
    numbered = list(numbered_nodes(program.body))
    assert [node for _, node in numbered] == list(program.nodes())
    before = 0
    for number, node in numbered:
        assert number == before
        below = [op.name for op in ops((node,))]
        assert order[number : number + len(below)] == below
        before += isinstance(node, Op)


@given(st.integers(0, 10_000))
def test_a_rewritten_program_has_the_same_shape(seed: int) -> None:
    program = tree(seed)

    def shouted(node: Node) -> Node:
        return replace(node, name=node.name.upper())

    everything = rewritten(program.body, shouted)
    assert [n.name for n in nodes(everything)] == [n.name.upper() for n in program.nodes()]
    only_ops = with_ops(program.body, lambda op: replace(op, cycles=7))
    assert all(op.cycles == 7 for op in ops(only_ops))
    originals = {op.name: op for op in program.ops()}
    assert with_ops(only_ops, lambda op: originals[op.name]) == program.body
