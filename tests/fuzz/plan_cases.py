"""Right plans of many kinds: networks in little SharedMemory, control flow, several cores, steady state, and
cascades in all of these."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from random import Random

from chipmodel.errors import ChipmodelError
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Program
from chipmodel.pipeline.choices import CASCADE_OFF
from chipmodel.pipeline.order_search import ordered
from chipmodel.pipeline.plan_export import plan_of
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.plan_file.contents import PlanFile
from chipmodel.rewrites.in_place import InPlace, reuse
from chipmodel.rewrites.op_order import names_in_order
from chipmodel.rewrites.steady_state import steady
from solvers.branches.mergers import mergers
from tests.fuzz.cascades import TRIES, random_choices
from tests.fuzz.weights_in_place import reading
from tests.support.chips import LUNA_LIKE, tiny_chip, with_memory
from tests.support.further_memories import further
from tests.support.random_images import ImageShape, random_images
from tests.support.random_programs import TreeShape, random_program
from workloads.load import load

NETWORKS: Mapping[str, tuple[int, ...]] = {
    "workloads/branches.yaml": (6, 12, 64),
    "workloads/decoder_loop.yaml": (16, 64),
    "workloads/early_exit.yaml": (8, 24, 64),
    "workloads/spoken_words.yaml": (8, 16, 64),
    "workloads/tiny_cnn.yaml": (6, 12, 40),
    "workloads/two_cores.yaml": (6, 16),
    "zoo:branchynet": (16, 48),
    "zoo:denoise": (8, 32),
    "zoo:ds_cnn": (12, 20, 48),
    "zoo:gru_decoder": (16, 48),
    "zoo:lstm_decoder": (16, 48),
    "zoo:resnet8": (24, 48, 96),
    "zoo:wakeword": (8, 32),
}
"""Sizes of SharedMemory in KiB for each network: from such that ops run in stripes to such that all fit."""
CASCADED: Mapping[str, int] = {
    "workloads/early_exit.yaml": 8,
    "workloads/tiny_cnn.yaml": 6,
    "workloads/two_cores.yaml": 16,
    "zoo:ds_cnn": 12,
    "zoo:resnet8": 16,
}
"""Networks in which cascades are named, and the least SharedMemory in KiB to try first."""
EVERY_CASCADED = 3
"""One in so many seeds has cascades."""
QUICK = ("sync", "ping-pong", "ping-pong-across", "weight-pipeline:7", "prefetch-k:3")
STREAMERS = (*QUICK, "prefetch-greedy", "resident-knapsack")
"""Those that try many schedules plan random trees only."""
PACKERS = ("naive", "sequential", "large-first", "short-first", "greedy-best-fit", "conflict-first")
IN_PLACE_WEIGHTS = 0.25
"""The share of cases in which ops may read their weights in place."""
IN_PLACE: tuple[InPlace, ...] = ("all", "all", "elementwise", "concat", "none")


@dataclass(frozen=True, slots=True)
class PlanCase:
    """A plan that is right for ``program`` on ``chip``; ``name`` says how to make it again."""

    name: str
    program: Program
    chip: Chip
    plan: PlanFile


def plan_case(seed: int) -> PlanCase | None:
    """The plan of that seed, the same each time; None where nothing fits."""
    random = Random(seed)
    if seed % EVERY_CASCADED == EVERY_CASCADED - 1:
        return _cascaded(seed, random)
    if random.random() < 0.5:
        return _random_tree(seed, random)
    return _network(seed, random)


def _network(seed: int, random: Random) -> PlanCase | None:
    source = random.choice(tuple(NETWORKS))
    chip = with_memory(LUNA_LIKE, random.choice(NETWORKS[source]) << 10)
    program = _loaded(source)
    if source == "workloads/two_cores.yaml" or random.random() < 0.2:
        chip = replace(chip, cores=2)
    elif random.random() < 0.25:
        with suppress(ChipmodelError):
            program = steady(program, random.randint(2, 4))
    return _planned(f"seed {seed}: {source}", program, chip, QUICK, random)


def _cascaded(seed: int, random: Random) -> PlanCase | None:
    """A plan with cascades of neighbouring ops, rolling or computed again, on one core or several."""
    source = random.choice((*CASCADED, "", "", "", ""))
    program = _loaded(source) if source else random_images(seed, ImageShape(depth=random.randint(0, 1)))
    chip = tiny_chip(random) if not source else LUNA_LIKE
    chip = replace(chip, npu=replace(chip.npu, rolling_buffers=random.random() < 0.6))
    if source == "workloads/two_cores.yaml" or random.random() < 0.4:
        chip = replace(chip, cores=2)
    elif random.random() < 0.25:
        with suppress(ChipmodelError):
            program = steady(program, random.randint(2, 3))
    program = reuse(program, "all")
    choices = next(filter(None, (tuple(random_choices(program, random)) for _ in range(TRIES))), ())
    named = ",".join(name for choice in choices for name in choice.ops)
    if not named:
        return None
    least = CASCADED.get(source, 1)
    for times in (1, 2, 4, 8, 16, 32):
        enough = with_memory(chip, (least << 10) * times if source else 96 * times)
        name = f"seed {seed}: {program.name} with cascades"
        case = _planned(name, program, enough, QUICK, random, named)
        if case is not None and (case.plan.cascades or any(core.cascades for core in case.plan.cores)):
            return case
    return None


def _random_tree(seed: int, random: Random) -> PlanCase | None:
    shape = TreeShape(ops=random.randint(2, 7), depth=seed % 4, side=random.randint(2, 8), channels=8)
    program, chip = random_program(seed, shape), tiny_chip(random)
    if random.random() < 0.25:
        chip = replace(chip, cores=random.randint(2, 3))
    return _planned(f"seed {seed}: {program.name}", program, chip, STREAMERS, random)


def _reading(name: str, chip: Chip) -> Chip:
    """``chip``, of one case in a few such that ops may read their weights in place."""
    random = Random(f"in place {name}")
    return reading(chip, random) if random.random() < IN_PLACE_WEIGHTS else chip


def _further(name: str, chip: Chip) -> Chip:
    """``chip``, of one case in a few with one core, with further memories."""
    random = Random(f"further {name}")
    return replace(chip, memories=further(random)) if chip.cores == 1 and random.random() < 0.3 else chip


@cache
def _loaded(source: str) -> Program:
    return load(source)


def _planned(
    name: str,
    program: Program,
    chip: Chip,
    streamers: tuple[str, ...],
    random: Random,
    cascade: str = CASCADE_OFF,
) -> PlanCase | None:
    chip = _further(name, _reading(name, chip))
    streamer = random.choice(streamers)
    packer = random.choice(PACKERS)
    merge, in_place = random.choice(tuple(mergers())), random.choice(IN_PLACE)
    orders = random.random() < 0.3 and chip.cores == 1
    running = ordered(program, in_place, "least-peak").program if orders else program
    marked = reuse(running, in_place)
    try:
        result = run(PlanRequest(marked, chip, packer, streamer, merge, cascade=cascade))
    except ChipmodelError:
        return None
    if not result.fit.fits:
        return None
    plan = plan_of(result, chip.name, ())
    plan = replace(plan, order=names_in_order(running)) if orders else plan
    label = f"{name} ({streamer}, {packer}, merge {merge}, in place {in_place}, {chip.cores} cores)"
    return PlanCase(label, program, chip, plan)
