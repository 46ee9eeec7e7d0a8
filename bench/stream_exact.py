"""How far from the best possible: heuristics and ``exact`` on the zoo and the onnx package's networks.

Per network, chip and SharedMemory (the least at which ping-pong spills nothing, a half and a quarter of it):
simulated cycles of each, the bound that no plan beats (``chipmodel.bounds.time_bound.time_bound`` with
residency), how far ``exact`` is above it (gap; "proven" within 1 %), by how much its forecast missed what was
simulated, and process seconds of the exact plan, its bound and its simulation.

    python -m bench.stream_exact [--chips luna-arcs,...] [--networks zoo:resnet18,...] [--seconds 600]
    python -m bench.stream_exact --join luna-arcs.txt stm32n6.txt gap9.txt

The second form sums up tables of several such processes. ``python -m tests.fuzz exact-streamer`` compares the
search with all plans of small problems.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from chipmodel.bounds.time_bound import time_bound
from chipmodel.chip.chip import Chip
from chipmodel.chip.chip_file import load_chip
from chipmodel.errors import DoesNotFit
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program
from chipmodel.passes.in_place import reuse
from chipmodel.pipeline.plan import plan, smallest_capacity
from chipmodel.pipeline.request import PlanRequest
from dma.schedule.expected_forecast import ScheduleForecast
from workloads.load import load

CHIPS = ("luna-arcs", "stm32n6", "gap9")
ZOO = (
    *("resnet8", "ds_cnn", "mobilenetv1_025", "autoencoder", "mobilenetv2", "shufflenetv1", "resnet18"),
    *("googlenet", "blazeface", "resnet50", "alexnet", "vgg16"),
)
LIGHT = (
    *("squeezenet", "shufflenet", "inception_v1", "inception_v2", "densenet121", "resnet50"),
    *("bvlc_alexnet", "zfnet512", "vgg19"),
)
NETWORKS = (*(f"zoo:{name}" for name in ZOO), *(f"onnx:light_{name}" for name in LIGHT))
HEURISTICS = ("sync", "ping-pong", "prefetch-k", "prefetch-greedy")
STREAMERS = (*HEURISTICS, "exact")
PARTS = (1, 2, 4)
PROVEN = 0.01


@dataclass(frozen=True, slots=True)
class Row:
    """Cycles by streamer, None where no plan fits; ``size`` bytes of SharedMemory, one of ``part``."""

    network: str
    chip: str
    part: int
    size: int
    cycles: dict[str, int | None]
    bound: int
    seconds: float
    missed: float
    """Share of the simulated cycles by which the forecast of ``exact`` differs from them."""

    @property
    def gap(self) -> float | None:
        """Share of the bound that ``exact`` takes longer."""
        return self.above("exact")

    def above(self, streamer: str) -> float | None:
        """Share of the bound that ``streamer`` takes longer."""
        cycles = self.cycles[streamer]
        return None if cycles is None else cycles / self.bound - 1

    @property
    def best_heuristic(self) -> int | None:
        """Cycles of the quickest heuristic."""
        return min((c for name in HEURISTICS if (c := self.cycles[name]) is not None), default=None)

    def cells(self) -> Iterator[str]:
        yield from (self.network, self.chip, f"{self.size:,}")
        yield from ("does not fit" if c is None else f"{c:,}" for c in self.cycles.values())
        yield f"{self.bound:,}"
        yield "" if self.gap is None else f"{self.gap:.2%}"
        yield "" if self.gap is None else "proven" if self.gap <= PROVEN else "feasible"
        yield f"{self.missed:.2%}"
        yield f"{self.seconds:.1f}"


def run_cycles(program: Program, chip: Chip, streamer: str) -> tuple[int | None, float]:
    """Simulated cycles of a run, None where no plan fits, and the share of them that the forecast missed."""
    try:
        planned = plan(PlanRequest(program, chip, "large-first", streamer))
    except DoesNotFit:
        return None, 0.0
    if planned.solved.peak > chip.shared_memory.bytes:
        return None, 0.0
    cycles = simulate(planned.commands, chip).cycles
    forecast = ScheduleForecast(program, chip).cycles(planned.schedule)
    return cycles, abs(cycles - forecast) / cycles


def row(network: str, program: Program, chip: Chip, part: int) -> Row:
    """One network on a chip."""
    cycles: dict[str, int | None] = {}
    seconds = missed = 0.0
    for streamer in STREAMERS:
        began = time.process_time()
        cycles[streamer], missed = run_cycles(program, chip, streamer)
        seconds = time.process_time() - began
    bound = time_bound(program, chip, {}, True).cycles
    return Row(network, chip.name, part, chip.shared_memory.bytes, cycles, bound, seconds, missed)


def rows(networks: Sequence[str], chips: Sequence[str], seconds: float) -> Iterator[Row]:
    """Rows until ``seconds`` of the process's time are over."""
    began = time.process_time()
    for network in networks:
        program = reuse(load(network), "all")
        for name in chips:
            chip = load_chip(name)
            size = smallest_capacity(PlanRequest(program, chip)) or 0
            for part in PARTS:
                if time.process_time() - began > seconds:
                    return
                memory = chip.shared_memory
                bytes_ = size // part // memory.alignment * memory.alignment
                yield row(network, program, replace(chip, shared_memory=replace(memory, bytes=bytes_)), part)


def written(text: str) -> Iterator[Row]:
    """The rows of a printed table. What the process's seconds were spent on is lost."""
    for line in text.splitlines():
        cells = [cell.strip().replace(",", "") for cell in line.strip("| ").split(" | ")]
        if len(cells) == len(STREAMERS) + 8 and cells[2].isdigit():
            numbers = [int(c) if c.isdigit() else None for c in cells[3 : 3 + len(STREAMERS)]]
            cycles = dict(zip(STREAMERS, numbers, strict=True))
            bound, missed, seconds = cells[-5], cells[-2], cells[-1]
            missed_share = float(missed.rstrip("%")) / 100
            size = int(cells[2])
            yield Row(cells[0], cells[1], 0, size, cycles, int(bound), float(seconds), missed_share)


def parted(every: Sequence[Row]) -> list[Row]:
    """Parts by size: the largest of a network on a chip is the comfortable one."""
    largest: dict[tuple[str, str], int] = {}
    for each in every:
        key = each.network, each.chip
        largest[key] = max(largest.get(key, 0), each.size)
    return [replace(e, part=round(largest[e.network, e.chip] / e.size)) for e in every]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--chips", default=",".join(CHIPS))
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--join", nargs="+", default=[])
    asked = parser.parse_args()
    if asked.join:
        print(summary(parted([row for name in asked.join for row in written(Path(name).read_text())])))
        return
    titles = ("network", "chip", "SharedMemory", *STREAMERS, "bound", "gap", "status", "missed", "s")
    print("| " + " | ".join(titles) + " |")
    print("| --- | --- |" + " ---: |" * 8 + " --- | ---: | ---: |", flush=True)
    seen: list[Row] = []
    for each in rows(asked.networks.split(","), asked.chips.split(","), asked.seconds):
        seen.append(each)
        print("| " + " | ".join(each.cells()) + " |", flush=True)
    print("\n" + summary(seen))


def summary(seen: Sequence[Row]) -> str:
    """What the table says, in a few sentences."""
    fitting = [each for each in seen if each.gap is not None]
    if not fitting:
        return "nothing fits"
    gaps = [each.gap or 0.0 for each in fitting]
    near = _near(gaps)
    behind = [
        each.best_heuristic / each.cycles["exact"] - 1
        for each in fitting
        if each.cycles["exact"] and each.best_heuristic
    ]
    words = [
        f"{len(seen) - len(fitting)} do not fit." if len(fitting) < len(seen) else "",
        f"{len(gaps)} rows: exact within 1 % of the bound on {near}, median gap {median(gaps):.2%},",
        f"largest {max(gaps):.2%}. The best heuristic takes {median(behind):.2%} longer at the median,",
        f"{max(behind):.2%} at most, and is quicker on {sum(each < 0 for each in behind)}.",
        f"ScheduleForecast miss {max(each.missed for each in fitting):.2%} at most.",
    ]
    for part, size in zip(PARTS, ("the comfortable size", "a half", "a quarter"), strict=True):
        own = [each.gap for each in fitting if each.part == part and each.gap is not None]
        words.append(f"At {size}: median {median(own or [0]):.2%}, {_near(own)} of {len(own)} within 1 %.")
    for chip in sorted({each.chip for each in fitting}):
        own = [each.gap for each in fitting if each.chip == chip and each.gap is not None]
        words.append(f"{chip}: median {median(own):.2%}, {_near(own)} of {len(own)} within 1 %.")
    return " ".join(word for word in words if word)


def _near(gaps: Sequence[float]) -> int:
    return sum(gap <= PROVEN for gap in gaps)


if __name__ == "__main__":
    main()
