"""Random programs whose plans run on real bytes and must compute what the network computes.

The programs have branches, loops, slices, concats in place, cascades and many inferences; the chips are
small, so that tensors are spilled and ops run in stripes, and some have several cores. For each seed the plan
runs along paths through every arm, and its outputs equal the plain run's.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from random import Random

from chipmodel.cascades.rewrite import with_cascades as cascaded
from chipmodel.errors import BadInput, DoesNotFit
from chipmodel.execute.check import PlanRun, check_path, covering_paths
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Program
from chipmodel.model.tree import walk
from chipmodel.passes.run_length import refuse_skipped_results
from chipmodel.passes.validate import validate_program
from chipmodel.pipeline.multicore import plan_cores
from chipmodel.pipeline.partition import balanced
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.steady_state import steady
from dma.stream import streamers
from tests.fuzz import cascades
from tests.fuzz.fuzzer import Fault
from tests.support.chips import tiny_chip, with_memory
from tests.support.random_commands import random_path
from tests.support.random_programs import TreeShape, random_program
from tests.workloads.build.test_loop_tensors import LoopTree
from workloads.build.builder import ProgramBuilder

COUNT = 2_000
PACKERS = ("naive", "sequential", "large-first", "short-first")
STREAMERS = (*streamers(), "weight-pipeline:7", "prefetch-k:3", "ping-pong:wait=early")
EVERY_CASCADED = 6
"""One in so many seeds has cascades."""
MEMORIES = (96, 160, 240, 400, 800, 3200)


def random_concats(seed: int) -> Program:
    """A network whose convolutions are joined by channels or rows, also several times over."""
    random = Random(seed)
    net = ProgramBuilder(f"concats-{seed}")
    side = random.choice((2, 3, 4))
    values = [net.input("x", (1, random.randint(1, 4), side, side))]
    for number in range(random.randint(2, 5)):
        pair = [random.choice(values), net.conv(f"c{number}", values[-1], random.randint(1, 4), 3, pad=1)]
        if random.random() < 0.3:
            pair.append(net.elementwise("relu", f"r{number}", [random.choice(values)]))
        values += pair[1:]
        if random.random() < 0.8:
            channels = sum(value.shape[1] for value in pair)
            values.append(net.vector("concat", f"j{number}", pair, (1, channels, side, side), rows=side))
    net.output(net.conv("last", values[-1], 2, 1))
    return net.build()


def _tree(seed: int, random: Random) -> Program:
    return random_program(seed, TreeShape(ops=4, depth=seed % 3, side=5, channels=6))


def _many(seed: int, random: Random) -> Program:
    return steady(random_program(seed, TreeShape(ops=3, depth=seed % 2, side=4)), random.randint(2, 5))


def _slices(seed: int, random: Random) -> Program:
    return LoopTree(seed).program()


def _concats(seed: int, random: Random) -> Program:
    return random_concats(seed)


PROGRAMS: tuple[Callable[[int, Random], Program], ...] = (_tree, _many, _slices, _concats, _tree)
"""Kinds of programs, in turn; those of the last kind have several cores."""


def random_case(seed: int) -> tuple[Program, Chip, str, str]:
    """A program, a chip, a packer and a streamer."""
    random = Random(seed)
    kind = seed % len(PROGRAMS)
    chip = with_memory(tiny_chip(random), random.choice(MEMORIES))
    if kind == len(PROGRAMS) - 1:
        chip = replace(chip, cores=random.choice((2, 3)))
    streamer = random.choice(STREAMERS)
    streamer = "exact:10" if streamer == "exact" else streamer
    program = reuse(PROGRAMS[kind](seed, random), random.choice(("all", "all", "none")))
    validate_program(program)
    return program, chip, random.choice(PACKERS), streamer


def planned(program: Program, chip: Chip, packer: str, streamer: str) -> PlanRun | None:
    """A plan for one core or several; None for one that does not fit."""
    request = PlanRequest(program, chip, packer, streamer)
    if chip.cores == 1:
        made = plan(request)
        fits = made.solved.peak <= chip.shared_memory.bytes
        return PlanRun(made.program, (made.commands,), chip.shared_memory.bytes) if fits else None
    cores = plan_cores(request, balanced(program, chip))
    if any(core.solved.peak > chip.shared_memory.bytes for core in cores):
        return None
    return PlanRun(program, tuple(core.commands for core in cores), chip.shared_memory.bytes)


def with_cascades(seed: int) -> tuple[PlanRun | None, str]:
    """A plan with cascades at random places, and its planners; None for one that does not fit."""
    program, choices, request = cascades.random_case(seed)
    planners = f"{request.packer}, {request.streamer}, {len(choices)} cascades"
    found = cascades.planned_case(cascaded(program, choices), request)
    if found is None:
        return None, planners
    request, made = found
    size = request.chip.shared_memory.bytes
    members = tuple(each.members for each in made.schedule.cascades)
    return PlanRun(program, (made.commands,), size, members), planners


def without_cascades(seed: int) -> tuple[PlanRun | None, str]:
    """A plan of the program of that seed, and its planners; None for one that does not fit."""
    program, chip, packer, streamer = random_case(seed)
    try:
        return planned(program, chip, packer, streamer), f"{packer}, {streamer}"
    except DoesNotFit:
        return None, ""


def check(seed: int) -> Counter[str]:
    """Plan and run the program of that seed. Raises Fault where it computes something else."""
    cascaded = seed % EVERY_CASCADED == EVERY_CASCADED - 1
    run, planners = with_cascades(seed) if cascaded else without_cascades(seed)
    if run is None:
        return Counter(refused=1)
    steps = tuple(command for stream in run.streams for command in walk(stream))
    paths = [*covering_paths(run), random_path(steps, Random(seed))]
    seen = Counter(planned=1, cascades=len(run.cascades))
    return seen + computed(run, paths, seed, f"seed {seed} ({planners})")


def computed(run: PlanRun, paths: Iterable[Mapping[str, str]], seed: int, where: str) -> Counter[str]:
    """Run a plan along those of ``paths`` on which every result that is read is made. Raises Fault, which
    says ``where``, if it computes something else."""
    seen: Counter[str] = Counter()
    for path in paths:
        try:
            refuse_skipped_results(run.program, path)
        except BadInput:
            continue
        verdict = check_path(run, path, seed)
        if verdict.faults:
            raise Fault(f"{where}, {dict(path)}: {verdict.faults[0]}")
        seen += Counter(paths=1, steps=verdict.steps, transfers=verdict.transfers)
        seen += Counter(compared_bytes=verdict.compared_bytes)
    return seen
