"""Packers into shared blocks: published examples of their sources, rules by hand, and guarantees."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, strategies as st

from bench.known_answers import FIGURE_4, SIX_OPS, feature_maps, free_list_example, lifetimes
from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Problem
from solvers.core.bounds import contention
from solvers.heuristics.buckets import buckets, by_breadth, by_order, by_size, share
from solvers.heuristics.free_list import free_list
from solvers.heuristics.pool import REUSE_THRESHOLD, pool, pool_nodes
from tests.solvers.many_problems import naive_sum, simple_problems
from tests.support.buffers import alive
from tests.support.command_line import Call
from tests.support.folders import ROOT
from tests.support.plain_check import check
from workloads.packing.problem_csv import parse_packing
from workloads.zoo import build


def sums(problem: Problem) -> dict[str, int]:
    orders = {"size": by_size(problem), "breadth": by_breadth(problem), "order": by_order(problem)}
    return {name: sum(share(problem, order).sizes) for name, order in orders.items()}


def test_the_smallest_bucket_that_is_large_enough() -> None:
    problem = alive((50, 0, 1), (20, 0, 1), (15, 1, 2), (30, 1, 2))
    assert share(problem, by_order(problem)).node_of == (0, 1, 1, 0)


def test_the_orders_by_hand() -> None:
    problem = alive((5, 0, 1), (9, 0, 3), (7, 2, 4), (6, 3, 5), (30, 6, 7))
    assert by_size(problem) == [4, 1, 2, 3, 0]
    assert by_order(problem) == [0, 1, 2, 3, 4]
    # Alive are 14, 9, 16, 13, 6, 0 and 30 bytes.
    assert by_breadth(problem) == [4, 1, 2, 0, 3]


def test_the_smallest_sum_wins() -> None:
    """Of random problems some are best by size, some by breadth and some in execution order."""
    from tests.support.random_buffers import random_buffers

    winners: set[str] = set()
    for seed in range(60):
        problem = random_buffers(seed, 12, horizon=10, longest=5)
        found = sums(problem)
        assert buckets(problem).peak(problem) == min(found.values())
        best = [name for name, total in found.items() if total == min(found.values())]
        winners |= set(best) if len(best) == 1 else set()
    assert winners == {"size", "breadth", "order"}


def slow_breadth(problem: Problem) -> list[int]:
    """The vendor's own words: positions by falling live bytes, at each its buffers by falling size, and
    those that have not come yet are next."""
    positions = range(16)
    live = [[i for i, b in enumerate(problem.buffers) if p in b.live[0]] for p in positions]
    broad = sorted(positions, key=lambda p: -sum(problem.buffers[i].bytes for i in live[p]))
    result: list[int] = []
    for position in broad:
        new = [i for i in live[position] if i not in result]
        result += sorted(new, key=lambda i: -problem.buffers[i].bytes)
    return result


@given(simple_problems())
def test_by_breadth_equals_the_reference(problem: Problem) -> None:
    assert by_breadth(problem) == slow_breadth(problem)


def buffers(*rows: tuple[int, int, int]) -> Problem:
    """Of (bytes, first position, last position), as in the patent."""
    return Problem(tuple(Buffer(str(n), size, (Interval(a, b + 1),)) for n, (size, a, b) in enumerate(rows)))


def offsets(problem: Problem) -> list[int]:
    return list(free_list(problem).offsets.values())


def test_the_example_of_the_source_document() -> None:
    live = [(i.start, i.stop - 1) for i in lifetimes(SIX_OPS)]
    assert live == [(0, 2), (1, 4), (2, 3), (3, 4), (4, 5), (5, 5)]
    problem = free_list_example()
    assert offsets(problem) == [0, 2048, 4096, 0, 4096, 0]
    assert free_list(problem).peak(problem) == 5120


def test_the_lifetimes_of_figure_4() -> None:
    """Paragraph 68 of the patent, which counts from 1: the last op ends where it starts."""
    live = [(i.start + 1, i.stop) for i in lifetimes(FIGURE_4)]
    assert live == [(1, 3), (2, 5), (3, 4), (4, 5), (5, 5)]


def slow_free_list(requests: list[tuple[int, int, int]]) -> tuple[list[int], int]:
    """The patent in its own words: offsets, and ``nextoffset`` at the end."""
    given: list[list[int]] = []
    free: list[list[int]] = []
    top = 0
    for size, born, _ in requests:
        free += [given[i] for i, (_, _, last) in enumerate(requests[: len(given)]) if last == born - 1]
        free.sort()
        joined: list[list[int]] = []
        for start, end in free:
            if joined and joined[-1][1] == start:
                joined[-1][1] = end
            else:
                joined.append([start, end])
        free = joined
        if free:
            fitting = [block for block in free if block[1] - block[0] >= size]
            block = min(fitting or free, key=lambda each: (each[1] - each[0]) * (1 if fitting else -1))
            end, more = block[1], max(0, size - (block[1] - block[0]))
            for other in (*given, *(b for b in free if b is not block)):
                if more and other[0] >= end:
                    other[:] = other[0] + more, other[1] + more
            top += more
            given.append([block[0], block[0] + size])
            block[:] = block[0] + size, end + more
            free = [each for each in free if each[0] < each[1]]
        else:
            given.append([top, top + size])
            top += size
    return [start for start, _ in given], top


def test_offsets_and_arena_equal_the_patents_own_words() -> None:
    beyond = 0
    for seed in range(400):
        random = Random(seed)
        rows = [(random.randint(1, 60), i, i + random.randint(0, 10)) for i in range(random.randint(1, 40))]
        problem, (places, arena) = buffers(*rows), slow_free_list(rows)
        plan = free_list(problem)
        assert (list(plan.offsets.values()), plan.peak(problem)) == (places, arena), seed
        beyond += plan.top(problem) < arena
    assert beyond > 5


def test_padding_is_in_the_arena_but_not_after_a_buffer_that_ends_it() -> None:
    text = (ROOT / "tests" / "data" / "cases" / "free_list_arena.csv").read_text(encoding="utf-8")
    problem = parse_packing(text, "free_list_arena.csv").problem
    aligned = [replace(b, alignment=64) for b in problem.buffers]
    padded = [replace(b, bytes=-(-b.bytes // 64) * 64) for b in problem.buffers]
    assert free_list(Problem(tuple(aligned))) == free_list(Problem(tuple(padded)))
    assert free_list(Problem(tuple(padded))).arena == 8128
    assert free_list(Problem(tuple(aligned[:1]))).peak(Problem(tuple(aligned[:1]))) == 4096


@given(simple_problems())
def test_buffers_of_one_size_are_placed_as_low_as_they_can_be(problem: Problem) -> None:
    same = replace(problem, buffers=tuple(replace(b, bytes=8, alignment=4) for b in problem.buffers))
    assert free_list(same).peak(same) == contention(same)


MIB = 1 << 20


@pytest.fixture(scope="module")
def resnet18() -> Problem:
    return feature_maps(build("resnet18", {"input": "448"}, dtype="float32"))


def test_resnet18_as_in_the_source(resnet18: Problem) -> None:
    nodes = pool_nodes(resnet18, 0)
    assert [round(size / MIB, 2) for size in nodes.sizes] == [12.25, 3.06, 3.06]
    assert pool(resnet18, 0).peak(resnet18) == sum(nodes.sizes) == 19_267_584
    assert check(resnet18, pool(resnet18, 0)) == ()


def test_simulate_gives_resnet18s_nodes(tmp_path: Path, call: Call) -> None:
    """Beside the network's input, which the source has outside of its pool, and with weights where they lie:
    a tensor larger than all before it begins a node, the others lie in one of these."""
    words = "zoo:resnet18?input=448 --dtype float32 --packer pool:0 --streamer sync --cascade off"
    chip = ("--chip", ROOT / "bench" / "framework_platform.yaml", "--set", "weights.in_place=always")
    plan = tmp_path / "plan.json"
    assert call("simulate", *words.split(), *chip, "--plan", plan)[0] == 0
    made = json.loads(plan.read_text())
    starts = sorted({buffer["offset"] for buffer in made["buffers"]})
    sizes = [stop - start for start, stop in pairwise([*starts, made["peak_bytes"]])]
    own, *nodes = (round(size / MIB, 2) for size in sizes)
    assert (own, nodes) == (2.3, [12.25, 3.06, 3.06])
    named = {buffer["name"]: buffer["offset"] for buffer in made["buffers"]}
    assert [named[name] for name in ("input", "conv1", "maxpool", "layer1.0.conv2")] == starts


@pytest.mark.parametrize(("threshold", "nodes"), [(0.25, 8), (REUSE_THRESHOLD, 14)])
def test_resnet18_with_common_thresholds(resnet18: Problem, threshold: float, nodes: int) -> None:
    assert len(pool_nodes(resnet18, threshold).sizes) == nodes


def test_the_first_suitable_node_is_taken_not_the_best() -> None:
    # Freed first is the node of 100, then that of 80; 70 bytes are more than half of both.
    problem = alive((100, 0, 1), (80, 0, 2), (70, 2, 3))
    assert pool_nodes(problem, 0.5).node_of == (0, 1, 0)
    assert pool_nodes(problem, 0.75).node_of == (0, 1, 1)
    assert pool_nodes(problem, 0.9).node_of == (0, 1, 2)


def test_the_threshold_is_to_be_exceeded() -> None:
    assert pool_nodes(alive((40, 0, 1), (30, 1, 2)), 0.75).sizes == (40, 30)
    assert pool_nodes(alive((40, 0, 1), (31, 1, 2)), 0.75).sizes == (40,)


@given(simple_problems(), st.sampled_from((0, 0.25, 0.75, 0.99)))
def test_the_peak_is_the_sum_of_the_nodes(problem: Problem, threshold: float) -> None:
    nodes, plan = pool_nodes(problem, threshold), pool(problem, threshold)
    assert plan.peak(problem) == sum(nodes.sizes) <= naive_sum(problem)
    for buffer, node in zip(problem.buffers, nodes.node_of, strict=True):
        assert node is not None
        assert threshold * nodes.sizes[node] < buffer.bytes <= nodes.sizes[node]
        assert plan.offsets[buffer.name] == sum(nodes.sizes[:node])


@given(simple_problems())
def test_pool_buffers_of_one_size_are_placed_as_low_as_they_can_be(problem: Problem) -> None:
    same = replace(problem, buffers=tuple(replace(b, bytes=8) for b in problem.buffers))
    assert pool(same).peak(same) == contention(same)
