"""Random programs on random chips, through planning, verification and both simulators.

For each seed the plan passes the independent verifier, the event-driven simulator's trace equals the
stepper's event for event, and neither cycles nor peak are below their lower bounds.
"""

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program
from chipmodel.passes.validate import validate_program
from chipmodel.pipeline.finer_cuts import finer_programs
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.verify.commands import verify
from dma.stream import streamers
from tests.fuzz.fuzzer import Check, Fault
from tests.support.bounds import lower_bound_cycles
from tests.support.chips import tiny_chip
from tests.support.random_commands import random_path
from tests.support.random_programs import TreeShape, random_program
from tests.support.stepper import step_through

COUNT = 20_000
PACKERS = ("naive", "sequential", "large-first", "short-first")
STREAMERS = (*streamers(), "weight-pipeline:7", "prefetch-k:3", "ping-pong:wait=early")


@dataclass(frozen=True, slots=True)
class Size:
    """How much work one seed may be."""

    exact: str = "exact"
    """The exact streamer, with its limit of nodes."""
    exact_ops: int = 5
    """Ops in each body of the programs that it plans."""
    longest_stepped: int = 1_000_000
    """Cycles of the longest run that the stepper repeats cycle by cycle."""


FULL = Size()
SMALL = Size("exact:10", 2, 20_000)
"""For the test suite."""


def random_case(seed: int, size: Size = FULL) -> tuple[Program, Chip, str, str, Random]:
    """A program, a chip, a packer and a streamer; and the source of further choices."""
    random = Random(seed)
    chip, packer, streamer = tiny_chip(random), random.choice(PACKERS), random.choice(STREAMERS)
    exact = streamer == "exact"
    ops = size.exact_ops if exact else FULL.exact_ops
    program = random_program(seed, TreeShape(ops=ops, depth=seed % 3, side=5, channels=6))
    validate_program(program)
    return program, chip, packer, size.exact if exact else streamer, random


def check(seed: int, size: Size = FULL) -> Counter[str]:
    """Plan and run the program of that seed. Raises Fault where something does not hold."""
    program, chip, packer, streamer, random = random_case(seed, size)
    where = f"seed {seed} ({packer}, {streamer})"
    try:
        planned = plan(PlanRequest(program, chip, packer, streamer))
    except DoesNotFit:
        return Counter(refused=1)
    seen = Counter(planned=1, striped=bool(planned.schedule.striped), spilled=bool(planned.schedule.spilled))
    if planned.solved.peak <= chip.shared_memory.bytes:
        faults = verify(program, planned.commands, chip)
        # A plan in which large ops are cut finer is as right.
        if faults and all(verify(finer, planned.commands, chip) for finer in finer_programs(program, chip)):
            raise Fault(f"{where}: {faults[0]}")
        seen["verified"] += 1
    if planned.solved.peak < planned.solved.lower_bound:
        raise Fault(f"{where}: the peak is below its lower bound")
    choices = random_path(planned.commands, random)
    trace = simulate(planned.commands, chip, choices)
    if trace.cycles < lower_bound_cycles(program, chip, trace.path):
        raise Fault(f"{where}: faster than the lower bound")
    if trace.cycles <= size.longest_stepped:
        seen["stepped"] += 1
        if trace != step_through(planned.commands, chip, choices):
            raise Fault(f"{where}: the two simulators differ")
    return seen + Counter(cycles=trace.cycles, events=len(trace.events))


def search(parser: ArgumentParser, arguments: Sequence[str]) -> Check:
    parser.add_argument("--exact", default="exact", help="the exact streamer, such as 'exact:20'")
    given = parser.parse_args(arguments)
    size = replace(FULL, exact=given.exact)
    return lambda seed: check(seed, size)
