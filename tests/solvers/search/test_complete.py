"""The complete search: against brute force, with rules switched off, by seed, and on unusual input."""

from dataclasses import replace

import pytest

from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Memory, Plan, Problem
from solvers.core.deadline import Deadline
from solvers.core.outcome import Limits
from solvers.search.complete import fit, minimise
from solvers.search.fuse import fused
from solvers.search.model import ConstraintClash, search_model
from solvers.search.workers import SearchWorker, WorkerRace
from tests.fuzz.search_rules import differences
from tests.solvers.oracle import smallest_peak
from tests.support.buffers import buffer
from tests.support.minimalloc import CAPACITY, instances
from tests.support.narrowed import some
from tests.support.plain_check import check
from workloads.packing.guillotine import guillotine
from workloads.packing.problem_csv import read_packing

QUICK = Limits(nodes=200_000, threads=1)


TIGHT = Problem(
    (
        buffer("a", 2, 1, 4),
        Buffer("b", 4, (Interval(0, 4), Interval(6, 7))),
        buffer("c", 4, 5, 9),
        buffer("d", 4, 2, 6),
        buffer("e", 4, 4, 5),
        buffer("f", 1, 2, 3),
    )
)
"""Never more than 11 bytes are alive, yet it needs 12: found by ``smallest_peak`` among random problems."""


@pytest.mark.parametrize("seed", range(60))
def test_brute_force_agrees(seed: int) -> None:
    wrong, _ = differences(20_000 + seed, 6)
    assert not wrong


def test_proves_more_than_the_live_bytes() -> None:
    assert (search_model(TIGHT).bound(), smallest_peak(TIGHT)) == (11, 12)
    outcome = fit(TIGHT, 11, QUICK)
    assert (outcome.status, outcome.proof) == ("infeasible", "search exhausted")
    lowest = minimise(TIGHT, QUICK)
    assert (lowest.status, lowest.lower_bound) == ("optimal", 12)


@pytest.mark.parametrize("threads", [1, 2])
def test_same_seed_same_plan(threads: int) -> None:
    problem = guillotine(120, seed=3)
    limits = Limits(nodes=400_000, seed=5, threads=threads)
    first, second = (fit(problem, problem.capacity or 0, limits) for _ in range(2))
    assert first.status == "feasible"
    assert (first.plan, first.nodes) == (second.plan, second.nodes)


@pytest.mark.parametrize("n", [50, 100, 150, 200])
def test_packs_without_waste(n: int) -> None:
    problem = guillotine(n, seed=0)
    outcome = fit(problem, problem.capacity or 0, Limits(nodes=2_000_000))
    assert not check(problem, some(outcome.plan))
    assert fit(problem, (problem.capacity or 0) - 1, QUICK).proof == "contention"


def test_limits_end_the_search() -> None:
    problem = replace(guillotine(300, seed=3), capacity=None)
    outcome = fit(problem, 1 << 20, Limits(nodes=50, threads=1))
    assert outcome.status == "unknown"
    assert outcome.nodes <= 50
    assert fit(problem, 1 << 20, Limits(seconds=0.0)).status in ("unknown", "feasible")


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_few_nodes_end_the_search_too(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """What is left may be too little for all workers to get a node each."""
    runs, run = [0], WorkerRace.run

    def counted(race: WorkerRace, until: Deadline, nodes: int | None) -> SearchWorker | None:
        runs[0] += 1
        assert runs[0] < 1000, "the search does not end"
        return run(race, until, nodes)

    monkeypatch.setattr(WorkerRace, "run", counted)
    best = minimise(TIGHT, QUICK).plan
    for nodes in range(20):
        for upper in (None, best):
            runs[0] = 0
            outcome = minimise(TIGHT, Limits(nodes=nodes, threads=threads), upper=upper)
            assert outcome.status in ("feasible", "optimal") or (upper, outcome.status) == (None, "unknown")
            assert outcome.nodes <= max(nodes, 1) * threads


def test_minimise_keeps_the_given_plan() -> None:
    problem = replace(guillotine(300, seed=3), capacity=None)
    offsets, end = dict[str, int](), 0
    for b in problem.buffers:
        offsets[b.name], end = end, end + b.bytes
    outcome = minimise(problem, Limits(nodes=20, threads=1), upper=Plan(offsets))
    assert outcome.status == "feasible"
    assert outcome.lower_bound <= 1 << 20 < some(outcome.plan).peak(problem) <= end


def test_minimise_trusts_a_given_bound() -> None:
    problem = Problem((buffer("a", 4, 0, 2), buffer("b", 4, 3, 5)))
    plan = Plan({"a": 0, "b": 0})
    outcome = minimise(problem, QUICK, upper=plan, lower=4)
    assert (outcome.status, outcome.plan, outcome.nodes) == ("optimal", plan, 0)


def test_contention_names_the_live_buffers() -> None:
    problem = Problem((buffer("a", 3, 0, 2), buffer("b", 3, 1, 3), buffer("c", 3, 2, 4)))
    outcome = fit(problem, 5, QUICK)
    assert outcome.status == "infeasible"
    assert set(outcome.explanation) in ({"a", "b"}, {"b", "c"})


def test_huge_sizes() -> None:
    big = 1 << 40
    problem = Problem((buffer("a", big, 0, 2), buffer("b", 3 * big, 1, 3), buffer("c", big, 2, 4)))
    assert fit(problem, 4 * big, QUICK).status == "feasible"
    assert fit(problem, 4 * big - 1, QUICK).status == "infeasible"
    odd = Problem((buffer("a", (1 << 62) + 1, 0, 2), buffer("b", (1 << 62) + 3, 1, 3)))
    for outcome in (fit(odd, 1 << 62, QUICK), minimise(odd, QUICK)):
        assert outcome.status == "unknown"
        assert outcome.proof.startswith("not searched")


def test_empty_problems() -> None:
    assert fit(Problem(()), 0, QUICK).status == "feasible"
    assert minimise(Problem(()), QUICK).status == "optimal"
    empty = Problem((buffer("a", 0, 0, 3), Buffer("b", 5, ()), buffer("c", 2, 4, 4)))
    assert fit(empty, 5, QUICK).status == "feasible"
    assert fit(empty, 4, QUICK).status == "infeasible"
    assert fit(Problem((buffer("a", 0, 0, 3),)), 0, QUICK).status == "feasible"


def test_constraints_that_clash_are_named() -> None:
    a, b = buffer("a", 2, 0, 3), buffer("b", 2, 1, 4)
    pinned = (replace(a, pinned=0), replace(b, pinned=2))
    assert fit(Problem(pinned, colocated=(("a", "b"),)), 9, QUICK).explanation == ("a", "b")
    misaligned = Problem((replace(a, pinned=3, alignment=2),))
    assert fit(misaligned, 9, QUICK).status == "infeasible"
    homeless = Problem((replace(a, bytes=5),), memories=(Memory("m", 0, 4),))
    assert minimise(homeless, QUICK).explanation == ("a",)


def test_full_sections_join_two_buffers() -> None:
    problem = Problem((buffer("x", 3, 0, 4), buffer("a", 2, 0, 2), buffer("b", 2, 2, 4)))
    items = fused(search_model(problem), 5).items
    assert sorted(tuple(b.name for b in item.members) for item in items) == [("a", "b"), ("x",)]
    assert len(fused(search_model(problem), 6).items) == 3


def test_full_sections_may_force_two_live_buffers_to_one_offset() -> None:
    """b is where a is and c is where b is, but a and c are alive together."""
    a, c = (Buffer(n, 2, (Interval(t, t + 1 + (n == "c")), Interval(4, 5))) for n, t in (("a", 0), ("c", 3)))
    problem = Problem((buffer("x", 2, 0, 2), a, buffer("b", 2, 1, 3), buffer("y", 2, 2, 4), c))
    with pytest.raises(ConstraintClash, match="one offset"):
        fused(search_model(problem), 4)
    assert smallest_peak(replace(problem, capacity=4)) is None
    assert fit(problem, 4, QUICK).status == "infeasible"


@pytest.mark.slow
@pytest.mark.skipif(not instances(), reason="CHIPMODEL_MINIMALLOC names no folder of MiniMalloc's CSV files")
def test_minimalloc_instances_fit() -> None:
    for path in instances():
        problem = read_packing(path, None, ()).problem
        outcome = fit(problem, CAPACITY, Limits(nodes=3_000_000))
        assert not check(replace(problem, capacity=CAPACITY), some(outcome.plan))
