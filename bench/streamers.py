"""All streamers on the zoo: cycles, gap to the lower bound, and seconds to plan.

For each network and chip, SharedMemory is the *comfortable* size, the smallest with which ``sync`` spills
nothing and ``large-first`` packs it, then a half and a quarter of it. The gap is to
``chipmodel.bounds.time_bound.time_bound``, which no plan beats; how far above it the best plan lies nobody
knows. Seconds are of the process, planning alone.

    python -m bench.streamers
    python -m bench.streamers --networks resnet18,googlenet --chips stm32n6 --streamers sync,prefetch-greedy
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from chipmodel.bounds.time_bound import time_bound
from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program
from chipmodel.pipeline.plan import plan, smallest_capacity
from chipmodel.pipeline.request import PlanRequest
from workloads.zoo import build, networks

CHIPS = ("luna-arcs", "stm32n6", "gap9-psram")
PARTS = (1, 2, 4)
STREAMERS = ("sync", "ping-pong", "weight-pipeline", "prefetch-k", "prefetch-greedy", "resident-knapsack")


@dataclass(frozen=True, slots=True)
class Run:
    """One streamer's plan: its ``cycles`` and the bound, and the process seconds to make it. ``fits`` says
    whether a packer found room for it."""

    streamer: str
    cycles: int
    bound: int
    seconds: float
    fits: bool

    @property
    def gap(self) -> float:
        """How far ``cycles`` are above the bound, as a share of it."""
        return self.cycles / self.bound - 1


@dataclass(frozen=True, slots=True)
class Row:
    """One network on one chip with ``size`` bytes of SharedMemory, the ``part``-th part of what is
    comfortable; a streamer without a plan has no run."""

    network: str
    chip: str
    part: int
    size: int
    runs: tuple[Run, ...]


def with_memory(chip: Chip, size: int) -> Chip:
    """``chip`` with ``size`` bytes of SharedMemory, rounded up to its alignment."""
    step = chip.shared_memory.alignment
    if chip.shared_memory.banks is not None:
        step *= chip.shared_memory.banks.count
    return replace(chip, shared_memory=replace(chip.shared_memory, bytes=-(-size // step) * step))


def rows(
    networks: Sequence[str], chips: Sequence[str], streamers: Sequence[str], packer: str, parts: Sequence[int]
) -> Iterator[Row]:
    """The table, row by row."""
    for network in networks:
        program = build(network)
        for name in chips:
            chip = load_chip(name)
            comfortable = smallest_capacity(PlanRequest(program, chip, "large-first", "sync"))
            assert comfortable is not None, f"{network} fits into 4 GiB"
            for part in parts:
                sized = with_memory(chip, comfortable // part)
                found = tuple(run for s in streamers for run in _run(program, sized, packer, s))
                yield Row(network, name, part, sized.shared_memory.bytes, found)


def _run(program: Program, chip: Chip, packer: str, streamer: str) -> Iterator[Run]:
    began = time.process_time()
    try:
        planned = plan(PlanRequest(program, chip, packer, streamer))
    except DoesNotFit:
        return
    seconds = time.process_time() - began
    trace = simulate(planned.commands, chip)
    fits = planned.solved.peak <= chip.shared_memory.bytes
    yield Run(streamer, trace.cycles, time_bound(program, chip, trace.path).cycles, seconds, fits)


def shown(row: Row, streamers: Sequence[str]) -> str:
    """A line of the table; ``*`` marks a plan for which the packer found no room."""
    runs = {run.streamer: run for run in row.runs}
    cells = [row.network, row.chip, f"1/{row.part}" if row.part > 1 else "1", f"{row.size:,}"]
    cells.append(f"{row.runs[0].bound / 1e6:.2f}" if row.runs else "")
    for streamer in streamers:
        run = runs.get(streamer)
        mark = "" if run is None or run.fits else "*"
        cells.append(f"{run.cycles / 1e6:.2f}{mark} ({run.gap:.1%}) {run.seconds:.2f}" if run else "-")
    return f"| {' | '.join(cells)} |"


def medians(table: Sequence[Row], streamers: Sequence[str]) -> Iterator[str]:
    """Median gap, cycles against the best of the row, and seconds of each streamer, and the most seconds."""
    yield "| streamer | median gap | above the best of the row | quickest in | median s | most s |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    best = {id(row): min(run.cycles for run in row.runs if run.fits) for row in table if _usable(row)}
    for streamer in streamers:
        pairs = [(best[id(row)], run) for row in table if _usable(row) for run in row.runs]
        pairs = [(least, run) for least, run in pairs if run.streamer == streamer and run.fits]
        if pairs:
            gap = median(run.gap for _, run in pairs)
            above = median(run.cycles / least - 1 for least, run in pairs)
            first = sum(run.cycles == least for least, run in pairs)
            seconds = [run.seconds for _, run in pairs]
            yield (
                f"| {streamer} | {gap:.1%} | {above:.1%} | {first} of {len(best)} | "
                f"{median(seconds):.2f} | {max(seconds):.2f} |"
            )


def _usable(row: Row) -> bool:
    return any(run.fits for run in row.runs)


def main(arguments: Sequence[str]) -> None:
    """Print the table and the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--networks", default=",".join(network.name for network in networks("classic")))
    parser.add_argument("--chips", default=",".join(CHIPS))
    parser.add_argument("--streamers", default=",".join(STREAMERS))
    parser.add_argument("--packer", default="large-first")
    parser.add_argument("--parts", default=",".join(map(str, PARTS)))
    given = parser.parse_args(arguments)
    streamers = given.streamers.split(",")
    parts = [int(part) for part in given.parts.split(",")]
    print(f"| network | chip | memory | bytes | bound, M | {' | '.join(streamers)} |")
    print(f"| --- | --- | ---: | ---: | ---: |{' ---: |' * len(streamers)}")
    table: list[Row] = []
    for row in rows(given.networks.split(","), given.chips.split(","), streamers, given.packer, parts):
        table.append(row)
        print(shown(row, streamers), flush=True)
    for part in parts:
        print(f"\nSharedMemory 1/{part} of what is comfortable:\n")
        print("\n".join(medians([row for row in table if row.part == part], streamers)))
    print("\nAll:\n")
    print("\n".join(medians(table, streamers)))


if __name__ == "__main__":
    main(sys.argv[1:])
