"""Right plans of many kinds: networks in little SharedMemory, control flow, several cores, steady state."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from random import Random

from chipmodel.chip.chip import Chip
from chipmodel.errors import ChipmodelError
from chipmodel.model.program import Program
from chipmodel.passes.in_place import InPlace, reuse
from chipmodel.passes.op_order import names_in_order
from chipmodel.passes.steady_state import steady
from chipmodel.pipeline.order_search import ordered
from chipmodel.pipeline.plan_export import plan_of
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.plan_file.contents import PlanFile
from solvers.branches.mergers import mergers
from tests.support.chips import LUNA_LIKE, tiny_chip, with_memory
from workloads.build.random_programs import TreeShape, random_program
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
QUICK = ("sync", "ping-pong", "ping-pong-across", "weight-pipeline:7", "prefetch-k:3")
STREAMERS = (*QUICK, "prefetch-greedy", "resident-knapsack")
"""Those that try many schedules plan random trees only."""
PACKERS = ("naive", "sequential", "large-first", "short-first", "greedy-best-fit", "conflict-first")
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


def _random_tree(seed: int, random: Random) -> PlanCase | None:
    shape = TreeShape(ops=random.randint(2, 7), depth=seed % 4, side=random.randint(2, 8), channels=8)
    program, chip = random_program(seed, shape), tiny_chip(random)
    if random.random() < 0.25:
        chip = replace(chip, cores=random.randint(2, 3))
    return _planned(f"seed {seed}: {program.name}", program, chip, STREAMERS, random)


@cache
def _loaded(source: str) -> Program:
    return load(source)


def _planned(
    name: str, program: Program, chip: Chip, streamers: tuple[str, ...], random: Random
) -> PlanCase | None:
    streamer = random.choice(streamers)
    packer = random.choice(PACKERS)
    merge, in_place = random.choice(tuple(mergers())), random.choice(IN_PLACE)
    orders = random.random() < 0.3 and chip.cores == 1
    running = ordered(program, in_place, "least-peak").program if orders else program
    marked = reuse(running, in_place)
    try:
        result = run(PlanRequest(marked, chip, packer, streamer, merge))
    except ChipmodelError:
        return None
    if not result.fit.fits:
        return None
    plan = plan_of(result, chip.name, ())
    plan = replace(plan, order=names_in_order(running)) if orders else plan
    label = f"{name} ({streamer}, {packer}, merge {merge}, in place {in_place}, {chip.cores} cores)"
    return PlanCase(label, program, chip, plan)
