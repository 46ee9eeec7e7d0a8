"""All plans of small segments, and random segments to try them on."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Literal

from solvers.loads.problem import StreamMove, StreamProblem, StreamSlice, run


def random_stream(seed: int, steps: int = 6, slices: int = 6, fixed: int = 3) -> StreamProblem:
    """Up to so many of each; rooms from too small for one slice to all of them, some not to be loaded from
    the beginning on."""
    random = Random(seed)
    count = random.randint(1, steps)
    weights: list[StreamSlice] = []
    big = random.choice((3, 9, 30))
    slow = random.choice((3, 12, 30))
    by_size = random.random() < 0.4
    for first in sorted(random.randrange(count) for _ in range(random.randint(0, slices))):
        last = min(count - 1, first + random.choice((0, 0, 0, 1, 2)))
        size = random.randint(1, big)
        cycles = 2 + size if by_size else random.randint(0, slow)
        weights.append(StreamSlice(size, first, last, cycles))
    moves: list[StreamMove] = []
    for _ in range(random.choice((0, 0, random.randint(0, fixed)))):
        issue = random.randrange(count)
        way: Literal["load", "store"] = random.choice(("load", "store"))
        moves.append(
            StreamMove(way, issue, issue + random.choice((0, 0, 1, 1, 2, 5)), random.randint(0, slow))
        )
    room = [random.randint(0, random.choice((big, 2 * big, 4 * big))) for _ in range(count)]
    computes = [random.randint(0, slow) for _ in range(count)]
    return StreamProblem(tuple(computes), tuple(room), tuple(weights), tuple(moves))


def best_of_all(problem: StreamProblem) -> tuple[int, int]:
    """The fewest cycles of any plan, and the smallest peak of those."""
    ways = product(*(range(s.first + 1) for s in problem.slices))
    return min((run(problem, way).end, problem.peak(way)) for way in ways if problem.fits(way))
