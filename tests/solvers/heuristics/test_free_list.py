"""The free-list packer: the published example of its source, its rules by hand, and its guarantees."""

from dataclasses import replace

from hypothesis import given

from bench.known_answers import FIGURE_4, SIX_OPS, free_list_example, lifetimes
from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Problem
from solvers.core.bounds import contention
from solvers.heuristics.free_list import free_list
from tests.solvers.many_problems import simple_problems


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


def test_the_smallest_free_block_that_is_large_enough_is_taken() -> None:
    # Free at 3: [0, 30) and [40, 50) around what lives on; 9 bytes go into the smaller one.
    problem = buffers((30, 0, 2), (10, 0, 9), (10, 0, 2), (10, 0, 9), (9, 3, 9), (25, 3, 9), (5, 4, 9))
    assert offsets(problem) == [0, 30, 40, 50, 40, 0, 25]


def test_adjacent_free_blocks_are_joined() -> None:
    assert offsets(buffers((10, 0, 1), (20, 0, 0), (30, 0, 0), (60, 2, 2))) == [0, 10, 30, 0]


def test_the_largest_free_block_is_enlarged_and_everything_beyond_it_moves() -> None:
    # Free at 1: [0, 10) and [15, 35); 28 bytes enlarge the second one by 8.
    rows = (10, 0, 0), (5, 0, 2), (20, 0, 0), (7, 0, 2), (28, 1, 2), (12, 2, 2)
    assert offsets(buffers(*rows[:5])) == [0, 10, 15, 43, 15]
    # At 2 only [0, 10) is free: 12 bytes enlarge it by 2, and all the rest moves up once more.
    problem = buffers(*rows)
    assert offsets(problem) == [0, 12, 17, 45, 17, 0]
    assert free_list(problem).peak(problem) == 52


@given(simple_problems())
def test_buffers_of_one_size_are_placed_as_low_as_they_can_be(problem: Problem) -> None:
    same = replace(problem, buffers=tuple(replace(b, bytes=8, alignment=4) for b in problem.buffers))
    assert free_list(same).peak(same) == contention(same)
