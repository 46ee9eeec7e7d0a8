"""Random programs of which some ops read their weights in place, or all, on chips that allow it or always do.

For each seed the plan passes the independent verifier, computes what the network computes on real bytes along
paths through every arm, and no run is faster than the lower bound. Every third seed has cascades, which the
search ``cascades`` checks; some have several cores, and where the seed leaves the choice to the planner, it
makes it.
"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from random import Random

from chipmodel.bounds.time_bound import time_bound
from chipmodel.cascades.rewrite import CascadeChoice
from chipmodel.errors import ChipmodelError
from chipmodel.execute.check import PlanRun, covering_paths
from chipmodel.hardware.chip import Chip, InPlaceReading, InPlaceWish
from chipmodel.model.program import Program
from chipmodel.pipeline.plan_export import plan_of
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.weights_in_place import in_place_ops, with_weights_in_place
from chipmodel.verify.plan_file import verify_file
from tests.fuzz import cascades, execution
from tests.fuzz.fuzzer import Fault

COUNT = 2_000
EVERY_CASCADED = 3
"""One in so many seeds has cascades."""


def reading(chip: Chip, random: Random) -> Chip:
    """``chip`` with a rate from far below that of its transfers to far above."""
    rate = Fraction(random.choice((0, 1, 1, 8, 64)), random.choice((1, 4)))
    latency = random.choice((0, 0, 3, 40))
    wish: InPlaceWish = random.choice(("allowed", "allowed", "always"))
    return replace(chip, in_place=InPlaceReading(wish, rate, latency))


def placed(program: Program, chip: Chip, random: Random) -> Program:
    """Random ops in place; one in a few seeds leaves the choice to the planner."""
    names = [op.name for op in program.ops()]
    chosen = [] if random.random() < 0.25 else [name for name in names if random.random() < 0.6]
    return with_weights_in_place(program, chip, chosen)


def cascaded_case(seed: int) -> tuple[Program, tuple[CascadeChoice, ...], PlanRequest]:
    """A case of the search ``cascades`` with some ops in place."""
    program, choices, request = cascades.random_case(seed)
    random = Random(f"in place {seed}")
    chip = reading(request.chip, random)
    program = placed(program, chip, random)
    loaded = {op.name for op in program.ops() if op.weights}
    kept = tuple(replace(each, reloaded=tuple(n for n in each.reloaded if n in loaded)) for each in choices)
    by_name = {op.name: op for op in program.ops()}
    possible = (each for each in kept if cascades.possible(program, [by_name[n] for n in each.ops], each))
    return program, tuple(possible), replace(request, program=program, chip=chip)


def check(seed: int) -> Counter[str]:
    """Plan and run the program of that seed. Raises Fault where something does not hold."""
    if seed % EVERY_CASCADED == EVERY_CASCADED - 1:
        return cascades.check(seed, cascaded_case)
    program, chip, packer, streamer = execution.random_case(seed)
    random = Random(f"in place {seed}")
    chip = reading(chip, random)
    program = placed(program, chip, random)
    where = f"seed {seed} ({packer}, {streamer}, in place {chip.in_place.wish})"
    try:
        result = run(PlanRequest(program, chip, packer, streamer), {})
    except ChipmodelError:
        return Counter(refused=1)
    if not result.fits:
        return Counter(refused=1)
    in_place = in_place_ops(result.program)
    seen = Counter(planned=1, in_place=len(in_place), chosen=bool(in_place) and not in_place_ops(program))
    plan = plan_of(result, "tiny", ())
    faults = verify_file(result.program, plan, chip)
    if faults:
        raise Fault(f"{where}: {faults[0]}")
    bound = time_bound(result.program, chip, result.trace.path)
    if result.trace.cycles < bound.cycles:
        raise Fault(f"{where}: {result.trace.cycles} cycles, bound {bound.cycles}")
    streams = tuple(core.commands for core in plan.cores) or (plan.commands,)
    executed = PlanRun(result.program, streams, chip.shared_memory.bytes)
    return seen + execution.computed(executed, covering_paths(executed), seed, where)
