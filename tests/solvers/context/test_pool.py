"""The pool with look-ahead: what looking ahead and enlarging nodes saves, by hand and against the plain
pool."""

import pytest
from hypothesis import given, strategies as st

from bench.known_answers import feature_maps
from chipmodel.model.plan import Problem
from solvers.context.pool import context_pool, context_pool_nodes
from solvers.registry import solve
from tests.solvers.many_problems import any_problem, naive_sum, simple_problems, zoo_problems
from tests.support.buffers import alive
from tests.support.plain_check import check
from workloads.zoo import build


def test_a_node_is_left_to_the_larger_request_that_comes_next() -> None:
    """The first request of 3 fits the free node of 4, but 6 come with it: stretching that node for the 6
    and giving the 3 a node of their own makes 9, the other way round 10."""
    problem = alive((4, 1, 3), (3, 3, 6), (6, 3, 5))
    greedy, ahead = context_pool_nodes(problem, 0), context_pool_nodes(problem, 1)
    assert (greedy.sizes, greedy.node_of) == ((4, 6), (0, 0, 1))
    assert (ahead.sizes, ahead.node_of) == ((6, 3), (0, 1, 0))
    assert solve(problem, "context-pool:0").peak == 10
    assert solve(problem, "context-pool").peak == 9


def test_a_node_is_made_larger_where_the_plain_pool_takes_a_new_one() -> None:
    problem = alive((2, 0, 1), (5, 1, 2), (3, 2, 3))
    assert context_pool_nodes(problem).sizes == (5,)
    assert solve(problem, "pool:0").peak == 7


def test_resnet18_needs_the_three_nodes_of_s4s_example() -> None:
    nodes = context_pool_nodes(feature_maps(build("resnet18", {"input": "448"}, dtype="float32")))
    assert [round(size / (1 << 20), 2) for size in nodes.sizes] == [12.25, 3.06, 3.06]


@given(simple_problems(), st.integers(0, 10))
def test_never_above_naive(problem: Problem, context: int) -> None:
    plan = context_pool(problem, context)
    assert check(problem, plan) == ()
    assert plan.peak(problem) == sum(context_pool_nodes(problem, context).sizes) <= naive_sum(problem)


@pytest.mark.slow
def test_it_needs_far_less_than_the_plain_pool() -> None:
    """On networks, and summed over random problems, where one or the other may win."""
    for name, problem in zoo_problems().items():
        assert solve(problem, "context-pool").peak <= solve(problem, "pool").peak, name
    problems = [any_problem(seed) for seed in range(100)]
    ahead, plain, least = (
        sum(solve(p, packer).peak for p in problems) for packer in ("context-pool", "pool", "pool:0")
    )
    assert ahead < 0.85 * min(plain, least)
