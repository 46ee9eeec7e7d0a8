"""Streamer ``exact`` in whole runs: plans are correct by the independent verifier and both simulators."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from chipmodel.answers.result import ExactProof
from chipmodel.bounds.time_bound import time_bound
from chipmodel.errors import BadInput, DoesNotFit
from chipmodel.hardware.chip import Channels, Chip, Cpu
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program
from chipmodel.passes.lower import lower
from chipmodel.pipeline.choices import CASCADE_AUTO
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from chipmodel.verify.commands import verify
from dma.schedule.effort import SearchProgress, StopCriterion
from dma.schedule.path_forecast import ScheduleForecast
from dma.stream import streamer_named
from dma.streamers.exact import PORTFOLIO
from reports.run.document import document
from reports.run.limits import proof_words
from reports.words import made_by
from solvers.core.deadline import Deadline
from tests.fuzz.cycle_bounds import random_case
from tests.support.random_commands import random_path
from tests.support.stepper import step_through
from tests.support.work import CountedClock
from workloads.load import load
from workloads.zoo import build


def quiet(name: str, part: int) -> Chip:
    """The chip without contention, with a part of its SharedMemory."""
    chip = load_chip(name)
    size = chip.shared_memory.bytes // part // 64 * 64
    memory = replace(chip.shared_memory, banks=None, bytes=size)
    dma = replace(chip.dma, channels=Channels())
    psram = replace(chip.psram, collision="none")
    return replace(chip, shared_memory=memory, dma=dma, psram=psram, cpu=Cpu())


def simulated(program: Program, chip: Chip, streamer: str) -> int:
    return simulate(plan(PlanRequest(program, chip, "large-first", streamer)).commands, chip).cycles


@pytest.mark.slow
@pytest.mark.parametrize(("name", "part"), [("gap9-psram", 48)])
def test_predicted_cycles_are_simulated_and_fewer_than_those_of_the_others(name: str, part: int) -> None:
    program, chip = build("ds_cnn"), quiet(name, part)
    planned = plan(PlanRequest(program, chip, "large-first", "exact:2"))
    assert planned.solved.peak <= chip.shared_memory.bytes
    assert planned.schedule.streamer == "shortest-path"
    assert verify(planned.program, planned.commands, chip) == ()
    cycles = simulate(planned.commands, chip).cycles
    assert cycles == ScheduleForecast(planned.program, chip).cycles(planned.schedule)
    assert time_bound(program, chip, {}).cycles <= cycles
    assert cycles < min(simulated(program, chip, other) for other in ("sync", "ping-pong", "weight-pipeline"))


@pytest.mark.slow
def test_the_bound_is_met_where_there_is_room_for_all() -> None:
    chip = replace(
        quiet("gap9-psram", 1), shared_memory=replace(quiet("gap9-psram", 1).shared_memory, bytes=1 << 24)
    )
    program = build("mobilenetv1_025")
    bound = time_bound(program, chip, {}).cycles
    assert bound <= simulated(program, chip, "exact:2") <= bound * 1.005


def test_more_chains_on_request() -> None:
    assert streamer_named("exact") is PORTFOLIO
    assert (streamer_named("exact:20").name, streamer_named("exact:20").paths) == ("exact:20", 20)
    for setting in ("", "x", "0", "-1", "1" * 40, "²"):
        with pytest.raises(BadInput) as refusal:
            streamer_named(f"exact:{setting}")
        assert "exact:1000" in (refusal.value.hint or "")


HALF = PlanRequest(
    reuse(load("zoo:ds_cnn"), "all"), load_chip("alif-e7").with_memory(8_272), cascade=CASCADE_AUTO
)
"""DS-CNN in half of the memory that it needs to send nothing out."""


@pytest.mark.slow
def test_it_begins_with_the_default_plan_and_ends_at_its_chains_or_the_stop_criterion() -> None:
    auto = run(HALF).trace.cycles
    found: list[tuple[int, int]] = []
    for stop in (StopCriterion(), StopCriterion(seconds=0), StopCriterion(gap=1e9)):
        heard: list[object] = []
        request = replace(HALF, streamer="exact:2", stop=replace(stop, report=heard.append))
        result = run(request)
        reports = [each for each in heard if isinstance(each, SearchProgress)]
        assert [each.tried for each in reports] == [*range(1, len(reports) + 1)]
        assert result.default_cycles == auto == document(result)["default_streamer_cycles"]
        assert ("it found nothing faster" in made_by(result)) == (result.trace.cycles == auto)
        found.append((len(reports), result.trace.cycles))
    assert found[0][0] == 2
    assert found[0][1] <= auto
    assert found[1:] == [(0, auto)] * 2


LESS = replace(HALF, program=reuse(load("zoo:resnet8"), "all"), chip=load_chip("alif-e7").with_memory(25_360))


def test_chains_of_cp_sat_are_faster_than_the_default_and_above_its_bound() -> None:
    result, again = (run(replace(LESS, streamer="exact:6")) for _ in range(2))
    assert result.trace.cycles < (result.default_cycles or 0)
    assert document(result) == document(again)
    proof = result.proof
    assert proof is not None
    assert (proof.model, proof.tried) == ("optimal", 6)
    assert proof.left < proof.listed // 100
    assert proof.bound <= result.trace.cycles
    said = document(result)["exact_search"]
    assert (said["status"], said["bound_cycles"]) == ("feasible", proof.bound)
    commands = lower(result.schedule, result.solved.plan)
    members = [cascade.members for cascade in result.schedule.cascades]
    assert verify(LESS.program, commands, LESS.chip, members) == ()


def test_a_plan_that_takes_what_is_proven_is_optimal() -> None:
    proof = ExactProof("optimal", 1_000, 5, 2, 1)
    assert (proof.status(1_000), proof.status(1_010)) == ("optimal", "feasible")
    assert "so the plan is the best of them" in proof_words(proof, 1_000)
    assert "the plan is 1.0% above, the best of 1 built" in proof_words(proof, 1_010)


@pytest.mark.parametrize("moment", [0, *(pytest.param(each, marks=pytest.mark.slow) for each in (30, 300))])
def test_at_a_deadline_it_is_not_behind_the_default(moment: int) -> None:
    auto, exact = (
        run(replace(HALF, streamer=name, deadline=Deadline(moment, CountedClock(1)))).trace.cycles
        for name in ("auto", "exact:2")
    )
    assert exact <= auto


def look(program: Program, chip: Chip, seed: int, streamer: str) -> Counter[str]:
    """What was planned, after all checks."""
    try:
        planned = plan(PlanRequest(program, chip, "large-first", streamer))
    except DoesNotFit:
        return Counter(refused=1)
    if planned.solved.peak > chip.shared_memory.bytes:
        return Counter(refused=1)
    assert verify(planned.program, planned.commands, chip) == (), seed
    choices = random_path(planned.commands, Random(seed))
    trace = simulate(planned.commands, chip, choices)
    assert trace == step_through(planned.commands, chip, choices), seed
    schedule = planned.schedule
    early = sum(t.issue < t.due and t.direction == "load" and not t.part.weights for t in schedule.transfers)
    return Counter(planned=1, striped=bool(schedule.striped), early=bool(early))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(500, 504, 4))
def test_random_programs(first: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(first, first + 4):
        seen += look(*random_case(seed), seed, "exact:5")
    assert seen["planned"] > seen["refused"]
    assert seen["striped"]
