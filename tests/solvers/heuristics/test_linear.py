"""The stack by hand, against a slow reference, and its guarantees."""

from __future__ import annotations

from hypothesis import given

from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Problem
from solvers.heuristics.linear import linear
from solvers.heuristics.lowest_fit import naive
from tests.solvers.many_problems import naive_sum, simple_problems
from tests.support.buffers import alive


def test_only_the_top_is_freed() -> None:
    # At 2 the lowest one is dead, but under one that lives; at 4 the top two are.
    problem = alive((10, 0, 2), (20, 0, 9), (30, 1, 4), (5, 2, 4), (7, 4, 9))
    assert list(linear(problem).offsets.values()) == [0, 10, 30, 60, 30]


def test_a_buffer_alive_throughout_keeps_everything_below_it() -> None:
    assert list(linear(alive((10, 0, 1), (1, 0, 9), (10, 1, 2), (10, 2, 3))).offsets.values()) == [
        0,
        10,
        11,
        11,
    ]


@given(simple_problems())
def test_it_is_a_stack(problem: Problem) -> None:
    """By rising start: each lies on the highest of those still alive, whatever there is below."""
    offsets = linear(problem).offsets
    before: list[Buffer] = []
    for buffer in sorted(problem.buffers, key=lambda b: b.live[0].start):
        living = [b for b in before if b.live[0].stop > buffer.live[0].start]
        assert offsets[buffer.name] == max((offsets[b.name] + b.bytes for b in living), default=0)
        before.append(buffer)
    assert linear(problem).peak(problem) <= naive_sum(problem)


@given(simple_problems())
def test_without_any_release_it_equals_naive(problem: Problem) -> None:
    """Vela's LinearAlloc, which frees nothing, equals naive in execution order."""
    together = tuple(Buffer(b.name, b.bytes, (Interval(0, 1),)) for b in problem.buffers)
    assert linear(Problem(together)).offsets == naive(Problem(together)).offsets
