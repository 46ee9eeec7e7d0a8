"""The stack by hand, against a slow reference, and its guarantees."""

from solvers.heuristics.linear import linear
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
