"""Look-ahead placement: combinations as in the source, by hand, and the benefit of looking ahead."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, strategies as st

from chipmodel.errors import BadInput
from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Problem
from solvers.context.live_blocks import (
    AllocationRequest,
    CandidatePlace,
    alive,
    free_blocks,
    places,
    put,
    requests,
)
from solvers.context.place import context_fit, in_memory
from solvers.core.bounds import contention
from solvers.registry import solve
from tests.solvers.many_problems import simple_problems
from tests.support.folders import ROOT
from tests.support.plain_check import check
from workloads.packing.problem_csv import read_packing

CASE = ROOT / "tests" / "data" / "cases" / "context_core.csv"


def buffers(*rows: tuple[str, int, int, int]) -> Problem:
    return Problem(tuple(Buffer(name, size, (Interval(start, stop),)) for name, size, start, stop in rows))


# Greedily c lands between b's place and the top, in the middle of the 4 bytes: d, of 2, then fits nowhere.
NARROW = buffers(("a", 1, 0, 2), ("b", 1, 0, 1), ("c", 2, 1, 4), ("d", 2, 2, 3))


def test_the_context_keeps_what_greed_scatters() -> None:
    order = requests(NARROW)
    assert in_memory(NARROW, order, 4, 0).peak(NARROW) == 5
    assert in_memory(NARROW, order, 4, 2).peak(NARROW) == 4


def test_a_reusing_buffer_gets_the_released_place() -> None:
    """Claim 6 of the many-core patent: two that can reuse lie together, the later in the place that the
    earlier has released."""
    problem = buffers(("a", 4, 0, 2), ("b", 6, 0, 5), ("c", 4, 2, 5))
    offsets = solve(problem, "context").plan.offsets
    assert offsets["a"] == offsets["c"]
    assert solve(problem, "context").status == "optimal"


def test_in_the_core_a_place_is_feasible_within_its_memory() -> None:
    """Claim 6: in 8 bytes "b" may lie at the upper border, which leaves one free block instead of two; the
    smallest memory that holds both is tried otherwise."""
    problem = buffers(("a", 2, 0, 2), ("b", 2, 1, 3), ("c", 4, 2, 3))
    core = solve(replace(problem, capacity=8), "context:core").plan
    least = solve(replace(problem, capacity=8), "context").plan
    assert least.peak(problem) == contention(problem) == 6
    assert core.peak(problem) == 8
    assert solve(problem, "context:core").plan == solve(problem, "context").plan


Taken = tuple[int, int, int]
"""Where a buffer begins and ends in memory, and when it dies."""


def some_combination_fits(order: list[AllocationRequest], memory: int, live: tuple[Taken, ...] = ()) -> bool:
    """By bytes: each buffer in turn at every offset where it touches a live one or a border."""
    if not order:
        return True
    size, start, stop = order[0].size, order[0].start, order[0].stop
    kept = tuple(place for place in live if place[2] > start)
    taken = {-1, memory}.union(*(range(low, high) for low, high, _ in kept))
    return any(
        some_combination_fits(order[1:], memory, (*kept, (low, low + size, stop)))
        for low in range(memory - size + 1)
        if (low - 1 in taken or low + size in taken) and taken.isdisjoint(range(low, low + size))
    )


HARD = (565, 801, 904, 627, 674, 1413, 1534)
"""Seeds for which a few combinations at a time are not enough."""


def crowd(seed: int, counts: tuple[int, ...] = (7, 8, 9), starts: int = 4, longest: int = 5) -> Problem:
    random = Random(seed)
    rows = [(str(i), random.randrange(1, 10), random.randrange(starts)) for i in range(random.choice(counts))]
    return buffers(*((name, size, at, at + random.randrange(1, longest + 1)) for name, size, at in rows))


@pytest.mark.slow
def test_in_the_core_every_combination_is_tried() -> None:
    problems = [crowd(seed) for seed in range(400)]
    impossible = 0
    for problem in (*problems, *(crowd(seed, (7, 8), 5, 4) for seed in HARD)):
        memory = contention(problem)
        fits = some_combination_fits(requests(problem), memory)
        core = solve(replace(problem, capacity=memory), "context:core")
        assert (core.peak <= memory) == fits, problem
        impossible += not fits
    assert impossible, "all plans fit, whatever is tried"


def test_a_combination_that_looks_poor_at_first_may_be_the_only_one() -> None:
    problem = replace(read_packing(CASE).problem, capacity=320)
    assert solve(problem, "context:core").peak == 320


def test_places_by_hand() -> None:
    """Bytes 0 to 3 and 5 to 10 are free in 12; what is taken leaves 8 - size free bytes."""
    blocks = ((3, 5, 9), (10, 12, 9))
    assert free_blocks(blocks, 12) == [(0, 3), (5, 10), (12, 12)]
    request = AllocationRequest(0, 3, 1, 0, 4)
    assert places(blocks, 12, request) == [CandidatePlace(0, 0), CandidatePlace(5, 2), CandidatePlace(7, 2)]
    assert places(blocks, 12, request._replace(size=2)) == [
        CandidatePlace(0, 1),
        CandidatePlace(1, 1),
        CandidatePlace(5, 3),
        CandidatePlace(8, 3),
    ]
    assert places(blocks, 12, request._replace(size=5)) == [CandidatePlace(5, 0)]
    assert places(blocks, 12, request._replace(size=6)) == [CandidatePlace(12, 3)]
    assert places(blocks, 15, request._replace(size=2))[-2:] == [CandidatePlace(12, 4), CandidatePlace(13, 4)]
    assert places(blocks, 12, request._replace(size=2, alignment=4)) == [
        CandidatePlace(0, 1),
        CandidatePlace(8, 3),
    ]
    assert places(blocks, 12, request._replace(size=3, alignment=8)) == [CandidatePlace(0, 0)]
    assert places(blocks, 12, request._replace(size=9, alignment=8)) == [CandidatePlace(16, 7)]
    assert put(blocks, request, 5) == ((3, 5, 9), (5, 8, 4), (10, 12, 9))
    assert alive(put(blocks, request, 5), 4) == blocks


def test_the_order_is_that_of_allocation_and_of_equals_the_longest_life_first() -> None:
    problem = buffers(("late", 1, 5, 6), ("short", 2, 0, 1), ("long", 3, 0, 9), ("none", 0, 0, 9))
    assert [problem.buffers[r.number].name for r in requests(problem)] == ["long", "short", "late"]
    holed = Problem((Buffer("h", 1, (Interval(4, 5), Interval(1, 2), Interval(3, 3))),))
    assert requests(holed) == [AllocationRequest(0, 1, 1, 1, 5)]


@given(simple_problems(), st.integers(0, 12), st.sampled_from((0, 2, 9)))
def test_everybody_touches_a_neighbour_or_a_border(problem: Problem, context: int, more: int) -> None:
    memory = contention(problem) + more
    order = requests(problem)
    plan = in_memory(problem, order, memory, context)
    assert check(problem, plan) == ()
    grown = memory
    for number, request in enumerate(order):
        low = plan.offsets[problem.buffers[request.number].name]
        earlier = [r for r in order[:number] if r.stop > request.start]
        starts = [plan.offsets[problem.buffers[r.number].name] for r in earlier]
        ends = [start + r.size for start, r in zip(starts, earlier, strict=True)]
        assert low in (0, *ends) or low + request.size in (grown, *starts)
        grown = max(grown, low + request.size)


@given(simple_problems(), st.integers(1, 12))
def test_one_size_is_planned_as_low_as_any_plan(problem: Problem, size: int) -> None:
    """Every free block is then a multiple of it, so no buffer is left out while there are bytes."""
    same = Problem(tuple(replace(b, bytes=size) for b in problem.buffers))
    assert context_fit(same).peak(same) == contention(same)


def test_the_setting_is_a_number_of_buffers() -> None:
    assert solve(NARROW, "context:0").planner == "context:0"
    for packer in ("context", "context-pool"):
        for wrong in ("-1", "1.5", "", "many", "\N{SUPERSCRIPT TWO}", "9" * 10):
            with pytest.raises(BadInput, match="is not a number of buffers to look ahead"):
                solve(NARROW, f"{packer}:{wrong}")
