"""The smallest SharedMemory of built-in networks, and the smallest peak, which a study asks for."""

from dataclasses import replace
from pathlib import Path

import pytest

from chipmodel.answers.memory import MemoryAnswer
from chipmodel.api.simulation import simulate as simulated
from chipmodel.bounds.least_memory import least_memory
from chipmodel.execute.check import PlanRun, check_paths
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.nesting import Section
from chipmodel.model.plan import Problem, Solved
from chipmodel.pipeline.by_ways import least_plan_in
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.plan_export import plan_of_planned
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.smallest_memory import smallest_memory
from chipmodel.pipeline.smallest_peak import with_smallest_peak
from chipmodel.rewrites.in_place import reuse
from chipmodel.studies.answer import WorkerCache, answer
from chipmodel.studies.workload import load_workload
from chipmodel.verify.plan_file import verify_file
from dma.residency.comfortable import comfortable_memory
from solvers.branches.mergers import merge_arms
from solvers.core.outcome import Limits
from tests.chipmodel.studies.support import tasks
from tests.support.narrowed import some
from tests.support.plain_check import check
from tests.support.small_networks import small_network
from workloads.load import load

KIB = 1024


@pytest.fixture(scope="module")
def mobilenet() -> MemoryAnswer:
    program = reuse(load("zoo:mobilenetv1_025"), "all")
    return smallest_memory(PlanRequest(program, load_chip("alif-e7"), streamer="prefetch-greedy"), 3)


@pytest.mark.slow
def test_mobilenet_v1_needs_less_than_with_the_cascades_of_vela(mobilenet: MemoryAnswer) -> None:
    """Arm's Vela gives 48 KiB for it on an Ethos-U55 (docs/references). Layer by layer it is 54 KiB at least:
    the first pointwise convolution reads 48 x 48 x 8 B and makes 48 x 48 x 16 B."""
    assert mobilenet.layer_by_layer.shared_memory_bytes >= 48 * 48 * 8 + 48 * 48 * 16
    assert mobilenet.with_cascades.shared_memory_bytes <= 48 * KIB
    assert mobilenet.with_cascades.cascades
    assert not mobilenet.with_cascades.moves_tensors


@pytest.mark.slow
def test_more_memory_is_never_slower(mobilenet: MemoryAnswer) -> None:
    cycles = [
        point.with_cascades.total_cycles for point in mobilenet.front if point.with_cascades is not None
    ]
    assert len(cycles) == 3
    assert cycles == sorted(cycles, reverse=True)
    sizes = [point.shared_memory_bytes for point in mobilenet.front]
    assert sizes[0] == mobilenet.with_cascades.shared_memory_bytes
    program = load("zoo:mobilenetv1_025")
    whole = comfortable_memory(program)
    assert whole <= sizes[-1] < whole + load_chip("alif-e7").shared_memory.alignment


def test_a_network_without_large_tensors_gains_nothing() -> None:
    """Fully connected layers have nothing to cut into rows."""
    answer = smallest_memory(
        PlanRequest(small_network("dense"), load_chip("alif-e7"), streamer="prefetch-greedy"), 1
    )
    assert answer.with_cascades == answer.layer_by_layer


@pytest.mark.slow
def test_the_smallest_plan_of_mobilenet_is_proven_and_right(mobilenet: MemoryAnswer) -> None:
    """Its first cascade runs in bands of columns, and one loads weights again. Vela: 48 KiB."""
    assert mobilenet.with_cascades.shared_memory_bytes == mobilenet.lower_bound_bytes == 12_992
    program, chip = reuse(load("zoo:mobilenetv1_025"), "all"), load_chip("alif-e7")
    chip = chip.with_memory(mobilenet.with_cascades.shared_memory_bytes)
    ways = some(least_memory(program, chip)).paths[0]
    _, planned = some(least_plan_in(PlanRequest(program, chip), ways))
    assert planned.solved.peak <= chip.shared_memory.bytes
    assert any(each.bands > 1 for each in planned.schedule.cascades)
    assert any(each.reloaded for each in planned.schedule.cascades)
    assert verify_file(program, plan_of_planned(planned, chip, "alif-e7", ()), chip) == ()
    members = tuple(each.members for each in planned.schedule.cascades)
    run = PlanRun(program, [planned.commands], chip.shared_memory.bytes, members)
    assert [verdict.faults for verdict in check_paths(run, {}, 1)] == [()]


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("packer", "status", "ended"),
    [
        ("exact", "optimal", ()),
        ("cp-sat", "optimal", ()),
        ("search", "feasible", ("the search for a smaller peak (packer search)",)),
    ],
)
def test_a_packer_that_is_named_goes_on_to_the_smallest_peak_or_to_its_limits(
    packer: str, status: str, ended: tuple[str, ...]
) -> None:
    path = "tests/data/cases/exact_not_smallest.yaml"
    simulation = simulated(path, "luna-csk6", packer=packer, streamer="sync", in_place="none", cascade="off")
    found = simulation.result
    assert (found.solved.peak, found.solved.status, found.cut_short) == (5_128, status, ended)


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
    monkeypatch.setattr("chipmodel.pipeline.smallest_peak.merge_arms", hasty)
    found = with_smallest_peak(doubted, asked("exact"), LIMITS).solved
    assert found.plan == first.solved.plan
    # The bound of either holds for both.
    assert (found.peak, found.lower_bound, found.status) == (first.solved.peak, first.solved.peak, "optimal")


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
