"""A packer that searches stops at the first plan that fits; a study asks it for the smallest peak."""

from dataclasses import replace
from pathlib import Path

import pytest

from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.nesting import Section
from chipmodel.model.plan import Problem, Solved
from chipmodel.pipeline.plan import plan, with_smallest_peak
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.in_place import reuse
from chipmodel.studies.answer import WorkerCache, answer
from chipmodel.studies.workload import load_workload
from chipmodel.verify.offsets import check
from solvers.branches.mergers import merge_arms
from solvers.core.outcome import Limits
from tests.chipmodel.studies.support import tasks
from workloads.load import load

LIMITS = Limits(nodes=20_000, threads=1)


def asked(packer: str, merge: str = "conflict") -> PlanRequest:
    chip = load_chip("stm32n6", ["shared_memory.bytes=3MiB"])
    program = reuse(load("zoo:shufflenetv1"), "all")
    return PlanRequest(program, chip, packer, "ping-pong", merge=merge, limits=LIMITS)


def test_a_plan_that_merely_fits_gets_the_smallest_peak_on_the_same_schedule() -> None:
    request = asked("cp-sat")
    first = plan(request)
    found = with_smallest_peak(first, request, LIMITS)
    assert first.solved.peak > first.solved.lower_bound
    assert found.solved.peak == found.solved.lower_bound == first.solved.lower_bound
    assert (first.solved.status, found.solved.status) == ("feasible", "optimal")
    assert (found.schedule, found.problem, found.attempts) == (first.schedule, first.problem, first.attempts)
    assert check(found.problem, found.solved.plan) == ()
    assert found.solved.plan.peak(found.problem) == found.solved.peak
    assert found.solved.seconds > first.solved.seconds


def test_what_asks_nothing_more_is_left_as_it_is() -> None:
    for packer, merge in (("exact", "conflict"), ("naive", "conflict"), ("naive", "exact")):
        request = asked(packer, merge)
        first = plan(request)
        assert with_smallest_peak(first, request, LIMITS) is first


def test_a_plan_is_never_given_up_for_a_higher_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def hasty(problem: Problem, nesting: Section, packer: str, merge: str, limits: Limits) -> Solved:
        return merge_arms(problem, nesting, "naive", merge)

    first = plan(asked("exact"))
    doubted = replace(first, solved=replace(first.solved, status="feasible", lower_bound=1))
    monkeypatch.setattr("chipmodel.pipeline.plan.merge_arms", hasty)
    found = with_smallest_peak(doubted, asked("exact"), LIMITS).solved
    assert found.plan == first.solved.plan
    # The bound of either holds for both.
    assert (found.peak, found.lower_bound, found.status) == (first.solved.peak, first.solved.peak, "optimal")


@pytest.mark.parametrize("packer", ["cp-sat", "state-search", "hill-climb"])
def test_a_study_says_the_smallest_peak_whatever_the_capacity(packer: str) -> None:
    text = "workloads: zoo:shufflenetv1\nchips: stm32n6\nstreamers: ping-pong\nnode_limit: 20000\n"
    text += "set: {shared_memory.bytes: [3MiB]}\n"
    cache = WorkerCache(load_workload)
    rows = [answer(task, cache) for task in tasks(text + f"packers: [{packer}, large-first, exact]", Path())]
    proven = rows[2].peak_bytes
    assert (rows[0].status, rows[2].status) == ("optimal", "optimal")
    assert rows[0].peak_bytes == rows[0].peak_lower_bound_bytes
    if packer != "state-search":
        assert rows[0].peak_bytes == proven


def test_rows_of_one_packing_problem_share_its_digest() -> None:
    text = "workloads: [zoo:shufflenetv1]\nchips: stm32n6\npackers: [large-first, short-first]\n"
    cache = WorkerCache(load_workload)
    rows = [
        answer(task, cache)
        for sizes in ("[3MiB, 4MiB]", "[1MiB]")
        for task in tasks(text + f"set: {{shared_memory.bytes: {sizes}}}", Path())
    ]
    assert len({row.problem for row in rows[:2]}) == 1  # two packers, one schedule
    assert rows[0].problem != rows[4].problem  # what is spilled at 1 MiB is another problem
    assert all(row.problem for row in rows)


def test_a_packing_is_the_same_problem_at_any_capacity(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("id,lower,upper,size\na,0,2,4\nb,1,3,4\n")
    asked = tasks("workloads: [w.csv, 'w.csv?capacity=9', 'guillotine:n=4,seed=1']", tmp_path)
    problems = [answer(task, WorkerCache(load_workload)).problem for task in asked]
    assert problems[0] == problems[1] != problems[2]


def test_lower_offsets_are_simulated_again() -> None:
    """Bank conflicts depend on offsets, so the trace of the first plan is not that of the lower one."""
    first = plan(asked("exact"))
    doubted = replace(first, solved=replace(first.solved, status="feasible", lower_bound=1))
    traced = replace(doubted, trace=simulate(first.commands, asked("exact").chip))
    assert with_smallest_peak(traced, asked("exact"), LIMITS).trace is None
