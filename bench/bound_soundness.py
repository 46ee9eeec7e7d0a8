"""The bound that no plan beats, held against plans: random programs on random chips, by several streamers.

For each seed one program, with or without in-place reuse, on one chip: any DMA and NPU model, one channel
or more, memories from tight to roomy. Each streamer plans it with a packer, and it runs along random paths.
No run may take fewer cycles than ``time_bound`` with residency says for its path:

    python -m bench.bound_soundness --count 1000
    python -m bench.bound_soundness --first 1000 --count 500 --streamers exact:50
    python -m bench.bound_soundness --zoo      # networks, three chips, 1, 1/2 and 1/4 of the memory

It says every plan that beats its bound, and exits with 1 where there is one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from random import Random
from statistics import median

from bench.random_trees import random_paths
from bench.stream_exact import CHIPS, PARTS, ZOO
from chipmodel.bounds.time_bound import time_bound
from chipmodel.chip.chip import Chip, Cpu, Dma, Psram, Route
from chipmodel.chip.chip_file import load_chip
from chipmodel.errors import DoesNotFit
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program, ops
from chipmodel.npu.cycles import op_cycles
from chipmodel.passes.in_place import CHOICES, reuse
from chipmodel.pipeline.single_core import plan, smallest_capacity
from tests.support import tiny_chip
from workloads.build.random_programs import TreeShape, random_program
from workloads.load import load

STREAMERS = ("sync", "ping-pong", "prefetch-greedy", "ping-pong-across", "resident-knapsack", "exact:20")
PACKERS = ("large-first", "short-first", "greedy-best-fit")
MOST_PATHS = 2


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
    shape = TreeShape(
        ops=random.choice((2, 3, 5)),
        depth=random.choice((0, 0, 1, 2)),
        side=random.choice((3, 5, 8)),
        channels=random.choice((4, 8, 16)),
    )
    program = reuse(random_program(seed, shape), random.choice(CHOICES))
    chip = tiny_chip(random)
    if random.random() < 0.6:
        chip = _plain(random, chip, program)
    size = max(64, int(_largest(program) * random.choice((0.3, 0.5, 0.7, 0.9, 1.2, 2))))
    return program, replace(chip, shared_memory=replace(chip.shared_memory, bytes=size))


def _largest(program: Program) -> int:
    """Bytes of the op that takes most."""
    every = (
        sum(program.tensors[n].bytes for n in {*op.inputs, *op.outputs}) + program.block_bytes(op)
        for op in ops(program.body)
    )
    return max(every, default=0)


def _plain(random: Random, chip: Chip, program: Program) -> Chip:
    """Where nothing contends and NPU and DMA engine have about as much to do, so that plans come near to the
    bound."""
    route = Route(random.choice((0, 0, 3, 20)), 8, Fraction(random.choice((0, 0, 8))))
    every = list(ops(program.body))
    computed = sum(op_cycles(chip.npu, op, op.work.rows, op.work.channels) for op in every)
    moved = sum(program.block_bytes(op) for op in every) + sum(t.bytes for t in program.tensors.values())
    return replace(
        chip,
        core_mhz=max(Fraction(1), Fraction(computed, max(1, moved)) * random.choice((1, 2, 4))),
        shared_memory=replace(chip.shared_memory, banks=None, alignment=random.choice((1, 4))),
        psram=Psram(1 << 20, Fraction(1), Fraction(random.choice((1, 2, 4)))),
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
        for choices in random_paths(program, planned, random)[:MOST_PATHS]:
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


def zoo_runs(networks: Sequence[str], streamer: str) -> Iterator[Run]:
    """Networks on all chips, with the least SharedMemory at which ping-pong spills nothing, a half and a
    quarter of it."""
    for network in networks:
        program = reuse(load(f"zoo:{network}"), "all")
        for name in CHIPS:
            chip = load_chip(name)
            memory = chip.shared_memory
            size = smallest_capacity(program, chip, "large-first", "ping-pong") or 0
            for part in PARTS:
                bytes_ = size // part // memory.alignment * memory.alignment
                small = replace(chip, shared_memory=replace(memory, bytes=bytes_))
                yield from _zoo_run(f"{network} on {name}, {bytes_:,} B", program, small, streamer)


def _zoo_run(case: str, program: Program, chip: Chip, streamer: str) -> Iterator[Run]:
    try:
        planned = plan(program, chip, "large-first", streamer)
    except DoesNotFit:
        return
    if planned.solved.peak <= chip.shared_memory.bytes:
        cycles = simulate(planned.commands, chip).cycles
        yield Run(case, streamer, {}, cycles, *_bounds(program, chip, {}))


@dataclass
class Tally:
    """What has been seen."""

    counts: Counter[str] = field(default_factory=Counter[str])
    gaps: list[float] = field(default_factory=list[float])
    beaten: list[Run] = field(default_factory=list[Run])

    def add(self, run: Run) -> None:
        self.counts.update(runs=1, joint=run.joint, met=run.cycles == run.bound)
        self.gaps.append(run.cycles / max(1, run.bound) - 1)
        if run.beaten:
            self.beaten.append(run)
            print(f"BEATEN: {run}", flush=True)

    def __str__(self) -> str:
        gap = median(self.gaps) if self.gaps else 0.0
        return (
            f"{self.counts['runs']:,} runs, the bound decided by residency on {self.counts['joint']:,}, met "
            f"by {self.counts['met']:,}, median {gap:.1%} above it; beaten by {len(self.beaten)}"
        )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, default=300, help="programs")
    parser.add_argument("--streamers", default=",".join(STREAMERS))
    parser.add_argument("--zoo", action="store_true", help="networks on three chips instead, by exact")
    parser.add_argument("--networks", default=",".join(ZOO), help="of the zoo")
    parser.add_argument("--cpu-seconds", type=float, default=3600, help="stop after so many")
    given = parser.parse_args(arguments)
    began, tally, done = time.process_time(), Tally(), 0
    streamers = given.streamers.split(",")
    cases: Iterator[Iterator[Run]] = (
        random_runs(seed, streamers) for seed in range(given.first, given.first + given.count)
    )
    if given.zoo:
        cases = (zoo_runs((network,), "exact") for network in given.networks.split(","))
    for runs in cases:
        if time.process_time() - began > given.cpu_seconds:
            break
        done += 1
        for run in runs:
            tally.add(run)
            if given.zoo:
                print(f"{run}, {run.cycles / run.bound - 1:.2%} above it", flush=True)
    what = "networks" if given.zoo else f"programs from seed {given.first:,} on"
    print(f"{done:,} {what}: {tally}; {time.process_time() - began:,.0f} s of CPU")
    return bool(tally.beaten)


if __name__ == "__main__":
    sys.exit(main())
