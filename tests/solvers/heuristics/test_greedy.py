"""Greedy packers and hill climbing by hand, against slow references, and what they guarantee."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, strategies as st

from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, PackingProgress, Plan, Problem
from solvers.core.bounds import contention
from solvers.core.conflicts import conflict_counts, neighbours
from solvers.core.deadline import Deadline
from solvers.core.first_fit import ORDERS, first_fit
from solvers.core.outcome import Limits
from solvers.heuristics import hill_climb as module
from solvers.heuristics.best_fit import greedy_best_fit
from solvers.heuristics.conflict_first import conflict_first
from solvers.heuristics.executorch_greedy import executorch_greedy
from solvers.heuristics.free_list import free_list
from solvers.heuristics.hill_climb import ITERATIONS, hill_climb
from solvers.heuristics.linear import linear
from solvers.heuristics.tflm_greedy import ONLINE, greedy_offsets, peak
from tests.solvers.many_problems import odd_problems, simple_problems
from tests.support.buffers import alive
from tests.support.narrowed import some
from tests.support.plain_check import check
from tests.support.work import CountedClock
from workloads.packing.guillotine import guillotine


def slow(problem: Problem) -> Plan:
    """Every aligned offset that is free, grouped into gaps; the smallest gap, the lowest of those."""
    offsets: dict[str, int] = {}
    for item in sorted(problem.buffers, key=lambda b: -b.bytes):
        rivals = [b for b in problem.buffers if b.name in offsets and b.bytes and b.conflicts(item)]
        taken = sorted((offsets[r.name], offsets[r.name] + r.bytes) for r in rivals)
        gaps: list[tuple[int, int]] = []
        end = 0
        for low, high in taken:
            start = -(-end // item.alignment) * item.alignment
            if low - start >= item.bytes:
                gaps.append((low - start, start))
            end = max(end, high)
        above = -(-end // item.alignment) * item.alignment
        offsets[item.name] = min(gaps)[1] if gaps and item.bytes else above if item.bytes else 0
    return Plan({b.name: offsets[b.name] for b in problem.buffers})


@given(odd_problems())
def test_it_equals_the_reference_and_is_correct(problem: Problem) -> None:
    plan = greedy_best_fit(problem)
    assert plan.offsets == slow(problem).offsets
    assert check(problem, plan) == ()


def test_by_hand() -> None:
    # Conflicts: 0 with 1; 1 with 0, 2, 3; 2 with 1, 3; 3 with 1, 2; 4 with none.
    problem = alive((10, 0, 2), (20, 1, 5), (30, 2, 4), (5, 3, 5), (99, 6, 7))
    assert conflict_counts(problem) == [1, 3, 2, 2, 0]
    # 1 first, then 2 before 3 because it is larger, then 0 on 1, and 4 at the bottom.
    assert list(conflict_first(problem).offsets.values()) == [20, 0, 20, 50, 0]


def test_gaps_are_not_used() -> None:
    # 3 conflicts with 0 and 2; below 2 there are 20 bytes free next to 0, but it goes on top.
    problem = alive((10, 0, 9), (20, 0, 4), (15, 3, 9), (5, 5, 9), (1, 0, 3))
    assert list(conflict_first(problem).offsets.values()) == [0, 10, 30, 45, 30]


@given(odd_problems())
def test_conflicts_are_those_of_every_pair(problem: Problem) -> None:
    solid = [b if b.bytes else None for b in problem.buffers]
    expected = [[j for j, b in enumerate(solid) if a and b and a is not b and a.conflicts(b)] for a in solid]
    assert conflict_counts(problem) == [len(each) for each in expected]
    found = some(neighbours(problem, 1000))
    assert [each.tolist() for each in found] == expected


def test_only_the_top_is_freed() -> None:
    # At 2 the lowest one is dead, but under one that lives; at 4 the top two are.
    problem = alive((10, 0, 2), (20, 0, 9), (30, 1, 4), (5, 2, 4), (7, 4, 9))
    assert list(linear(problem).offsets.values()) == [0, 10, 30, 60, 30]


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


BUFFERS = st.lists(
    st.tuples(st.integers(1, 9), st.integers(0, 8), st.integers(0, 5), st.integers(0, 30)),
    min_size=1,
    max_size=12,
)


@given(BUFFERS)
def test_each_is_where_a_search_of_all_places_puts_it(buffers: list[tuple[int, int, int, int]]) -> None:
    """A slow twin: buffers in the same order, every offset tried from 0 on."""
    sizes = [size for size, *_ in buffers]
    lives = [(first, first + length) for _, first, length, _ in buffers]
    fixed = [offset if offset > 25 else ONLINE for *_, offset in buffers]
    found = list(fixed)
    done = [index for index, offset in enumerate(fixed) if offset != ONLINE]
    order = sorted((i for i in reversed(range(len(buffers))) if fixed[i] == ONLINE), key=lambda i: -sizes[i])
    for index in order:
        others = [b for b in done if lives[b][0] <= lives[index][1] and lives[index][0] <= lives[b][1]]
        taken = {at for b in others for at in range(found[b], found[b] + sizes[b])}
        found[index] = next(at for at in range(200) if not taken & set(range(at, at + sizes[index])))
        done.append(index)
    # Offsets that are given may overlap each other; the planner then looks above the highest only.
    given_places = [(found[i], found[i] + sizes[i]) for i in range(len(buffers)) if fixed[i] != ONLINE]
    if all(a[1] <= b[0] or b[1] <= a[0] for a in given_places for b in given_places if a is not b):
        assert greedy_offsets(sizes, lives, fixed) == found


def test_the_peak_is_the_highest_end() -> None:
    assert peak([10, 5], [0, 20]) == 25
    assert peak([], []) == 0


HARD = replace(guillotine(100, 2), capacity=None)
"""A hundred buffers without a wasted byte; large-first wastes 29 %."""


def test_it_improves_on_large_first() -> None:
    problem = replace(guillotine(30, 1), capacity=None)
    assert first_fit(problem, ORDERS["large-first"]).peak(problem) > 1.2 * contention(problem)
    reports: list[PackingProgress] = []
    outcome = hill_climb(problem, Limits(), reports.append)
    assert (outcome.status, outcome.lower_bound) == ("optimal", contention(problem))
    assert "climbing" in {each.stage for each in reports}
    assert outcome.proof
    assert 0 < outcome.nodes < ITERATIONS


def test_too_many_pairs_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PAIRS", 10)
    outcome = hill_climb(HARD, Limits(nodes=500))
    assert (outcome.nodes, outcome.status) == (0, "feasible")
    assert outcome.proof == "not searched: more than 10 pairs alive together"


@given(simple_problems())
def test_never_above_large_first(problem: Problem) -> None:
    plan = some(hill_climb(problem, Limits(nodes=30)).plan)
    assert check(replace(problem, capacity=None), plan) == ()
    assert plan.peak(problem) <= first_fit(problem, ORDERS["large-first"]).peak(problem)


def test_a_free_list_ends_without_reuse_at_its_deadline() -> None:
    problem = guillotine(400, 1)
    plan = free_list(problem, Deadline(200.0, CountedClock(1.0)))
    problem = replace(problem, capacity=None)
    assert check(problem, plan) == ()
    assert free_list(problem).peak(problem) < plan.peak(problem) < sum(b.bytes for b in problem.buffers)
