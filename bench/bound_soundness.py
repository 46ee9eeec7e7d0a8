"""The bound that no plan beats, held against plans: random programs on random chips, by several streamers.

For each seed one program, with or without in-place reuse, on one chip: any DMA and NPU model, one channel
or more, memories from tight to roomy. Each streamer plans it with a packer, and it runs along random paths.
No run may take fewer cycles than ``time_bound`` with residency says for its path:

    python -m bench.bound_soundness --count 1000
    python -m bench.bound_soundness --first 1000 --count 500 --streamers exact:50
    python -m bench.bound_soundness --zoo --seconds 600      # zoo networks at 1, 1/2 and 1/4 of the memory

It says every plan that beats its bound, and exits with 1 where there is one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from statistics import median

from bench.random_trees import random_paths
from bench.stream_exact import CHIPS, NETWORKS, PARTS
from chipmodel.bound import time_bound
from chipmodel.chip import Banks, Channels, Chip, Cpu, Dma, Psram, Route
from chipmodel.chip_file import load_chip
from chipmodel.errors import DoesNotFit
from chipmodel.in_place import CHOICES, reuse
from chipmodel.npu_luna_parameters import LUNA_ARCS
from chipmodel.pipeline import plan, smallest_capacity
from chipmodel.program import Program, ops
from chipmodel.simulate import simulate
from tests.support import tiny_chip
from workloads.generator import Shape, random_program
from workloads.zoo import build

STREAMERS = ("sync", "ping-pong", "prefetch-greedy", "ping-pong-across", "resident-knapsack", "exact:20")
PACKERS = ("large-first", "short-first", "greedy-best-fit")


@dataclass(frozen=True, slots=True)
class Run:
    """One plan's run along a path."""

    case: str
    streamer: str
    path: Mapping[str, str]
    cycles: int
    bound: int
    joint: bool
    """Whether the bound of residency is the one that decides."""

    @property
    def beaten(self) -> bool:
        return self.cycles < self.bound

    def __str__(self) -> str:
        return f"{self.case}, {self.streamer}, {dict(self.path)}: {self.cycles} cycles, bound {self.bound}"


def random_case(seed: int) -> tuple[Program, Chip]:
    """A program of small ops, and a chip on which it may fit."""
    random = Random(seed)
    shape = Shape(
        ops=random.choice((3, 5, 8)),
        depth=random.choice((0, 0, 1, 2)),
        side=random.choice((3, 5, 8)),
        channels=random.choice((4, 8, 16)),
    )
    program = reuse(random_program(seed, shape), random.choice(CHOICES))
    chip = tiny_chip(random)
    if random.random() < 0.6:
        chip = _plain(random, chip)
    size = max(64, int(_largest(program) * random.choice((0.3, 0.5, 0.7, 0.9, 1.2, 2))))
    return program, replace(chip, shared_memory=replace(chip.shared_memory, bytes=size))


def _largest(program: Program) -> int:
    """Bytes of the op that takes most."""
    return max(
        sum(program.tensors[n].bytes for n in {*op.inputs, *op.outputs}) + program.block_bytes(op)
        for op in ops(program.body)
    )


def _plain(random: Random, chip: Chip) -> Chip:
    """Where nothing contends and little is lost, so that plans come near to the bound."""
    clock = Fraction(1)
    route = Route(random.choice((0, 0, 3, 20)), 8, Fraction(random.choice((0, 0, 8))))
    return replace(
        chip,
        core_mhz=Fraction(random.choice((1, 2, 5))),
        shared_memory=replace(chip.shared_memory, banks=None, alignment=random.choice((1, 4))),
        psram=Psram(1 << 20, clock, Fraction(random.choice((1, 2, 4)))),
        dma=Dma(route, route),
        cpu=Cpu(),
    )


def random_runs(seed: int, streamers: Sequence[str] = STREAMERS) -> Iterator[Run]:
    """All streamers on one case."""
    program, chip = random_case(seed)
    random = Random(seed)
    bounds: dict[tuple[tuple[str, str], ...], tuple[int, bool]] = {}
    for streamer in streamers:
        try:
            planned = plan(program, chip, random.choice(PACKERS), streamer)
        except DoesNotFit:
            continue
        if planned.solved.peak > chip.shared_memory.bytes:
            continue
        for choices in random_paths(program, planned, random):
            trace = simulate(planned.commands, chip, choices)
            key = tuple(sorted(trace.path.items()))
            if key not in bounds:
                bounds[key] = _bounds(program, chip, trace.path)
            yield Run(f"seed {seed}", streamer, trace.path, trace.cycles, *bounds[key])
            if not trace.path:
                break


def _bounds(program: Program, chip: Chip, path: Mapping[str, str]) -> tuple[int, bool]:
    bound = time_bound(program, chip, path, True).cycles
    return bound, bound > time_bound(program, chip, path).cycles
