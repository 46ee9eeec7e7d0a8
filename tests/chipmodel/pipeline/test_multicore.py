"""Random programs on chips of one to four cores, whoever runs what: every plan is checked by code that shares
nothing with the planners, both simulators agree event for event, no run beats the bound, and what one core
makes for another is in Psram before it is loaded."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from chipmodel.answers.result import CorePlan
from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.machine.simulate import simulate_cores
from chipmodel.model.commands import Command, DmaStart
from chipmodel.model.core_parts import same_core_groups, split, uses
from chipmodel.model.program import Program
from chipmodel.model.trace import Trace
from chipmodel.model.tree import walk
from chipmodel.passes.lower import lower
from chipmodel.passes.validate import validate_program
from chipmodel.pipeline.multicore import plan_cores
from chipmodel.pipeline.psram_of_cores import one_psram
from chipmodel.pipeline.request import PlanRequest
from chipmodel.verify.cores import verify_cores
from tests.support.bounds import lower_bound_cycles
from tests.support.chips import tiny_chip
from tests.support.random_commands import random_path
from tests.support.random_programs import TreeShape, random_program
from tests.support.stepper import step_through_cores

PACKERS = ("naive", "sequential", "large-first", "short-first")
STREAMERS = ("sync", "ping-pong", "ping-pong-across", "weight-pipeline")
BATCHES = 1
BATCH = 25
LONGEST_STEPPED = 15_000
"""Cycles of the longest run that the stepper repeats."""


def random_case(seed: int) -> tuple[Program, Chip, dict[str, int], Random]:
    """A program, a chip with 1 to 4 cores, and a core for each node: any that is allowed."""
    random = Random(seed)
    program = random_program(seed, TreeShape(ops=6, depth=seed % 3, side=5, channels=6))
    chip = replace(tiny_chip(random), cores=random.randint(1, 4))
    core_of: dict[str, int] = {}
    for group in same_core_groups(program, uses(program)):
        core = random.randrange(chip.cores)
        core_of |= {program.body[index].name: core for index in group}
    return program, chip, core_of, random


def streams(plans: tuple[CorePlan, ...]) -> list[tuple[Command, ...]]:
    return [p.commands for p in plans]


def made_before_loaded(plans: tuple[CorePlan, ...], trace: Trace) -> int:
    """Loads of other cores' tensors, each of which begins after the last store of its tensor."""
    moves = [e for e in trace.events if e.unit == "dma" and not e.cause]
    names = {
        (p.core, c.name): c.at.part.name
        for p in plans
        for c in walk(p.commands)
        if isinstance(c, DmaStart) and not c.at.part.weights
    }
    loads = 0
    for event in moves:
        tensor = names.get((event.core, event.name), "")
        maker = plans[event.core].part.imports.get(tensor)
        if event.kind != "load tensor" or maker is None:
            continue
        loads += 1
        stores = [e for e in moves if e.core == maker and e.kind == "store tensor"]
        assert all(e.stop <= event.start for e in stores if names[maker, e.name] == tensor)
    return loads


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_every_plan_is_correct_and_both_simulators_agree(batch: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        program, chip, core_of, random = random_case(seed)
        for part in split(program, core_of, chip.cores):
            validate_program(part.program)
        try:
            plans = plan_cores(
                PlanRequest(program, chip, random.choice(PACKERS), random.choice(STREAMERS)), core_of
            )
        except DoesNotFit:
            seen["refused"] += 1
            continue
        if max(p.solved.peak for p in plans) <= chip.shared_memory.bytes:
            assert verify_cores(program, streams(plans), chip) == (), seed
            seen["verified"] += 1
            packed = one_psram(program, [p.part for p in plans], [p.schedule for p in plans], capacity=1)
            tight = [lower(s, p.solved.plan, p.part) for s, p in zip(packed, plans, strict=True)]
            assert verify_cores(program, tight, chip) == (), seed
            seen["tight"] += packed != [p.schedule for p in plans]
        path = random_path(tuple(c for p in plans for c in p.commands), random)
        trace = simulate_cores(streams(plans), chip, path)
        if trace.cycles <= LONGEST_STEPPED:
            seen["stepped"] += 1
            assert trace == step_through_cores(streams(plans), chip, path), seed
        assert trace.cores == chip.cores
        assert not trace.unaccounted()
        assert trace.cycles >= lower_bound_cycles(program, chip, trace.path), seed
        seen["crossed"] += made_before_loaded(plans, trace)
        seen["waited"] += trace.stalls("npu")["core"]
        seen["spilled"] += any(p.schedule.spilled for p in plans)
        seen["striped"] += any(p.schedule.striped for p in plans)
    assert seen["verified"] > 10
    assert seen["stepped"] > 10
    assert seen["crossed"] > 5
    assert seen["tight"] > 2
    assert seen["waited"] > 1000
    assert seen["spilled"]
    assert seen["striped"]
