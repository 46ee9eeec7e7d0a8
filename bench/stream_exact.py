"""How far from the best possible: ``sync``, ``ping-pong``, ``weight-pipeline`` and ``exact`` on the zoo.

Per network, chip and SharedMemory (the least at which ping-pong spills nothing, a half and a quarter of it):
simulated cycles of each, the bound that no plan beats (``chipmodel.bound.time_bound``), how far ``exact`` is
above it (gap; "optimal" where it is not), and process seconds of the exact plan and its simulation.

    python -m bench.stream_exact [--chips luna-arcs,...] [--networks resnet18,...] [--seconds 600]
    python -m bench.stream_exact --oracle 1000

The second one holds ``solvers.stream_exact`` against all plans of so many random stretches of up to 6 steps.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from chipmodel.bound import time_bound
from chipmodel.chip import Chip
from chipmodel.chip_file import load_chip
from chipmodel.errors import DoesNotFit
from chipmodel.pipeline import plan, smallest_capacity
from chipmodel.program import Program
from chipmodel.simulate import simulate
from solvers.stream_exact import solve_stream
from tests.solvers.stream_oracle import best_of_all, random_stream
from workloads.zoo import build

CHIPS = ("luna-arcs", "stm32n6", "gap9")
NETWORKS = ("mobilenetv1_025", "mobilenetv2", "shufflenetv1", "resnet18", "googlenet", "resnet50")
STREAMERS = ("sync", "ping-pong", "weight-pipeline", "exact")
PARTS = (1, 2, 4)


@dataclass(frozen=True, slots=True)
class Row:
    """Cycles by streamer, None where no plan fits; ``size`` bytes of SharedMemory."""

    network: str
    chip: str
    size: int
    cycles: dict[str, int | None]
    bound: int
    seconds: float

    @property
    def gap(self) -> float | None:
        """Share of the bound that ``exact`` takes longer."""
        exact = self.cycles["exact"]
        return None if exact is None else exact / self.bound - 1

    def cells(self) -> Iterator[str]:
        yield from (self.network, self.chip, f"{self.size:,}")
        yield from ("does not fit" if c is None else f"{c:,}" for c in self.cycles.values())
        yield f"{self.bound:,}"
        yield "" if self.gap is None else "0" if not self.gap else f"{self.gap:.2%}"
        yield "" if self.gap is None else "feasible" if self.gap else "optimal"
        yield f"{self.seconds:.1f}"


def run_cycles(program: Program, chip: Chip, streamer: str) -> int | None:
    """Simulated cycles of a run; None where no plan fits."""
    try:
        planned = plan(program, chip, "large-first", streamer)
    except DoesNotFit:
        return None
    if planned.solved.peak > chip.shared_memory.bytes:
        return None
    return simulate(planned.commands, chip).cycles


def row(network: str, program: Program, chip: Chip) -> Row:
    """One network on a chip."""
    cycles: dict[str, int | None] = {}
    seconds = 0.0
    for streamer in STREAMERS:
        began = time.process_time()
        cycles[streamer] = run_cycles(program, chip, streamer)
        seconds = time.process_time() - began
    bound = time_bound(program, chip, {}, True).cycles
    return Row(network, chip.name, chip.shared_memory.bytes, cycles, bound, seconds)


def rows(networks: Sequence[str], chips: Sequence[str], seconds: float) -> Iterator[Row]:
    """Rows until ``seconds`` of the process's time are over."""
    began = time.process_time()
    for network in networks:
        program = build(network)
        for name in chips:
            chip = load_chip(name)
            size = smallest_capacity(program, chip, "large-first", "ping-pong") or 0
            for part in PARTS:
                if time.process_time() - began > seconds:
                    return
                memory = chip.shared_memory
                bytes_ = size // part // memory.alignment * memory.alignment
                yield row(network, program, replace(chip, shared_memory=replace(memory, bytes=bytes_)))


def oracle(count: int) -> str:
    """The search against all plans; raises AssertionError where they differ."""
    began = time.process_time()
    loads = 0
    for seed in range(count):
        problem = random_stream(seed)
        outcome = solve_stream(problem)
        assert outcome.status == "optimal", f"seed {seed}: {outcome}"
        assert outcome.least_peak, f"seed {seed}: {outcome}"
        assert (outcome.cycles, outcome.peak) == best_of_all(problem), f"seed {seed}: {outcome}"
        loads += len(problem.slices)
    spent = time.process_time() - began
    return f"{count:,} stretches, {loads:,} loads: cycles and peak are the least of all plans; {spent:.1f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--chips", default=",".join(CHIPS))
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--oracle", type=int, default=0)
    asked = parser.parse_args()
    if asked.oracle:
        print(oracle(asked.oracle))
        return
    titles = ("network", "chip", "SharedMemory", *STREAMERS, "bound", "gap", "status", "s")
    print("| " + " | ".join(titles) + " |")
    print("| --- | --- |" + " ---: |" * 7 + " --- | ---: |", flush=True)
    seen: list[Row] = []
    for each in rows(asked.networks.split(","), asked.chips.split(","), asked.seconds):
        seen.append(each)
        print("| " + " | ".join(each.cells()) + " |", flush=True)
    print("\n" + summary(seen))


def summary(seen: Sequence[Row]) -> str:
    """What the table says, in a sentence."""
    gaps = [each.gap for each in seen if each.gap is not None]
    if not gaps:
        return "nothing fits"
    near = sum(gap <= 0.01 for gap in gaps)
    shares = [
        each.cycles["weight-pipeline"] / each.cycles["exact"] - 1
        for each in seen
        if each.cycles["exact"] and each.cycles["weight-pipeline"]
    ]
    slower = sum(
        any(
            c is not None and each.cycles["exact"] is not None and c < each.cycles["exact"]
            for c in each.cycles.values()
        )
        for each in seen
    )
    return (
        f"{len(gaps)} rows: exact within 1 % of the bound on {near}, median gap {median(gaps):.2%}, "
        f"largest {max(gaps):.2%}; weight-pipeline takes {median(shares):.2%} longer at the median, "
        f"{max(shares):.2%} at most; another is quicker than exact, as simulated, on {slower}."
    )


if __name__ == "__main__":
    main()
