"""Random programs on small chips with one or two further memories, of any rates and latencies.

For each seed the pipeline plans the program; and schedules that have all in Psram get homes and all the moves
that save cycles of the DMA engine, whether or not the run becomes faster, one of them in a memory that is too
small for its homes. All pass the independent
verifier, also after they were written to a file and read again, and compute what the network computes on real
bytes along paths through every arm; both simulators agree event for event, and no run beats a bound.
"""

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from random import Random

from chipmodel.bounds.time_bound import time_bound
from chipmodel.errors import ChipmodelError
from chipmodel.execute.check import PlanRun, covering_paths
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.further_memories import FurtherMemory
from chipmodel.machine.simulate import simulate
from chipmodel.model.commands import DmaMove, DmaStart
from chipmodel.model.program import Program
from chipmodel.passes.lower import lower
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.plan_export import plan_of_planned
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.plan_file.text import read_plan, write_plan
from chipmodel.rewrites.in_place import reuse
from chipmodel.verify.plan_file import verify_file
from dma.schedule.further_memories import with_further_memories
from tests.fuzz import cycle_bounds, execution
from tests.fuzz.fuzzer import Fault
from tests.fuzz.random_trees import random_paths
from tests.support.further_memories import further
from tests.support.random_programs import TreeShape, random_program
from tests.support.stepper import step_through

COUNT = 1_000
LONGEST = 30_000
"""Cycles of a run that is also stepped."""


def random_case(seed: int) -> tuple[Program, Chip, str, str]:
    """A program, a chip with further memories, a packer and a streamer."""
    random = Random(f"further {seed}")
    if seed % 2:
        program, chip = cycle_bounds.random_case(seed)
        packer, streamer = random.choice(cycle_bounds.PACKERS), random.choice(cycle_bounds.STREAMERS)
    else:
        program, chip, packer, streamer = execution.random_case(seed)
    return program, replace(chip, cores=1, memories=further(random)), packer, streamer


def tight_case(seed: int) -> tuple[Planned, Chip] | None:
    """A plan of a long chain of ops, and a chip whose one further memory is quick and has a part of the bytes
    that its homes need, so that some have no room; None where none needs any."""
    random = Random(f"tight {seed}")
    program = reuse(random_program(seed, TreeShape(ops=12, depth=0, side=5)), "none")
    plain = replace(execution.random_case(seed)[1], cores=1, memories=())
    try:
        planned = plan(PlanRequest(program, plain, "large-first", "sync"))
    except ChipmodelError:
        return None
    fast = FurtherMemory("second", 1 << 16, 0, Fraction(64), 0, Fraction(64))
    roomy = replace(plain, memories=(fast,))
    homes = with_further_memories(planned.program, planned.schedule, roomy, moves=False)
    (need,) = replace(planned, schedule=homes).fit(roomy).further
    size = max(64, int(need.bytes * random.choice((0.3, 0.3, 0.5, 0.8))))
    return (planned, replace(plain, memories=(replace(fast, bytes=size),))) if need.bytes else None


def check(seed: int) -> Counter[str]:
    """Plan and run the program of that seed. Raises Fault where something does not hold."""
    program, chip, packer, streamer = random_case(seed)
    where = f"seed {seed} ({packer}, {streamer})"
    cases: list[tuple[Planned, Chip, str]] = []
    tight = tight_case(seed)
    if tight:
        cases.append((_moved(*tight), tight[1], f"seed {seed} (tight)"))
    with suppress(ChipmodelError):
        cases.append((plan(PlanRequest(program, chip, packer, streamer)), chip, where))
        plain = plan(PlanRequest(program, replace(chip, memories=()), packer, streamer))
        cases.append((_moved(plain, chip), chip, f"{where} with moves"))
    seen: Counter[str] = Counter(refused=not cases)
    for planned, used, name in cases:
        seen += _checked(planned, used, seed, name) if planned.fit(used).fits else Counter(refused=1)
    return seen


def _moved(planned: Planned, chip: Chip) -> Planned:
    return replace(planned, schedule=with_further_memories(planned.program, planned.schedule, chip))


def _checked(planned: Planned, chip: Chip, seed: int, where: str) -> Counter[str]:
    commands = lower(planned.schedule, planned.solved.plan)
    written = plan_of_planned(planned, chip, "tiny", ())
    if read_plan(write_plan(written), "plan.json") != written:
        raise Fault(f"{where}: the plan is read as another one")
    faults = verify_file(planned.program, written, chip)
    if faults:
        raise Fault(f"{where}: {faults[0]}")
    seen = Counter(planned=1)
    for command in commands:
        seen["moves"] += isinstance(command, DmaMove)
        seen["further transfers"] += isinstance(command, DmaStart) and bool(command.memory)
    for choices in random_paths(planned.program, planned, Random(seed))[:2]:
        trace = simulate(commands, chip, choices)
        if trace.cycles <= LONGEST and trace != step_through(commands, chip, choices):
            raise Fault(f"{where}: the two simulators differ")
        bounds = [time_bound(planned.program, chip, trace.path)]
        bounds.append(time_bound(planned.program, chip, trace.path, cascades=True))
        least = max(bound.cycles for bound in bounds)
        if trace.cycles < least:
            raise Fault(f"{where}: {trace.cycles} cycles, bound {least}")
        seen["tight"] += trace.cycles == least
    executed = PlanRun(planned.program, (written.commands,), chip.shared_memory.bytes)
    return seen + execution.computed(executed, covering_paths(executed), seed, where)
