"""Random programs on random chips through the whole way: every plan is checked by code that shares
nothing with the planners, and the event-driven simulator equals the one that counts every cycle."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from chipmodel.bounds.time_bound import lower_bound_cycles
from chipmodel.chip.chip import Chip
from chipmodel.errors import DoesNotFit
from chipmodel.machine.simulate import simulate
from chipmodel.machine.stepper import step_through
from chipmodel.model.commands import resolve_path
from chipmodel.model.program import Program
from chipmodel.passes.validate import validate_program
from chipmodel.pipeline.single_core import plan
from chipmodel.verify.commands import verify
from dma.stream import streamers
from tests.random_commands import random_path
from tests.support import tiny_chip
from workloads.build.random_programs import Shape, random_program

PACKERS = ("naive", "sequential", "large-first", "short-first")
STREAMERS = (*streamers(), "weight-pipeline:7", "prefetch-k:3")
BATCHES = 12
BATCH = 25


def random_case(seed: int) -> tuple[Program, Chip, str, str, Random]:
    random = Random(seed)
    program = random_program(seed, Shape(ops=5, depth=seed % 3, side=5, channels=6))
    return program, tiny_chip(random), random.choice(PACKERS), random.choice(STREAMERS), random


@pytest.mark.parametrize("batch", range(BATCHES))
def test_every_plan_is_correct_and_both_simulators_agree(batch: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        program, chip, packer, streamer, random = random_case(seed)
        validate_program(program)
        try:
            planned = plan(program, chip, packer, streamer)
        except DoesNotFit:
            seen["refused"] += 1
            continue
        seen["planned"] += 1
        seen["striped"] += bool(planned.schedule.striped)
        seen["spilled"] += bool(planned.schedule.spilled)
        fits = planned.solved.peak <= chip.shared_memory.bytes
        if fits:
            faults = verify(program, planned.commands, chip)
            assert not faults, (seed, packer, streamer, faults)
        assert planned.solved.peak >= planned.solved.lower_bound
        choices = random_path(planned.commands, random)
        trace = simulate(planned.commands, chip, choices)
        assert trace == step_through(planned.commands, chip, choices), seed
        assert not trace.unaccounted()
        path = resolve_path(planned.commands, choices)
        assert trace.cycles >= lower_bound_cycles(program, chip, path), seed
    assert seen["planned"] > seen["refused"]
    assert seen["striped"]
    assert seen["spilled"]
