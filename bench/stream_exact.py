"""How far from the best possible: heuristics and ``exact`` on the zoo and the onnx package's networks.

Per network, chip and SharedMemory (the least at which ping-pong spills nothing, a half and a quarter of it):
simulated cycles of each without cascades, the bound that no such plan beats
(``chipmodel.bounds.time_bound.time_bound``), how far ``exact`` is above it (gap; "proven"
within 1 %), by how much its forecast missed what was simulated, and process seconds of the exact plan and its
simulation. Then the same with cascades: cycles of the default streamer without and with them, of ``exact``
with them, the bound of all plans with or without cascades, the gap to it, and process seconds of that plan.

    python -m bench.stream_exact [--chips luna-arcs,...] [--networks zoo:resnet18,...] [--seconds 600]
        [--time-limit SECONDS]
    python -m bench.stream_exact --join luna-arcs.txt stm32n6.txt gap9-psram.txt

The second form sums up tables of several such processes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from chipmodel.bounds.time_bound import time_bound
from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program
from chipmodel.pipeline.choices import CASCADE_AUTO, CASCADE_OFF
from chipmodel.pipeline.plan import plan, smallest_capacity
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.in_place import reuse
from dma.schedule.expected_forecast import ScheduleForecast
from solvers.core.deadline import deadline_in
from workloads.load import load

CHIPS = ("luna-arcs", "stm32n6", "gap9-psram")
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
EXACT = "exact, cascades"
CASCADED = {
    "auto": ("auto", CASCADE_OFF),
    "auto, cascades": ("auto", CASCADE_AUTO),
    EXACT: ("exact", CASCADE_AUTO),
}
"""Columns of the part with cascades: streamer, and which cascades are allowed."""
PARTS = (1, 2, 4)
PROVEN = 0.01


@dataclass(frozen=True, slots=True)
class Row:
    """Cycles by streamer, None where no plan fits; ``size`` bytes of SharedMemory, one of ``part``. ``bound``
    holds without cascades, ``cascade_bound`` for the columns of ``CASCADED``."""

    network: str
    chip: str
    part: int
    size: int
    cycles: dict[str, int | None]
    bound: int
    seconds: float
    missed: float
    """Share of the simulated cycles by which the forecast of ``exact`` differs from them."""
    cascaded: dict[str, int | None]
    """Cycles by column of ``CASCADED``."""
    cascade_bound: int
    cascade_seconds: float

    @property
    def gap(self) -> float | None:
        """Share of the bound that ``exact`` takes longer."""
        return self.above("exact")

    def above(self, streamer: str) -> float | None:
        """Share of the bound that ``streamer`` takes longer."""
        cycles = self.cycles[streamer]
        return None if cycles is None else cycles / self.bound - 1

    @property
    def cascade_gap(self) -> float | None:
        """Share of ``cascade_bound`` that ``exact`` with cascades takes longer."""
        cycles = self.cascaded[EXACT]
        return None if cycles is None else cycles / self.cascade_bound - 1

    def gain(self, without: int | None, cascaded: int | None) -> float | None:
        """Share of the cycles without cascades that a plan with them saves; below 0 where it is slower."""
        return 1 - cascaded / without if without and cascaded else None

    @property
    def gains(self) -> tuple[float | None, float | None]:
        """Of the default streamer, and of ``exact``."""
        plain, quick, exact = (self.cascaded[name] for name in CASCADED)
        return self.gain(plain, quick), self.gain(self.cycles["exact"], exact)

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
        yield from ("does not fit" if c is None else f"{c:,}" for c in self.cascaded.values())
        yield f"{self.cascade_bound:,}"
        yield "" if self.cascade_gap is None else f"{self.cascade_gap:.2%}"
        yield f"{self.cascade_seconds:.1f}"


def run_cycles(
    program: Program, chip: Chip, streamer: str, cascade: str = CASCADE_OFF, seconds: float | None = None
) -> tuple[int | None, float]:
    """Simulated cycles of a run, None where no plan fits, and the share of them that the forecast missed."""
    deadline = deadline_in(seconds)
    try:
        planned = plan(
            PlanRequest(program, chip, "large-first", streamer, cascade=cascade, deadline=deadline)
        )
    except DoesNotFit:
        return None, 0.0
    if planned.solved.peak > chip.shared_memory.bytes:
        return None, 0.0
    cycles = simulate(planned.commands, chip).cycles
    forecast = ScheduleForecast(program, chip).cycles(planned.schedule)
    return cycles, abs(cycles - forecast) / cycles


def row(network: str, program: Program, chip: Chip, part: int, limit: float | None) -> Row:
    """One network on a chip; each plan of ``exact`` takes at most ``limit`` seconds."""
    cycles: dict[str, int | None] = {}
    seconds = missed = cascade_seconds = 0.0
    for streamer in STREAMERS:
        began = time.process_time()
        cycles[streamer], missed = run_cycles(program, chip, streamer, seconds=limit)
        seconds = time.process_time() - began
    cascaded: dict[str, int | None] = {}
    for name, (streamer, cascade) in CASCADED.items():
        began = time.process_time()
        cascaded[name], _ = run_cycles(program, chip, streamer, cascade, limit)
        cascade_seconds = time.process_time() - began
    bound = time_bound(program, chip, {}).cycles
    cascade_bound = time_bound(program, chip, {}, cascades=True).cycles
    size = chip.shared_memory.bytes
    return Row(
        network,
        chip.name,
        part,
        size,
        cycles,
        bound,
        seconds,
        missed,
        cascaded,
        cascade_bound,
        cascade_seconds,
    )


def rows(networks: Sequence[str], chips: Sequence[str], seconds: float, limit: float | None) -> Iterator[Row]:
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
                smaller = replace(chip, shared_memory=replace(memory, bytes=bytes_))
                yield row(network, program, smaller, part, limit)


def written(text: str) -> Iterator[Row]:
    """The rows of a printed table. What the process's seconds were spent on is lost."""
    count = len(STREAMERS)
    for line in text.splitlines():
        cells = [cell.strip().replace(",", "") for cell in line.strip().removeprefix("|").split("|")]
        if len(cells) < count + 14 or not cells[2].isdigit():
            continue
        numbers = [int(c) if c.isdigit() else None for c in cells]
        cycles: dict[str, int | None] = dict(zip(STREAMERS, numbers[3:], strict=False))
        bound, _, _, missed, seconds = cells[3 + count : 8 + count]
        cascaded: dict[str, int | None] = dict(zip(CASCADED, numbers[8 + count :], strict=False))
        cascade_bound, _, cascade_seconds = cells[11 + count : 14 + count]
        yield Row(
            *(cells[0], cells[1], 0, int(cells[2]), cycles),
            *(int(bound), float(seconds), float(missed.rstrip("%")) / 100),
            *(cascaded, int(cascade_bound), float(cascade_seconds)),
        )


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
    parser.add_argument("--time-limit", type=float, default=None)
    parser.add_argument("--join", nargs="+", default=[])
    asked = parser.parse_args()
    if asked.join:
        print(summary(parted([row for name in asked.join for row in written(Path(name).read_text())])))
        return
    titles = ("network", "chip", "SharedMemory", *STREAMERS, "bound", "gap", "status", "missed", "s")
    titles = (*titles, *CASCADED, "bound", "gap", "s")
    print("| " + " | ".join(titles) + " |")
    print("| --- | --- |" + " ---: |" * 8 + " --- |" + " ---: |" * 8, flush=True)
    seen: list[Row] = []
    for each in rows(asked.networks.split(","), asked.chips.split(","), asked.seconds, asked.time_limit):
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
    return " ".join(word for word in [*words, *_with_cascades(seen)] if word)


def _with_cascades(seen: Sequence[Row]) -> Iterator[str]:
    """What the table says of cascades: whether any plan is slower, how near the bound, what they gain."""
    for index, name in enumerate(("the default streamer", "exact")):
        gains = [gain for each in seen if (gain := each.gains[index]) is not None]
        slower = [gain for gain in gains if gain < 0]
        yield f"With cascades {name} is slower on {len(slower)} of {len(gains)} rows,"
        yield f"by {-min(slower, default=0):.2%} at most."
        for part, size in zip(PARTS, ("the comfortable size", "a half", "a quarter"), strict=True):
            own = [each.gains[index] for each in seen if each.part == part]
            saved = [gain for gain in own if gain is not None]
            if saved:
                yield f"At {size} it saves {median(saved):.1%} of the cycles at the median,"
                yield f"{max(saved):.1%} at most."
    gaps = [gap for each in seen if (gap := each.cascade_gap) is not None]
    if gaps:
        within = sum(gap <= 0.05 for gap in gaps)
        yield f"exact with cascades is within 1 % of its bound on {_near(gaps)} rows of {len(gaps)},"
        yield f"within 5 % on {within}, median gap {median(gaps):.2%}."


def _near(gaps: Sequence[float]) -> int:
    return sum(gap <= PROVEN for gap in gaps)


if __name__ == "__main__":
    main()
