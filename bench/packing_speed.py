"""Seconds that each heuristic packer takes on two networks and on 10,000 random buffers.

    python -m bench.packing_speed [--packers large-first,...] [--tries 3]

CPU time of the process, the shortest of several tries (one for the 10,000 buffers).
"""

from __future__ import annotations

import argparse
from time import process_time

from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.plan import Problem
from chipmodel.passes.liveness import liveness
from dma.stream import stream
from solvers.registry import packers, solve
from tests.support.random_buffers import random_buffers
from workloads.load import load

EXACT = ("exact", "search", "cp-sat")
NETWORKS = ("zoo:resnet50", "onnx:light_densenet121")


def problem_of(network: str) -> Problem:
    """What the packer is first asked on luna-arcs, without the capacity."""
    chip = load_chip("luna-arcs")
    schedule = stream(load(network), chip, "ping-pong", chip.shared_memory.bytes)
    return Problem(liveness(schedule, chip).buffers)


def seconds(problem: Problem, packer: str, tries: int) -> float:
    took: list[float] = []
    for _ in range(tries):
        began = process_time()
        solve(problem, packer)
        took.append(process_time() - began)
    return min(took)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--packers", default=",".join(name for name in packers() if name not in EXACT))
    parser.add_argument("--tries", type=int, default=3)
    asked = parser.parse_args()
    problems = {network: (problem_of(network), asked.tries) for network in NETWORKS}
    many = random_buffers(1, 10_000, horizon=10_000, longest=60, alignments=(16,))
    problems["10,000 buffers"] = many, 1
    print(f"| packer | {' | '.join(problems)} |")
    print("| --- |" + " ---: |" * len(problems))
    for packer in asked.packers.split(","):
        cells = [f"{seconds(problem, packer, tries):.3f}" for problem, tries in problems.values()]
        print(f"| {packer} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
