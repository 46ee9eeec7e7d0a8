"""Packer ``auto``: the first quick plan that will do, else the exact portfolio."""

from random import Random

import pytest

from chipmodel.errors import BadInput
from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Plan, Problem
from chipmodel.verify.certificate import verify_certificate
from solvers.core.outcome import Limits, Outcome
from solvers.exact import auto as auto_module
from solvers.exact.auto import auto
from solvers.registry import solve
from tests.solvers.oracle import smallest_peak
from tests.support.narrowed import some
from tests.support.plain_check import check

QUICK = Limits(nodes=20_000)


def problem(rows: list[tuple[int, int, int]], capacity: int | None) -> Problem:
    buffers = tuple(Buffer(str(i), size, (Interval(a, b),)) for i, (size, a, b) in enumerate(rows))
    return Problem(buffers, capacity)


def random_rows(seed: int, count: int = 7) -> list[tuple[int, int, int]]:
    random = Random(seed)
    firsts = [random.randint(0, 5) for _ in range(count)]
    return [(random.randint(1, 5), first, first + random.randint(1, 4)) for first in firsts]


# large-first puts b at 0, and c and a above it: 50 bytes, which is the largest live set.
CHAIN = [(10, 0, 2), (30, 1, 3), (20, 2, 5)]


def test_a_first_heuristic_that_fits_is_taken_and_nothing_is_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("exact is not asked")

    monkeypatch.setattr(auto_module, "exact", never)
    solved = solve(problem(CHAIN, 55), "auto")
    assert (solved.planner, solved.peak, solved.status) == ("large-first", 50, "optimal")


def test_a_heuristic_that_does_not_fit_gives_way_to_the_next() -> None:
    chosen: set[str] = set()
    for seed in range(40):
        rows = random_rows(seed, 14)
        least = solve(problem(rows, None), "exact").peak
        chosen.add(solve(problem(rows, least), "auto").planner)
    assert {"large-first", "exact"} < chosen


@pytest.mark.parametrize("seed", range(8))
def test_it_fits_wherever_a_plan_fits(seed: int) -> None:
    free = problem(random_rows(seed), None)
    least = some(smallest_peak(free))
    tight = Problem(free.buffers, least)
    outcome = auto(tight, QUICK)
    assert outcome.plan is not None
    assert check(tight, outcome.plan) == ()
    assert outcome.planner
    refused = auto(Problem(free.buffers, least - 1), QUICK)
    assert refused.status == "infeasible"
    assert refused.certificate is not None


@pytest.mark.parametrize("seed", range(4))
def test_without_a_capacity_it_seeks_the_smallest_peak(seed: int) -> None:
    free = problem(random_rows(seed), None)
    solved = solve(free, "auto", QUICK)
    assert (solved.peak, solved.status) == (smallest_peak(free), "optimal")
    assert solved.certificate is not None
    assert verify_certificate(free, solved.certificate) == ()


def test_where_nothing_fits_the_best_heuristic_shows_how_much_is_missing() -> None:
    tight = problem(CHAIN, 49)
    solved = solve(tight, "auto")
    assert (solved.status, solved.peak, solved.planner) == ("infeasible", 50, "large-first")


@pytest.mark.parametrize(("searched", "planner"), [(52, "quick"), (51, "exact"), (50, "exact")])
def test_the_lower_of_two_plans_is_kept_be_it_by_a_byte(
    monkeypatch: pytest.MonkeyPatch, searched: int, planner: str
) -> None:
    """No peak is below 50; the quick plan's is 51."""

    def plan(peak: int) -> Plan:
        return Plan({"0": 30, "1": 0, "2": peak - 20})

    def quick(*_: object) -> list[tuple[str, Plan]]:
        return [("quick", plan(51))]

    def exact(*_: object, **__: object) -> Outcome:
        return Outcome("feasible", plan(searched), 0)

    monkeypatch.setattr(auto_module, "_quick_plans", quick)
    monkeypatch.setattr(auto_module, "exact", exact)
    outcome = auto(problem(CHAIN, None), QUICK)
    assert (outcome.plan, outcome.planner) == (plan(min(51, searched)), planner)


def test_constraints_are_kept() -> None:
    pinned = Buffer("p", 8, (Interval(0, 9),), pinned=20)
    constrained = Problem((*problem(CHAIN, None).buffers, pinned), 100, separated=(("0", "2"),))
    solved = solve(constrained, "auto")
    assert check(constrained, solved.plan) == ()
    with pytest.raises(BadInput):
        solve(Problem((pinned, pinned)), "auto")
