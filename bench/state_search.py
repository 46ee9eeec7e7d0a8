"""The tiered-memory search on the zoo: networks that do not fit a chip's SharedMemory, whole or a part of it.

Per network: cycles of reads, writes and transfers by the initial rule and by the search, seconds of both, and
simulated cycles of whole runs with greedy residency and with the searched one.

    python -m bench.state_search [--parts 1,2,4] [--chips luna-arcs,...] [--no-runs]

Source: the tiered-memory patent (CN, 2022), docs/references.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from dma.residency.chip_tiers import ChipTierProblem
from dma.residency.greedy import decide
from dma.streamers import ping_pong
from solvers.core.outcome import Limits
from solvers.tiers.search import search
from workloads.zoo import build, networks

CHIPS = ("luna-arcs", "luna-csk6", "esp32s3", "gap9-psram", "stm32n6", "alif-e7")
PART_FOR_WEIGHTS = 16
"""The streamer reserves 1/16 of the memory for a weight buffer, one of the four shares that it tries."""


def run_cycles(program: Program, chip: Chip, packer: str) -> int | None:
    """Simulated cycles of a whole run; None where no plan fits."""
    try:
        planned = plan(PlanRequest(program, chip, packer, "ping-pong"))
    except DoesNotFit:
        return None
    if planned.solved.peak > chip.shared_memory.bytes:
        return None
    return simulate(planned.commands, chip).cycles


def tiers_of(program: Program, chip: Chip) -> ChipTierProblem | None:
    """The tier problem; None where the network fits, or cannot run at all."""
    size = chip.shared_memory.bytes
    reserve = ping_pong.STREAMER.reserve(program, size // PART_FOR_WEIGHTS)
    try:
        decide(program, size, reserve, spill=False)
        return None
    except DoesNotFit:
        pass
    try:
        tiers = ChipTierProblem(program, chip, size, reserve)
        search(tiers.problem, Limits(nodes=0))
    except DoesNotFit:
        return None
    return tiers


def cases(chips: Sequence[str], parts: Sequence[int]) -> Iterator[tuple[str, str, Chip]]:
    """Title, network and chip: every network of the zoo with each share of each chip's SharedMemory."""
    for name in chips:
        whole = load_chip(name)
        for part in parts:
            memory = whole.shared_memory
            size = memory.bytes // part // memory.alignment * memory.alignment
            chip = replace(whole, shared_memory=replace(memory, bytes=size))
            title = f"{name}, 1/{part}" if part > 1 else name
            yield from ((title, network.name, chip) for network in networks())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--parts", default="1,2,4", help="shares of the SharedMemory, 1/N each [1,2,4]")
    parser.add_argument("--chips", default=",".join(CHIPS))
    parser.add_argument("--no-runs", action="store_true", help="do not simulate whole runs")
    options = parser.parse_args()
    print("| chip | network | initial | found | change | rule s | search s | greedy run | searched run |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    total = better = shorter = runs = 0
    for title, network, chip in cases(options.chips.split(","), [int(p) for p in options.parts.split(",")]):
        program = build(network)
        tiers = tiers_of(program, chip)
        if tiers is None:
            continue
        began = time.process_time()
        search(tiers.problem, Limits(nodes=0))
        between = time.process_time()
        found = tiers.found()
        ended = time.process_time()
        initial, cycles = found.initial.cycles, found.state.cycles
        total, better = total + 1, better + (cycles < initial)
        greedy = None if options.no_runs else run_cycles(program, chip, "large-first")
        searched = None if options.no_runs else run_cycles(program, chip, "state-search")
        if greedy is not None and searched is not None:
            runs, shorter = runs + 1, shorter + (searched <= greedy)
        print(
            f"| {title} | {network} | {float(initial):,.0f} | {float(cycles):,.0f} "
            f"| {_change(cycles, initial)} | {between - began:.3f} | {ended - between:.3f} "
            f"| {_cycles(greedy)} | {_cycles(searched)} |",
            flush=True,
        )
    print(f"{better} of {total} cheaper; the run no longer than the greedy one on {shorter} of {runs}")


def _change(cycles: Fraction, initial: Fraction) -> str:
    return f"{float(100 * (cycles / initial - 1)):+.2f} %" if cycles != initial else "0"


def _cycles(cycles: int | None) -> str:
    return "-" if cycles is None else f"{cycles:,}"


if __name__ == "__main__":
    main()
