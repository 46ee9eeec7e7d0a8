"""Weights in pieces: where they are cut, and that random programs run with them."""

import json
from random import Random
from typing import Any

import pytest

from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program
from chipmodel.passes.liveness import liveness
from chipmodel.passes.lower import lower
from chipmodel.pipeline.plan_export import plan_of_planned
from chipmodel.pipeline.request import Planned
from chipmodel.plan_file.text import read_plan, write_plan
from chipmodel.rewrites.in_place import reuse
from chipmodel.verify.plan_file import verify_file
from dma.schedule.buffer_names import with_readable_names
from dma.schedule.build import StreamRequest, build_schedule
from dma.streamers.idle_time import idle_pieces
from dma.streamers.prefetch_greedy import STREAMERS
from dma.streamers.weight_region import StepChain, WeightSlice
from solvers.registry import solve
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.random_programs import TreeShape, random_program
from tests.support.stepper import step_through


def sizes(chain: StepChain, unit: int) -> list[int]:
    """The bytes of the pieces of its one slice, a byte a cycle."""
    return [piece.bytes for piece in idle_pieces(chain, [unit], lambda size: size)]


def test_a_slice_is_cut_where_the_room_grows() -> None:
    """Of 100 B for step 3, 30 fit at once, 20 more after step 0, 15 more after step 1, and the rest at 3."""
    chain = StepChain(0, (9, 9, 9, 9), (30, 50, 65, 0), (WeightSlice(100, 3, 3, 40),), ())
    assert sizes(chain, 1) == [30, 20, 15, 35]
    assert sizes(chain, 8) == [24, 24, 16, 36]
    assert sizes(chain, 100) == [100]


def planned(seed: int) -> tuple[Program, Chip, Planned] | None:
    """A random program, and its plan in little memory; None where no weights come in pieces."""
    program = reuse(random_program(seed, TreeShape(ops=7, depth=seed % 2, side=4, channels=96)), "all")
    chip = with_memory(LUNA_LIKE, Random(seed).randint(40, 200) * 96)
    request = StreamRequest(program, chip, chip.shared_memory.bytes)
    try:
        schedule = build_schedule(request, STREAMERS[0], {})
    except DoesNotFit:
        return None
    schedule = with_readable_names(program, schedule)
    problem = liveness(schedule, chip)
    solved = solve(problem, "large-first")
    chip = with_memory(chip, solved.peak)
    return (program, chip, Planned(program, schedule, problem, solved, ())) if problem.colocated else None


CASES = [case for seed in range(150) if (case := planned(seed))]


def document(chip: Chip, found: Planned) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(write_plan(plan_of_planned(found, chip, chip.name, ())))
    return result


def faults(program: Program, chip: Chip, text: object) -> tuple[str, ...]:
    return verify_file(program, read_plan(json.dumps(text), "plan.json"), chip)


@pytest.mark.slow
def test_random_programs_run_with_weights_in_pieces() -> None:
    """The verifier and both simulators agree on plans with pieces: the slow one on those of few cycles."""
    stepped = 0
    for program, chip, found in CASES:
        assert faults(program, chip, document(chip, found)) == (), program.name
        commands = lower(found.schedule, found.solved.plan)
        trace = simulate(commands, chip, {})
        if trace.cycles < 50_000:
            assert trace == step_through(commands, chip, {}), program.name
            stepped += 1
    assert stepped > 10
