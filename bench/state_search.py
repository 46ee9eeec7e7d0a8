"""S1's search on the zoo: networks that do not fit a preset chip's SharedMemory, whole or a part of it.

Per network: cycles of reads, writes and transfers by the initial rule and by the search, the least that any
state costs (a relaxation that leaves places aside, by SCIP), seconds of both, and simulated cycles
of whole runs with the usual residency and with S1's.

    python -m bench.state_search [--parts 1,2,4] [--chips luna-arcs,...] [--no-runs]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from bench.state_search_bound import least_cycles
from chipmodel.chip.chip import Chip
from chipmodel.chip.chip_file import load_chip
from chipmodel.errors import DoesNotFit
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program
from chipmodel.pipeline.single_core import plan
from dma.residency.greedy import decide
from dma.residency.state_search import ChipTierProblem
from dma.streamers import ping_pong
from solvers.tiers.search import initial_state
from workloads.zoo import build, networks

CHIPS = ("luna-arcs", "luna-csk6", "esp32s3", "gap9", "stm32n6", "alif-e7")
TOLERANCE = Fraction(1, 100_000)
"""An initial state that is dearer than the bound by no more than this share counts as the cheapest."""
PART_FOR_WEIGHTS = 16
"""The streamer reserves a sixteenth of the memory for a weight buffer, one of the four that it tries."""


@dataclass(frozen=True, slots=True)
class Case:
    """A network on a chip whose SharedMemory is divided by ``part``."""

    network: str
    chip: Chip
    part: int

    @property
    def title(self) -> str:
        return f"{self.chip.name}, 1/{self.part}" if self.part > 1 else self.chip.name

    def asked(self, program: Program) -> ChipTierProblem | None:
        """The tier problem, if there is anything to decide; None where it cannot run at all, too."""
        size = self.chip.shared_memory.bytes
        reserve = ping_pong.STREAMER.reserve(program, size // PART_FOR_WEIGHTS)
        try:
            decide(program, size, reserve, spill=False)
            return None
        except DoesNotFit:
            pass
        try:
            asked = ChipTierProblem(program, self.chip, size, reserve)
            initial_state(asked.problem)
        except DoesNotFit:
            return None
        return asked


def cases(chips: tuple[str, ...], parts: tuple[int, ...]) -> Iterator[Case]:
    for name in chips:
        whole = load_chip(name)
        for part in parts:
            memory = whole.shared_memory
            size = memory.bytes // part // memory.alignment * memory.alignment
            chip = replace(whole, shared_memory=replace(memory, bytes=size))
            yield from (Case(network.name, chip, part) for network in networks())


def run_cycles(program: Program, chip: Chip, packer: str) -> int | None:
    """Simulated cycles of a whole run; None where no plan fits."""
    try:
        planned = plan(program, chip, packer, "ping-pong")
    except DoesNotFit:
        return None
    if planned.solved.peak > chip.shared_memory.bytes:
        return None
    return simulate(planned.commands, chip).cycles


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--parts", default="1,2,4")
    parser.add_argument("--chips", default=",".join(CHIPS))
    parser.add_argument("--no-runs", action="store_true")
    options = parser.parse_args()
    print("| chip | network | initial | found | change | least | rule s | search s | usual run | S1 run |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    total = better = could = shorter = runs = 0
    for case in cases(tuple(options.chips.split(",")), tuple(map(int, options.parts.split(",")))):
        program = build(case.network)
        asked = case.asked(program)
        if asked is None:
            continue
        began = time.process_time()
        initial_state(asked.problem)
        between = time.process_time()
        found = asked.found()
        ended = time.process_time()
        initial, cycles = found.initial_cycles, found.state.cycles
        least = least_cycles(asked.problem)
        assert least <= cycles <= initial
        best = least * (1 + TOLERANCE) >= initial
        total, better, could = total + 1, better + (cycles < initial), could + (not best or cycles < initial)
        usual = None if options.no_runs else run_cycles(program, case.chip, "large-first")
        ours = None if options.no_runs else run_cycles(program, case.chip, "state-search")
        if usual is not None and ours is not None:
            runs, shorter = runs + 1, shorter + (ours <= usual)
        print(
            f"| {case.title} | {case.network} | {float(initial):,.0f} | {float(cycles):,.0f} "
            f"| {_change(cycles, initial)} | {_change(cycles if best else least, initial)} "
            f"| {between - began:.3f} | {ended - between:.3f} | {_cycles(usual)} | {_cycles(ours)} |",
            flush=True,
        )
    print(f"{better} of {total} cheaper, none dearer; of the {could} that can be cheaper {better}; ", end="")
    print(f"S1's run no longer than the usual one on {shorter} of {runs}")


def _change(cycles: Fraction, initial: Fraction) -> str:
    return f"{float(100 * (cycles / initial - 1)):+.2f} %" if cycles != initial else "0"


def _cycles(cycles: int | None) -> str:
    return "-" if cycles is None else f"{cycles:,}"


if __name__ == "__main__":
    main()
