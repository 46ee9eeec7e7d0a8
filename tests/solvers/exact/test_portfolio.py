"""The portfolio: known answers, degenerate problems, and every claim against all plans."""

import itertools
from dataclasses import replace
from random import Random

import pytest

from chipmodel.errors import BadInput
from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Memory, Problem
from chipmodel.verify.certificate import verify_certificate
from solvers.core.deadline import Deadline
from solvers.core.outcome import Limits, Outcome
from solvers.core.preprocess import components
from solvers.core.start import start_plan
from solvers.exact import cp_sat, portfolio
from solvers.exact.portfolio import MAX_SEARCHED_BUFFERS, exact
from solvers.registry import solve
from solvers.search import complete as search
from tests.fuzz.exact_packers import paired, small
from tests.solvers.oracle import smallest_peak
from tests.solvers.random_problems import random_problem
from tests.support.buffers import buffer
from tests.support.folders import data
from tests.support.minimalloc import CAPACITY, instances
from tests.support.plain_check import check
from tests.support.work import calls
from workloads.packing.guillotine import guillotine
from workloads.packing.problem_csv import parse_packing, read_packing

LIMITS = Limits(nodes=200_000, threads=1)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 400, 100))
def test_all_claims_about_random_problems_hold(first: int) -> None:
    """Those of the portfolio, of the search, and of CP-SAT."""
    for seed in range(first, first + 100):
        small(seed)


@pytest.mark.parametrize("first", [0, *(pytest.param(each, marks=pytest.mark.slow) for each in (20, 40))])
def test_parts_that_do_not_touch_are_planned_alone(first: int) -> None:
    """Two problems one after the other: the optimum is the larger of the two."""
    for seed in range(first, first + 20):
        one = replace(random_problem(seed, 6, False), capacity=None)
        two = replace(random_problem(seed + 1000, 6, False), capacity=None)
        later = tuple(
            replace(
                b, name=f"later {b.name}", live=tuple(Interval(i.start + 50, i.stop + 50) for i in b.live)
            )
            for b in two.buffers
        )
        both = Problem(one.buffers + later)
        peaks = [smallest_peak(one) or 0, smallest_peak(two) or 0]
        outcome = exact(both, LIMITS)
        assert (outcome.status, outcome.lower_bound) == ("optimal", max(peaks)), seed
        assert len(components(both)) >= (2 if one.buffers and later else 1)


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_the_two_exact_solvers_agree_on_up_to_14_buffers(first: int) -> None:
    assert all(paired(seed) == {"pairs that agree": 1} for seed in range(first, first + 20))


@pytest.mark.parametrize(
    ("problem", "status", "peak"),
    [
        (Problem(()), "optimal", 0),
        (Problem((), 0), "optimal", 0),
        (Problem((buffer("a", 0),), 0), "optimal", 0),
        (Problem((buffer("a", 1),), 0), "infeasible", None),
        (Problem((buffer("a", 7, 3, 3), buffer("b", 5, 9, 2))), "optimal", 7),
        (Problem((buffer("a", 1 << 40), buffer("b", (1 << 40) + 1))), "optimal", (1 << 41) + 1),
        (Problem((buffer("a", 1 << 70), buffer("b", 3))), "optimal", (1 << 70) + 3),
        (Problem((buffer("a", 8),), 7), "infeasible", None),
        (Problem((replace(buffer("a", 4), pinned=6),), 9), "infeasible", None),
        (Problem((replace(buffer("a", 4, alignment=4), pinned=6),)), "infeasible", None),
        (Problem((replace(buffer("a", 4), pinned=-4),)), "infeasible", None),
        (Problem((buffer("a", 4), buffer("b", 6)), colocated=(("a", "b"),)), "optimal", 6),
        (
            Problem((buffer("a", 4), buffer("b", 6)), colocated=(("a", "b"),), separated=(("a", "b"),)),
            "optimal",
            6,
        ),
        (Problem((buffer("a", 4, 0, 1), buffer("b", 6, 2, 3)), separated=(("a", "b"),)), "optimal", 10),
        (Problem((buffer("a", 9),), memories=(Memory("x", 0, 8), Memory("y", 8, 16))), "infeasible", None),
        (
            Problem((buffer("a", 1), buffer("b", 1), buffer("c", 1)), colocated=(("a", "b"), ("b", "c"))),
            "infeasible",
            None,
        ),
    ],
)
def test_degenerate_problems_have_a_defined_answer(problem: Problem, status: str, peak: int | None) -> None:
    outcome = exact(problem, LIMITS)
    assert outcome.status == status
    assert (None if outcome.plan is None else outcome.plan.peak(problem)) == peak
    assert outcome.certificate is not None
    assert verify_certificate(problem, outcome.certificate) == ()


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (Problem((buffer("a", 1), buffer("a", 2))), "two buffers are named 'a'"),
        (Problem((buffer("a", -1),)), "buffer 'a' has -1 bytes"),
        (Problem((buffer("a", 1, alignment=0),)), "buffer 'a' is aligned to 0"),
        (Problem((buffer("a", 1),), separated=(("a", "x"),)), "separated: there is no 'x'"),
        (Problem((), memories=(Memory("x", 0, 8), Memory("y", 7, 9))), "memories 'x' and 'y' overlap"),
    ],
)
def test_what_has_no_meaning_is_refused(problem: Problem, words: str) -> None:
    with pytest.raises(BadInput) as refusal:
        exact(problem, LIMITS)
    assert refusal.value.what == words


def test_minimising_under_a_capacity_goes_on_after_the_first_fit() -> None:
    problem = Problem((buffer("a", 10, 0, 2), buffer("b", 30, 1, 3), buffer("c", 20, 2, 5)), 70)
    assert exact(problem, LIMITS, goal="minimise").lower_bound == 50


def many(count: int, longest: int) -> Problem:
    random = Random(1)
    starts = [random.randint(0, 2 * count) for _ in range(count)]
    return Problem(
        tuple(
            buffer(str(i), random.randint(1, 4096), start, start + random.randint(1, longest))
            for i, start in enumerate(starts)
        )
    )


def test_many_buffers_with_room_are_not_searched_and_their_work_grows_with_their_number() -> None:
    def work(count: int) -> int:
        problem = replace(many(count, 200), capacity=1 << 30)

        def search_for_nothing() -> None:
            outcome = exact(problem, LIMITS)
            assert outcome.status in ("feasible", "optimal")
            assert outcome.nodes == 0

        return calls(search_for_nothing)

    work(10)  # imports what is imported where it is used
    few = work(2_000)
    assert few < 300 * 2_000
    assert work(4_000) < 2.5 * few


def test_the_registry_hands_everything_on() -> None:
    problem = Problem((buffer("a", 10, 0, 2), buffer("b", 30, 1, 3), buffer("c", 20, 2, 5)), 49)
    solved = solve(problem, "exact", LIMITS)
    assert (solved.status, solved.explanation, solved.lower_bound) == ("infeasible", ("b", "c"), 50)
    assert solved.certificate is not None
    assert solved.plan.offsets
    assert solved.trajectory
    for packer in ("search", "cp-sat", "exact"):
        fine = solve(replace(problem, capacity=50), packer, LIMITS)
        assert (fine.status in ("optimal", "feasible"), fine.peak) == (True, 50)


@pytest.mark.skipif(not instances(), reason="CHIPMODEL_MINIMALLOC names no folder of MiniMalloc's CSV files")
def test_minimalloc_instances_fit() -> None:
    for path in instances():
        if path.name in ("C.1048576.csv", "K.1048576.csv"):
            problem = replace(read_packing(path, None, ()).problem, capacity=CAPACITY)
            outcome = exact(problem, Limits(nodes=20_000_000))
            assert outcome.plan is not None, path.name
            assert check(problem, outcome.plan) == ()


def test_no_search_is_begun_after_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    def begun(*_: object) -> Outcome:
        raise AssertionError("the search was begun")

    monkeypatch.setattr(portfolio, "solve_component", begun)
    said: list[str] = []
    problem = replace(guillotine(60, seed=1), capacity=None)
    outcome = exact(problem, Limits(deadline=Deadline(0, lambda: 1, said.append)))
    assert outcome.status == "feasible"
    assert outcome.plan is not None
    assert not check(problem, outcome.plan)
    assert outcome.proof == "the limits came first"
    assert {*said} == {"the search for offsets"}


def test_the_search_ends_once_cp_sat_has_settled_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = replace(guillotine(60, seed=1), capacity=None)
    settled = Outcome("optimal", start_plan(problem), 0)
    polls: list[bool] = []

    def searched(_problem: Problem, limits: Limits, *_: object) -> Outcome:
        if limits.nodes is None:
            polls.extend(
                itertools.takewhile(lambda over: not over, (limits.deadline.over for _ in range(10**7)))
            )
        return Outcome("unknown", None, 0)

    def answered(_problem: Problem, limits: Limits, *_: object) -> Outcome:
        return settled if limits.nodes is None else Outcome("unknown", None, 0)

    monkeypatch.setattr(search, "minimise", searched)
    monkeypatch.setattr(cp_sat, "minimise", answered)
    assert exact(problem, Limits()).plan == settled.plan
    assert len(polls) < 10**7


GAPS = data("cases/seventeen_gaps.csv")
"""Its largest live set has 12,304 bytes and its best plan 16,384, which the search alone does not prove."""


def test_cp_sat_proves_within_few_nodes_what_the_search_does_not() -> None:
    problem = parse_packing(GAPS, "gaps.csv", None, ()).problem
    limits = Limits(nodes=300_000)
    assert search.minimise(problem, limits).status == "feasible"
    first, again = exact(problem, limits), exact(problem, limits)
    assert (first.status, first.lower_bound, first.nodes < 100_000) == ("optimal", 16_384, True)
    assert (first.plan, first.nodes) == (again.plan, again.nodes)


def test_more_buffers_than_are_searched_have_a_good_plan_when_no_time_is_left() -> None:
    """Of one size, so that a free list packs them in the fewest bytes; each meets the one before it."""
    buffers = tuple(Buffer(f"b{i}", 64, (Interval(i, i + 2),)) for i in range(MAX_SEARCHED_BUFFERS + 1))
    outcome = exact(Problem(buffers), Limits(deadline=Deadline(0, lambda: 0)))
    assert outcome.plan is not None
    assert outcome.plan.peak(Problem(buffers)) == 2 * 64
