"""Forecasts of one path are what the simulator measures along it."""

from random import Random

import pytest

from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import Planned, PlanRequest
from dma.schedule.expected_forecast import ScheduleForecast
from tests.fuzz.random_trees import random_paths
from tests.support.chips import with_memory
from tests.support.random_programs import random_program

CHIP = load_chip("gap9-psram")
"""One DMA channel, and no banks: nothing that a forecast does not know."""


def _planned(program: Program, streamer: str) -> Planned | None:
    chip = with_memory(CHIP, 4096)
    try:
        planned = plan(PlanRequest(program, chip, "large-first", streamer))
    except DoesNotFit:
        return None
    return planned if planned.solved.peak <= 4096 else None


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
