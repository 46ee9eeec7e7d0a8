"""The streamer ``exact`` in whole runs."""

from dataclasses import replace

import pytest

from chipmodel.bounds.time_bound import time_bound
from chipmodel.errors import BadInput
from chipmodel.hardware.chip import Channels, Chip, Cpu
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.verify.commands import verify
from dma.schedule.expected_forecast import ScheduleForecast
from dma.stream import streamer_named
from dma.streamers import prefetch_greedy
from dma.streamers.exact import DECIDERS, PORTFOLIO, SLICES_AT_ONCE, WEIGHT_FLOOR_DIVISORS
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


@pytest.mark.parametrize(("name", "part"), [("gap9-psram", 48)])
def test_predicted_cycles_are_simulated_and_fewer_than_those_of_the_others(name: str, part: int) -> None:
    program, chip = build("ds_cnn"), quiet(name, part)
    planned = plan(PlanRequest(program, chip, "large-first", "exact"))
    assert planned.solved.peak <= chip.shared_memory.bytes
    assert planned.schedule.streamer == "exact"
    assert verify(program, planned.commands, chip) == ()
    cycles = simulate(planned.commands, chip).cycles
    assert cycles == ScheduleForecast(program, chip).cycles(planned.schedule)
    assert time_bound(program, chip, {}).cycles <= cycles
    assert cycles < min(simulated(program, chip, other) for other in ("sync", "ping-pong", "weight-pipeline"))


def test_the_bound_is_met_where_there_is_room_for_all() -> None:
    chip = replace(
        quiet("gap9-psram", 1), shared_memory=replace(quiet("gap9-psram", 1).shared_memory, bytes=1 << 24)
    )
    program = build("mobilenetv1_025")
    bound = time_bound(program, chip, {}).cycles
    assert bound <= simulated(program, chip, "exact") <= bound * 1.005


def test_more_steps_on_request() -> None:
    assert streamer_named("exact") is PORTFOLIO
    assert streamer_named("exact:20").name == "exact:20"
    others = len(prefetch_greedy.PORTFOLIO.candidates)
    assert len(PORTFOLIO.candidates) == others + len(DECIDERS) * len(WEIGHT_FLOOR_DIVISORS) * len(
        SLICES_AT_ONCE
    )
    program, chip = build("ds_cnn"), quiet("stm32n6", 128)
    assert simulated(program, chip, "exact:0") >= simulated(program, chip, "exact:2000")
    for setting in ("", "x", "-1", "1" * 40, "²"):
        with pytest.raises(BadInput) as refusal:
            streamer_named(f"exact:{setting}")
        assert "exact:20000" in (refusal.value.hint or "")
