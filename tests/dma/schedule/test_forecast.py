"""The forecast against the simulator, which it must equal without contention, also along one path."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Channels, Chip, Cpu, DramDma
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program, ops
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import Planned, PlanRequest
from dma.schedule.forecast import ChainForecast, ChainTransfer, forecast, late_weights
from dma.schedule.path_forecast import ScheduleForecast
from tests.fuzz.random_trees import random_paths
from tests.support.chips import LUNA_LIKE, tiny_chip, with_memory
from tests.support.random_commands import random_path
from tests.support.random_programs import TreeShape, random_program
from workloads.build.builder import ProgramBuilder
from workloads.zoo import build


def quiet(chip: Chip) -> Chip:
    """``chip`` without contention: one channel, no banks, no refresh, no CPU."""
    memory = replace(chip.shared_memory, banks=None)
    dma = replace(chip.dma, channels=Channels())
    if isinstance(dma, DramDma):
        dma = replace(dma, memory=replace(dma.memory, t_refi_ns=Fraction(0)))
    psram = replace(chip.psram, collision="none")
    return replace(chip, shared_memory=memory, dma=dma, psram=psram, cpu=Cpu())


def test_by_hand() -> None:
    """Loads of 10 for steps of 4, 20 and 5; the second step's load is issued with the first step's, and a
    store of 7 after the second is waited for at once."""
    moves = [
        ChainTransfer("load", 3, 3, 10),
        ChainTransfer("load", 3, 4, 10),
        ChainTransfer("store", 4, 4, 7),
        ChainTransfer("load", 5, 5, 1),
    ]
    assert forecast(3, [4, 20, 5], moves) == ChainForecast(
        ready=(0, 20, 47), starts=(10, 20, 48), reached=(0, 14, 40, 47), ends=(10, 20, 47, 48), end=53
    )
    assert forecast(0, [], []) == ChainForecast((), (), (), (), 0)


@pytest.mark.slow
@pytest.mark.parametrize("streamer", ["sync", "ping-pong", "weight-pipeline"])
def test_lateness_equals_the_simulators_waits_for_weights(streamer: str) -> None:
    """On random programs with arms and loops, op by op, along random paths: each run of an op waits as long
    as it is late. (With jitter an op may be late that need not wait.)"""
    waited = 0
    for seed in range(20):
        random = Random(seed)
        program = random_program(seed, TreeShape(ops=6, depth=seed % 3, side=5, channels=6))
        chip = quiet(tiny_chip(random))
        try:
            planned = plan(PlanRequest(program, chip, "large-first", streamer))
        except DoesNotFit:
            continue
        trace = simulate(planned.commands, chip, random_path(planned.commands, random))
        measured = Counter[str]()
        runs = Counter[int]()
        for event in trace.events:
            if event.unit == "npu" and event.cause == "weights":
                measured[event.op] += event.cycles
            elif event.unit == "npu" and not event.cause:
                runs[event.position] += 1
        expected = Counter[str]()
        for late in late_weights(planned.schedule, chip):
            expected[late.op] += late.cycles * runs[late.position]
        assert +expected == +measured, seed
        waited += bool(measured)
    assert waited > 8


def test_contention_that_the_forecast_leaves_out() -> None:
    """A CPU that takes the Psram makes weights later than forecast; a second channel, whose transfer sets
    up beside the first one's, earlier."""
    planned = plan(PlanRequest(build("resnet8"), LUNA_LIKE, "large-first", "weight-pipeline"))
    late = sum(late.cycles for late in planned.schedule.late)
    shared = replace(LUNA_LIKE, cpu=Cpu(psram_every=500))
    assert simulate(planned.commands, shared).stalls("npu")["weights"] > late
    double = replace(LUNA_LIKE, dma=replace(LUNA_LIKE.dma, channels=Channels(2)))
    assert simulate(planned.commands, double).stalls("npu")["weights"] < late


def test_jitter_is_added_to_what_is_late() -> None:
    """A load of 1 KiB takes 656 + ceil(1024 * 30.891 / 32) = 1,645 cycles; computes are given."""
    builder = ProgramBuilder("jitter")
    x = builder.input("x", (1, 64))
    for name in ("a", "b"):
        x = builder.dense(name, x, 64, weights=[builder.weight(f"{name}.w", 1024)])
    builder.output(x)
    program = builder.build()
    slow = tuple(replace(op, cycles=2000) for op in ops(program.body))
    program = replace(program, body=slow)
    schedule = plan(PlanRequest(program, LUNA_LIKE, "large-first", "weight-pipeline")).schedule
    assert [(late.op, late.position, late.cycles) for late in schedule.late] == [("a", 0, 1645)]
    assert [late.cycles for late in late_weights(schedule, LUNA_LIKE, 355)] == [1645 + 355]
    assert [late.cycles for late in late_weights(schedule, LUNA_LIKE, 356)] == [1645 + 356, 1]


CHIP = load_chip("gap9-psram")
"""One DMA channel, and no banks: nothing that a forecast does not know."""


def _planned(program: Program, streamer: str) -> Planned | None:
    chip = with_memory(CHIP, 4096)
    try:
        planned = plan(PlanRequest(program, chip, "large-first", streamer))
    except DoesNotFit:
        return None
    return planned if planned.solved.peak <= 4096 else None


@pytest.mark.slow
@pytest.mark.parametrize("streamer", ["sync", "ping-pong", "prefetch-greedy"])
def test_the_forecast_of_a_path_is_what_is_simulated(streamer: str) -> None:
    compared = 0
    for seed in range(40):
        program = random_program(seed)
        planned = _planned(program, streamer)
        if planned is None:
            continue
        for path in random_paths(program, planned, Random(seed)):
            forecast = ScheduleForecast(program, CHIP, path).cycles(planned.schedule)
            assert round(forecast) == simulate(planned.commands, CHIP, path).cycles
            compared += 1
    assert compared > 20
