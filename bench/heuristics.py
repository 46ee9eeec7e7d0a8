"""How far every packer's peak is from the proven bound, on networks and on random problems.

Three sets of problems without a capacity: the feed-forward networks of the zoo, as the packer is first asked
on luna-arcs; random buffers (100 to 200 of them, three densities); and zero-waste guillotine packings of 60
buffers, whose optimum is known. A gap is ``(peak - bound) / bound`` with the highest bound that any of the
packers proved, or the known optimum. Packers with limits have their own (--nodes gives all of them the same),
seed 0. Seconds are process time of the whole set. Every plan is checked.

    python -m bench.heuristics
    python -m bench.heuristics --packers context:0,context:4,context:16 --bounds-by hill-climb
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from time import process_time

from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.plan import Problem
from chipmodel.passes.liveness import liveness
from chipmodel.verify.fast_offsets import check_fast
from dma.stream import stream
from solvers.core.outcome import Limits
from solvers.registry import packer_named, packers, solve
from tests.support.random_buffers import random_buffers
from workloads.packing.guillotine import guillotine
from workloads.zoo import build, networks

GapsAndSeconds = tuple[list[float | None], float]
"""The gap on each problem of a set (None without a plan), and seconds of process time."""
EXACT_NODES = 20_000
"""Nodes of the exact packers where none are given."""


def problem_sets() -> dict[str, list[Problem]]:
    shapes = ((100, 30, 12), (200, 200, 20), (200, 200, 60))
    crowds = [random_buffers(seed, n, horizon=h, longest=most) for seed in range(10) for n, h, most in shapes]
    return {
        "zoo": zoo_problems(),
        "random": crowds,
        "guillotine": [replace(guillotine(60, seed), capacity=None) for seed in range(20)],
    }


def zoo_problems() -> list[Problem]:
    """What the packer is first asked for each feed-forward network on luna-arcs, without the capacity."""
    chip = load_chip("luna-arcs", ())
    size = chip.shared_memory.bytes
    schedules = [stream(build(network.name), chip, "ping-pong", size) for network in networks("classic")]
    return [Problem(liveness(schedule, chip).buffers) for schedule in schedules]


def known_bounds(name: str, problems: Sequence[Problem], by: str) -> list[int]:
    if name == "guillotine":
        seeds = range(len(problems))
        return [guillotine(60, seed).capacity or 0 for seed in seeds]
    return [solve(problem, by, Limits(nodes=EXACT_NODES)).lower_bound for problem in problems]


def run(packer: str, problems: Sequence[Problem], bounds: Sequence[int], nodes: int | None) -> GapsAndSeconds:
    gaps: list[float | None] = []
    began = process_time()
    limits = None if nodes is None else Limits(nodes=nodes)
    if limits is None and packer in ("exact", "search", "cp-sat"):
        limits = Limits(nodes=EXACT_NODES)
    solved = [solve(problem, packer, limits) for problem in problems]
    seconds = process_time() - began
    for problem, answer, bound in zip(problems, solved, bounds, strict=True):
        if answer.status == "unknown" or check_fast(problem, answer.plan):
            gaps.append(None)
        else:
            gaps.append(answer.peak / max(bound, answer.lower_bound) - 1)
    return gaps, seconds


def cells(row: GapsAndSeconds) -> str:
    gaps, seconds = row
    planned = [gap for gap in gaps if gap is not None]
    optimal = f"{sum(gap < 1e-12 for gap in planned)}/{len(gaps)}"
    if len(planned) < len(gaps):
        optimal += f", {len(gaps) - len(planned)} without a plan"
    mean, worst = sum(planned) / max(1, len(planned)), max(planned, default=0.0)
    return f"{mean:.2%} | {worst:.1%} | {optimal} | {seconds:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--packers", default="", help="names, apart by commas (all)")
    parser.add_argument("--nodes", type=int, help="nodes for each packer with limits (its own)")
    parser.add_argument("--bounds-by", default="exact", help="whose bounds the gaps are against (exact)")
    options = parser.parse_args()
    chosen = [packer_named(name).name for name in options.packers.split(",") if name] or list(packers())
    sets = problem_sets()
    bounds = {name: known_bounds(name, problems, options.bounds_by) for name, problems in sets.items()}
    heads = [f"{name}: mean | worst | optimal | s" for name in sets]
    print("| packer | " + " | ".join(heads) + " |")
    print("| --- |" + " ---: |" * (4 * len(sets)))
    for packer in chosen:
        rows = [run(packer, problems, bounds[name], options.nodes) for name, problems in sets.items()]
        print(f"| {packer} | " + " | ".join(map(cells, rows)) + " |", flush=True)


if __name__ == "__main__":
    main()
