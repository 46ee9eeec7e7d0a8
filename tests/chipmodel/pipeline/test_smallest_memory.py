"""The smallest SharedMemory of built-in networks, and the smallest peak, which a study asks for."""

from dataclasses import replace
from pathlib import Path

import pytest

from chipmodel.answers.memory import MemoryAnswer
from chipmodel.api.simulation import simulate as simulated
from chipmodel.cascades.rewrite import with_cascades
from chipmodel.execute.check import PlanRun, check_paths
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.nesting import Section
from chipmodel.model.plan import Problem, Solved
from chipmodel.model.work import Recurrent
from chipmodel.pipeline.plan import plan, with_smallest_peak
from chipmodel.pipeline.plan_export import plan_of_planned
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.rounds import plan_in_rounds
from chipmodel.pipeline.smallest_memory import smallest_memory
from chipmodel.rewrites.in_place import reuse
from chipmodel.studies.answer import WorkerCache, answer
from chipmodel.studies.workload import load_workload
from chipmodel.verify.offsets import check
from chipmodel.verify.plan_file import verify_file
from dma.cascade_choice.least_memory import least_memory_candidates
from dma.residency.comfortable import comfortable_memory
from solvers.branches.mergers import merge_arms
from solvers.core.outcome import Limits
from tests.chipmodel.studies.support import tasks
from workloads.build.builder import ProgramBuilder
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
def test_the_plans_fit_the_sizes_that_they_are_for(mobilenet: MemoryAnswer) -> None:
    points = [plan for point in mobilenet.front for plan in (point.layer_by_layer, point.with_cascades)]
    plans = [mobilenet.layer_by_layer, mobilenet.with_cascades, *points]
    assert all(plan.peak_bytes <= plan.shared_memory_bytes for plan in plans if plan is not None)
    for point in mobilenet.front:
        for each in (point.layer_by_layer, point.with_cascades):
            assert each is None or each.shared_memory_bytes <= point.shared_memory_bytes


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
    b = ProgramBuilder("dense")
    b.output(b.dense("second", b.dense("first", b.input("x", (1, 64)), 32), 64))
    answer = smallest_memory(PlanRequest(b.build(), load_chip("alif-e7"), streamer="prefetch-greedy"), 1)
    assert answer.with_cascades == answer.layer_by_layer


@pytest.mark.slow
def test_layers_of_which_the_last_state_is_needed_run_time_step_by_time_step() -> None:
    """Two LSTMs of 100 steps of 64 units, weights in place: in memory are a few time steps and the states,
    not the 6,400 B between the layers."""
    b = ProgramBuilder("last state")
    x = b.recurrent("first", b.input("x", (100, 1, 64)), 64, "lstm")
    weights = [b.weight("second.weight", 4 * 64 * 128)]
    work, steps = Recurrent(100, 64, 64, 4), b.reshape(x, (100, 1, 64))
    (state,) = b.emit("lstm", "second", work, [steps], [(1, 1, 64)], weights=weights)
    b.output(b.dense("scores", b.reshape(state, (1, 64)), 4))
    chip = load_chip("alif-e7", ("weights.in_place=always",))
    answer = smallest_memory(PlanRequest(b.build(), chip, streamer="sync"), 1)
    assert answer.layer_by_layer.shared_memory_bytes == 12_800
    assert 9 * 64 <= answer.with_cascades.shared_memory_bytes <= 16 * 64
    assert answer.with_cascades.total_cycles <= 1.01 * answer.layer_by_layer.total_cycles
    assert answer.lower_bound_bytes <= answer.with_cascades.shared_memory_bytes


@pytest.mark.slow
def test_the_smallest_plan_of_mobilenet_is_proven_and_right(mobilenet: MemoryAnswer) -> None:
    """Its first cascade runs in bands of columns and loads weights again. Vela gives 48 KiB, see above."""
    assert mobilenet.with_cascades.shared_memory_bytes == mobilenet.lower_bound_bytes == 12_992
    program, chip = reuse(load("zoo:mobilenetv1_025"), "all"), load_chip("alif-e7")
    chip = chip.with_memory(mobilenet.with_cascades.shared_memory_bytes)
    cascaded = with_cascades(program, least_memory_candidates(program, chip)[0])
    planned = plan_in_rounds(PlanRequest(program, chip, streamer="sync", spill=False), {}, cascaded=cascaded)
    assert planned.solved.peak <= chip.shared_memory.bytes
    assert any(each.bands > 1 and len(each.reloaded) > 1 for each in planned.schedule.cascades)
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
    monkeypatch.setattr("chipmodel.pipeline.plan.merge_arms", hasty)
    found = with_smallest_peak(doubted, asked("exact"), LIMITS).solved
    assert found.plan == first.solved.plan
    # The bound of either holds for both.
    assert (found.peak, found.lower_bound, found.status) == (first.solved.peak, first.solved.peak, "optimal")


@pytest.mark.slow
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


@pytest.mark.slow
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
