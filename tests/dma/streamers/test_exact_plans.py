"""Plans of ``exact`` are correct, by the independent verifier and on both simulators."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from chipmodel.bounds.time_bound import time_bound
from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program
from chipmodel.pipeline.plan import plan, smallest_capacity
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.in_place import reuse
from chipmodel.verify.commands import verify
from tests.fuzz.cycle_bounds import random_case
from tests.support.random_commands import random_path
from tests.support.stepper import step_through
from workloads.load import load


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


@pytest.mark.parametrize("first", range(500, 504, 4))
def test_random_programs(first: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(first, first + 4):
        seen += look(*random_case(seed), seed, "exact:5")
    assert seen["planned"] > seen["refused"]
    assert seen["striped"]


@pytest.mark.parametrize(
    ("name", "on", "part"),
    [("workloads/tiny_cnn.yaml", "luna-arcs", 4)],
)
def test_networks_with_a_part_of_the_memory(name: str, on: str, part: int) -> None:
    """Of the smallest size without spilling; the bound holds, too."""
    program, chip = reuse(load(name), "all"), load_chip(on)
    memory = chip.shared_memory
    size = (smallest_capacity(PlanRequest(program, chip)) or 0) // part
    chip = replace(chip, shared_memory=replace(memory, bytes=size // memory.alignment * memory.alignment))
    planned = plan(PlanRequest(program, chip, "large-first", "exact:5"))
    assert planned.solved.peak <= chip.shared_memory.bytes
    assert simulate(planned.commands, chip).cycles >= time_bound(program, chip, {}).cycles
    assert verify(program, planned.commands, chip) == ()
