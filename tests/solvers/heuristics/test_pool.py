"""The memory pool: the published example of its source, its rules by hand, and its guarantees."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from bench.known_answers import feature_maps
from chipmodel.model.plan import Problem
from chipmodel.verify.offsets import check
from solvers.core.bounds import contention
from solvers.heuristics.pool import REUSE_THRESHOLD, pool, pool_nodes
from tests.solvers.many_problems import naive_sum, simple_problems
from tests.support.buffers import alive
from workloads.zoo import build

MIB = 1 << 20


@pytest.fixture(scope="module")
def resnet18() -> Problem:
    return feature_maps(build("resnet18", {"input": "448"}, dtype="float32"))


def test_resnet18_as_in_the_source(resnet18: Problem) -> None:
    nodes = pool_nodes(resnet18, 0)
    assert [round(size / MIB, 2) for size in nodes.sizes] == [12.25, 3.06, 3.06]
    assert pool(resnet18, 0).peak(resnet18) == sum(nodes.sizes) == 19_267_584
    assert check(resnet18, pool(resnet18, 0)) == ()


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
def test_buffers_of_one_size_are_placed_as_low_as_they_can_be(problem: Problem) -> None:
    same = replace(problem, buffers=tuple(replace(b, bytes=8) for b in problem.buffers))
    assert pool(same).peak(same) == contention(same)
