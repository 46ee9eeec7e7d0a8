"""The twin of ExecuTorch's planner; ``python -m bench.executorch`` holds it against the original."""

from random import Random

from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Problem
from chipmodel.verify.offsets import check
from solvers.heuristics.executorch_greedy import executorch_greedy


def offsets(*buffers: tuple[int, int, int]) -> list[int]:
    """The offsets of buffers given as bytes, first and last time."""
    problem = Problem(tuple(Buffer(str(i), b, (Interval(f, t + 1),)) for i, (b, f, t) in enumerate(buffers)))
    found = executorch_greedy(problem).offsets
    return [found[buffer.name] for buffer in problem.buffers]


def test_the_last_of_equal_buffers_comes_first() -> None:
    assert offsets((8, 0, 1), (8, 0, 1)) == [8, 0]


def test_a_buffer_takes_the_bottom_of_the_first_object_that_is_free() -> None:
    # 32 and 24 are alive together: two objects. 16 is alive with neither, 8 with 16 only.
    assert offsets((32, 0, 1), (24, 0, 1), (16, 2, 3), (8, 3, 3)) == [0, 32, 0, 32]


def test_where_none_is_free_it_goes_above_those_alive_with_it_in_the_object() -> None:
    assert offsets((32, 0, 1), (16, 2, 3), (8, 3, 4)) == [0, 0, 16]


def test_space_below_is_not_seen() -> None:
    """The 8 would fit below the 24, where the 8 that is dead was; the original starts a new object."""
    assert offsets((32, 0, 1), (8, 2, 2), (24, 2, 3), (8, 3, 3)) == [0, 24, 0, 24]


def test_random_plans_hold() -> None:
    random = Random(0)
    for _ in range(100):
        buffers = tuple(
            Buffer(str(i), random.randint(0, 9), (Interval(at, at + random.randint(1, 4)),))
            for i, at in enumerate(random.choices(range(8), k=8))
        )
        problem = Problem(buffers)
        assert check(problem, executorch_greedy(problem)) == ()
