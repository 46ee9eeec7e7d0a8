"""Whether more never hurts: plans with more SharedMemory, and with another number of the chip improved.

    python -m bench.monotone [--networks resnet8,...] [--chips alif-e7,...] [--steps 12] [--streamer auto]
    python -m bench.monotone --programs 500 [--seed 0]

Of each network on each chip a row of sizes of SharedMemory, from a quarter of the least at which
``ping-pong`` sends nothing out to four times that. A step is slower where its plan takes more cycles than
that of *any* smaller size. At half of the least, the Psram's clock is raised in steps. With ``--programs``,
a random program on a random small chip, and the same chip with one number improved. Printed is every step
that is slower if nothing is known of others; at the end how many there were, by how much, at how many the
fastest plan of the steps before is no faster either, as ``sensitivity`` and ``memory`` have it, and CPU
seconds of a plan. ``--bounds`` counts where the bound on cycles rises, too.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from statistics import median

from chipmodel.answers.result import Result
from chipmodel.bounds.time_bound import time_bound
from chipmodel.comparison.known_plans import on_chip
from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip, Dma
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program
from chipmodel.pipeline.choices import CASCADE_AUTO
from chipmodel.pipeline.plan import smallest_capacity
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from tests.support.chips import tiny_chip
from tests.support.random_programs import TreeShape, random_program
from workloads.load import load

CHIPS = ("alif-e7", "luna-arcs", "stm32n6")
NETWORKS = (
    *("resnet8", "ds_cnn", "mobilenetv1_025", "micronet_kws", "autoencoder"),
    *("mobilenetv2?width=0.35&input=128&classes=101", "squeezenet?version=1.1&input=96"),
)
CLOCKS = (0.25, 0.5, 0.625, 0.75, 1.0)
"""Psram clocks, as shares of the chip's own."""
SIDE = 6
"""Rows, columns and channels of the largest tensor of a random program."""

Named = tuple[str, Chip]


def memories(chip: Chip, least: int, steps: int) -> Iterator[Named]:
    """SharedMemory from a quarter of ``least`` bytes to four times that, in equal ratios."""
    align = chip.shared_memory.alignment
    for step in range(steps + 1):
        size = int(least / 4 * 16 ** (step / steps)) // align * align
        if size:
            yield f"{size:,} B", chip.with_memory(size)


def psrams(name: str, size: int) -> Iterator[Named]:
    """Psram clocks, where the chip has one."""
    clock = float(load_chip(name).psram.clock_mhz)
    for share in CLOCKS:
        sets = [f"psram.clock_mhz={clock * share:g}", f"shared_memory.bytes={size}"]
        yield f"Psram {clock * share:g} MHz", load_chip(name, sets)


def improved(chip: Chip, random: Random) -> tuple[str, Chip]:
    """A chip with one number better than in ``chip``, and which."""
    memory, psram, dma = chip.shared_memory, chip.psram, chip.dma
    more = memory.bytes + random.randint(1, 8) * memory.alignment
    better: dict[str, Callable[[], Chip]] = {"SharedMemory": lambda: chip.with_memory(more)}
    if isinstance(dma, Dma):
        channels = replace(dma.channels, count=dma.channels.count + 1)
        better["channels"] = lambda: replace(chip, dma=replace(dma, channels=channels))
    if isinstance(dma, Dma) and psram.device is None:
        quick, wide = 2 * psram.clock_mhz, 2 * psram.bytes_per_clock
        better["Psram clock"] = lambda: replace(chip, psram=replace(psram, clock_mhz=quick))
        better["Psram width"] = lambda: replace(chip, psram=replace(psram, bytes_per_clock=wide))
    name = random.choice(list(better))
    return name, better[name]()


@dataclass(slots=True)
class Tally:
    """Steps of one kind, by how much the slower ones are slower, and CPU seconds of each plan."""

    streamer: str
    steps: int = 0
    slower: list[float] = field(default_factory=list[float])
    still: int = 0
    """Steps at which the plan that was the fastest takes longer than it did."""
    lost: int = 0
    """Steps at which nothing fits although something did before."""
    bounds: int = 0
    """Steps at which a bound rises."""
    seconds: list[float] = field(default_factory=list[float])

    def plan(self, program: Program, chip: Chip) -> Result | None:
        """A simulated plan; None where none fits."""
        began = time.process_time()
        try:
            result = run(PlanRequest(program, chip, streamer=self.streamer, cascade=CASCADE_AUTO))
        except DoesNotFit:
            return None
        finally:
            self.seconds.append(time.process_time() - began)
        return result if result.fits else None

    def row(self, program: Program, chips: Sequence[Named], bounded: bool) -> Iterator[str]:
        """Yield the steps at which more is slower, ``chips`` from the worst to the best."""
        fastest: tuple[Result, str] | None = None
        least: int | None = None
        for name, chip in chips:
            found = self.plan(program, chip)
            self.steps += fastest is not None
            if fastest:
                yield from self._step(*fastest, found, name, chip)
            if found and (fastest is None or found.trace.cycles < fastest[0].trace.cycles):
                fastest = found, name
            if bounded:
                bound = time_bound(program, chip, {}, cascades=True).cycles
                if least is not None and bound > least:
                    self.bounds += 1
                    yield f"BOUND {least:,} -> {name} {bound:,}"
                least = bound if least is None else min(least, bound)

    def _step(
        self, before: Result, name_before: str, found: Result | None, name: str, chip: Chip
    ) -> Iterator[str]:
        """Count a step, and yield it if it is slower."""
        most, known = before.trace.cycles, on_chip(before, chip)
        self.still += (found is None or found.trace.cycles > most) and (
            known is None or known.trace.cycles > most
        )
        if found is None:
            self.lost += 1
            yield f"{name_before} {most:,} -> {name} does not fit"
        elif found.trace.cycles > most:
            self.slower.append(found.trace.cycles / most - 1)
            yield f"{name_before} {most:,} -> {name} {found.trace.cycles:,}, {self.slower[-1]:.2%} more"

    def __str__(self) -> str:
        said = f"slower at {len(self.slower)} of {self.steps} steps"
        if self.slower:
            said += f" ({sum(each > 0.01 for each in self.slower)} by more than 1 %"
            said += f", median {median(self.slower):.2%}, at most {max(self.slower):.2%})"
        said += f", with the plans before known at {self.still}"
        if self.lost:
            said += f", no plan fits any more at {self.lost}"
        if self.bounds:
            said += f", the bound rises at {self.bounds}"
        return f"{said}; {median(self.seconds):.2f} s a plan, {sum(self.seconds):.0f} s in all"


def networks(args: argparse.Namespace) -> Iterator[tuple[str, str, Program, list[Named]]]:
    """What is compared, network by network: its kind and title, the program, and chips that get better."""
    for network in args.networks.split(","):
        program = reuse(load(f"zoo:{network}"), "all")
        for name in args.chips.split(","):
            chip = load_chip(name)
            least = smallest_capacity(PlanRequest(program, chip, "large-first", "ping-pong")) or 0
            yield "SharedMemory", f"{network} on {name}", program, list(memories(chip, least, args.steps))
            yield "Psram", f"{network} on {name}", program, list(psrams(name, least // 2 // 64 * 64))


def programs(args: argparse.Namespace) -> Iterator[tuple[str, str, Program, list[Named]]]:
    """The same of random programs."""
    for seed in range(args.seed, args.seed + args.programs):
        random = Random(seed)
        chip = tiny_chip(random)
        program = reuse(random_program(seed, TreeShape(depth=0, side=SIDE, channels=SIDE)), "all")
        kind, better = improved(chip, random)
        yield kind, f"seed {seed}, {kind}", program, [("before", chip), ("after", better)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--chips", default=",".join(CHIPS))
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--streamer", default="auto")
    parser.add_argument("--programs", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bounds", action="store_true")
    args = parser.parse_args()
    tallies: dict[str, Tally] = {}
    for kind, title, program, chips in (programs if args.programs else networks)(args):
        tally = tallies.setdefault(kind, Tally(args.streamer))
        for line in tally.row(program, chips, args.bounds):
            print(f"{title}: {line}", flush=True)
    for kind, tally in tallies.items():
        print(f"more {kind}: {tally}")


if __name__ == "__main__":
    main()
