"""Whether more never hurts: exact plans with more SharedMemory, and with a faster Psram.

    python -m bench.monotone [--networks resnet8,ds_cnn] [--chips luna-arcs,stm32n6,gap9-psram]

Of each network on each chip a row of chips that only get better: SharedMemory in eight steps from a quarter
of the least at which ``ping-pong`` spills nothing to four times that; at half of it, clocks of the Psram.
Printed is every step at which the simulated cycles of ``exact`` grow, and how many steps there were. The
bounds, which are asked with the same question, are never allowed to.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from bench.stream_exact import run_cycles
from chipmodel.bounds.time_bound import time_bound
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program
from chipmodel.pipeline.plan import smallest_capacity
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.in_place import reuse
from workloads.load import load

STEPS = 8
CLOCKS = (0.25, 0.5, 0.625, 0.75, 1.0)


def memories(chip: Chip, least: int) -> Iterator[tuple[str, Chip]]:
    """SharedMemory from a quarter of ``least`` bytes to four times that."""
    memory = chip.shared_memory
    for step in range(STEPS + 1):
        size = int(least * 2.0 ** (step / 2 - 2)) // memory.alignment * memory.alignment
        yield f"{size:,} B", replace(chip, shared_memory=replace(memory, bytes=size))


def psrams(name: str, size: int) -> Iterator[tuple[str, Chip]]:
    """Psram clocks, as shares of the chip's own, where it has one."""
    plain = load_chip(name)
    for share in CLOCKS:
        clock = float(plain.psram.clock_mhz) * share
        chip = load_chip(name, [f"psram.clock_mhz={clock:g}", f"shared_memory.bytes={size}"])
        yield f"Psram {clock:g} MHz", chip


def grown(program: Program, chips: list[tuple[str, Chip]]) -> Iterator[str]:
    """Steps that make the exact plan, or the bound, slower."""
    found = [(name, run_cycles(program, chip, "exact")[0], chip) for name, chip in chips]
    for (before, slow, _), (after, quick, _) in pairwise(found):
        if slow is not None and (quick is None or quick > slow):
            more = "does not fit" if quick is None else f"{quick:,}, {quick / slow - 1:.2%} more"
            yield f"{before} {slow:,} -> {after} {more}"
    bounds = [(name, time_bound(program, chip, {}, True).cycles) for name, chip in chips]
    for (before, slow), (after, quick) in pairwise(bounds):
        if quick > slow * 1.0005 + 1:  # the solver's gap
            yield f"BOUND {before} {slow:,} -> {after} {quick:,}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--networks", default="resnet8,ds_cnn")
    parser.add_argument("--chips", default="luna-arcs,stm32n6,gap9-psram")
    asked = parser.parse_args()
    counts = {"SharedMemory": [0, 0], "Psram": [0, 0]}
    for network in asked.networks.split(","):
        program = reuse(load(f"zoo:{network}"), "all")
        for name in asked.chips.split(","):
            chip = load_chip(name)
            least = smallest_capacity(PlanRequest(program, chip)) or 0
            rows = {
                "SharedMemory": list(memories(chip, least)),
                "Psram": list(psrams(name, least // 2 // 64 * 64)),
            }
            for kind, chips in rows.items():
                worse = list(grown(program, chips))
                counts[kind][0] += len([line for line in worse if not line.startswith("BOUND")])
                counts[kind][1] += len(chips) - 1
                for line in worse:
                    print(f"{network} on {name}: {line}", flush=True)
    for kind, (slower, steps) in counts.items():
        print(f"more {kind}: slower at {slower} of {steps} steps")


if __name__ == "__main__":
    main()
