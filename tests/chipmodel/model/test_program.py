"""Walking a program: every node, op and run; what parts of work need; keys by identity."""

from collections import Counter
from dataclasses import replace
from random import Random

import networkx
from hypothesis import given, strategies as st

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import WHOLE, Share
from chipmodel.geometry.window import Window
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.attributes import AlongAxis
from chipmodel.model.identity import Same
from chipmodel.model.program import If, Loop, Node, Op, Program, numbered_nodes, ops, rewritten, with_ops
from chipmodel.model.short_path import short_path
from chipmodel.model.tree import walk
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, Vector, Work, output_share
from chipmodel.npu.cycles import op_cycles
from tests.support.narrowed import some
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
    runs = Counter(op.name for op, _ in some(short_path(program, path, 999)).runs)
    counts = {op.name: times for op, times in program.op_counts(path)}
    assert list(counts) == [op.name for op in program.ops()]
    assert {name: times for name, times in counts.items() if times} == runs


@given(st.integers(0, 10_000))
def test_the_graph_has_an_edge_from_whoever_made_what_an_op_reads(seed: int) -> None:
    """Along any path, but for what an iteration reads of the one before."""
    program = tree(seed)
    graph, order = program.graph(), {op.name: number for number, op in enumerate(program.ops())}
    assert networkx.is_directed_acyclic_graph(graph)
    assert set(graph) == {*order, *program.inputs}
    assert sum(graph.nodes[name]["macs"] for name in graph) == sum(op.work.macs for op in program.ops())
    makers = {name: name for name in program.inputs}
    for op, _ in some(short_path(program, random_path(program, Random(seed)), 999)).runs:
        for name in op.inputs:
            maker = makers.get(name, name)
            if order.get(maker, -1) < order[op.name]:
                assert program.tensors[name] in graph.edges[maker, op.name]["tensors"]
        makers |= dict.fromkeys(op.outputs, op.name)


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
    assert [n.name for n in walk(everything)] == [n.name.upper() for n in program.nodes()]
    only_ops = with_ops(program.body, lambda op: replace(op, cycles=7))
    assert all(op.cycles == 7 for op in ops(only_ops))
    originals = {op.name: op for op in program.ops()}
    assert with_ops(only_ops, lambda op: originals[op.name]) == program.body


WORKS: list[Work] = [
    Conv(Window(8, 8, 8, 8, 3, 3, pad_top=1, pad_left=1, pad_bottom=1, pad_right=1), 4, 6),
    Conv(Window(8, 8, 6, 6, 3, 3), 4, 8, groups=2),
    Conv(Window(8, 8, 6, 6, 3, 3), 6, 6, groups=6),
    Pool(Window(8, 8, 4, 4, 2, 2, 2, 2), 6),
    Matmul(5, 7, 6),
    Matmul(4, 3, 5, batch=2, shared_right=False),
    Recurrent(5, 3, 4, gates=4),
    Recurrent(5, 3, 4, gates=3, directions=2),
    Vector(60, 60, 60, rows=6),
]


def test_the_whole_of_any_work_reads_and_writes_whole_tensors() -> None:
    for work in WORKS:
        rows, channels = Interval(0, work.rows), Interval(0, work.channels)
        assert output_share(work, rows, channels) == WHOLE
        assert work.needs(0, rows, channels) == WHOLE
        assert work.part(work.rows, work.channels) == work


def test_some_channels_of_several_rows_are_a_run_in_each_row() -> None:
    some, every, rows = Interval(1, 3), Interval(0, 6), Interval(2, 5)
    assert Share(rows, 8, some, 6).runs == 3
    assert Share(Interval(2, 3), 8, some, 6).runs == 1
    assert Share(rows, 8, every, 6).runs == 1
    assert WHOLE.runs == Share(rows, 8).runs == Share(Interval(0, 0)).runs == 1
    # A pooling that needs all rows of some channels, the right matrix of a product, and one direction of a
    # recurrent op, which is one row of work but writes all of its time steps.
    pool = Pool(Window(8, 8, 1, 1, 8, 8), 6)
    assert pool.needs(0, Interval(0, 1), some) == Share(Interval(0, 8), 8, some, 6)
    assert Matmul(5, 7, 6).needs(1, Interval(0, 2), some) == Share(Interval(0, 7), 7, some, 6)
    both = Recurrent(5, 3, 4, gates=3, directions=2)
    one = Interval(1, 2)
    assert output_share(both, Interval(0, 1), one) == Share(Interval(0, 5), 5, one, 2)


def test_parts_hold_all_of_the_macs() -> None:
    for work in WORKS:
        for channels in range(1, work.channels + 1):
            if isinstance(work, Conv) and work.groups > 1 and channels % (work.out_c // work.groups):
                continue  # a part of a group is costed as a whole group
            one = work.part(1, channels)
            assert one.macs * work.rows * work.channels == work.macs * channels, (work, channels)


def test_a_part_of_a_line_is_worked_on_once() -> None:
    """Parts of YOLOv8's softmax over 16 elements had no lines, which Ethos-U divides by."""
    whole = Vector(64, 64, 64, attributes=AlongAxis(3, 16))
    assert whole.lines == 4
    assert replace(whole, elements=9).lines == 1
    op = Op("op", "softmax", replace(whole, elements=9), ("x",), ("y",))
    assert op_cycles(load_chip("imx93").npu, op, 1, 1) > 0


def test_equal_values_are_different_keys() -> None:
    first, second = [1], [1]
    known = {Same(first): "first"}
    assert known.get(Same(first)) == "first"
    assert known.get(Same(second)) is None
    assert Same(first) != first
