"""How long planning takes with cascades compared with none, and how much faster the plans are.

Per built-in network, chip and SharedMemory (the least that the default streamer needs without spilling, a
half and a quarter of it): seconds of CPU time to plan with ``--cascade off`` and ``auto``, the shortest of
several tries in turn, and the cycles of both plans. Every try builds the network again, so that nothing kept
for it is used twice.

    python -m bench.cascade_speed [--chips luna-arcs,...] [--networks zoo:resnet18,...] [--seconds 600]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from time import process_time

from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.pipeline.choices import CASCADE_AUTO, CASCADE_OFF
from chipmodel.pipeline.plan import plan, smallest_capacity
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.in_place import reuse
from workloads.load import load
from workloads.zoo import networks

CHIPS = ("alif-e7", "luna-arcs", "gap9-psram")
PARTS = (1, 2, 4)
MOST_TIMES = 1.5
"""How many times the seconds without cascades planning may take."""
MOST_SECONDS = 1.0
"""How many seconds longer planning a built-in network may take."""


@dataclass(frozen=True, slots=True)
class Row:
    """Seconds and cycles with ``--cascade off`` and ``auto``; cycles are None where no plan fits."""

    network: str
    chip: str
    part: int
    size: int
    seconds: tuple[float, float]
    cycles: tuple[int | None, int | None]

    @property
    def times(self) -> float:
        off, auto = self.seconds
        return auto / off

    @property
    def more(self) -> float:
        off, auto = self.seconds
        return auto - off

    @property
    def is_slower(self) -> bool:
        """Whether the plan with cascades allowed is slower, or does not fit where the other one does."""
        off, auto = self.cycles
        return off is not None and (auto is None or auto > off)

    def cells(self) -> Iterator[str]:
        yield from (self.network, self.chip, f"{self.size:,}")
        yield from (f"{each:.2f}" for each in self.seconds)
        yield from (f"{self.times:.2f}", f"{self.more:+.2f}")
        yield from ("does not fit" if each is None else f"{each:,}" for each in self.cycles)


def planned(network: str, chip: Chip, cascade: str) -> tuple[float, int | None]:
    """CPU seconds to plan a network, and the cycles of the plan."""
    program = reuse(load(network), "all")
    began = process_time()
    try:
        found = plan(PlanRequest(program, chip, cascade=cascade))
    except DoesNotFit:
        return process_time() - began, None
    seconds = process_time() - began
    if found.solved.peak > chip.shared_memory.bytes:
        return seconds, None
    trace = found.trace or simulate(found.commands, chip)
    return seconds, trace.cycles


def row(network: str, chip: Chip, part: int, tries: int) -> Row:
    """One network on a chip."""
    found = [[planned(network, chip, each) for each in (CASCADE_OFF, CASCADE_AUTO)] for _ in range(tries)]
    off, auto = (min(seconds) for seconds in zip(*([s for s, _ in each] for each in found), strict=True))
    (_, plain), (_, cascaded) = found[0]
    return Row(network, chip.name, part, chip.shared_memory.bytes, (off, auto), (plain, cascaded))


def rows(names: Sequence[str], chips: Sequence[str], tries: int, seconds: float) -> Iterator[Row]:
    """Rows until ``seconds`` of the process's time are over."""
    began = process_time()
    for network in names:
        for name in chips:
            chip = load_chip(name)
            size = smallest_capacity(PlanRequest(reuse(load(network), "all"), chip)) or 0
            for part in PARTS:
                if process_time() - began > seconds:
                    return
                memory = chip.shared_memory
                bytes_ = size // part // memory.alignment * memory.alignment
                yield row(network, replace(chip, shared_memory=replace(memory, bytes=bytes_)), part, tries)


def summary(seen: Sequence[Row]) -> str:
    """What the table says, in a few sentences."""
    times, more = [each.times for each in seen], [each.more for each in seen]
    words = [
        f"{len(seen)} rows: {median(times):.2f} times the seconds without cascades at the median,",
        f"{max(times):.2f} at most; above {MOST_TIMES} on {sum(each > MOST_TIMES for each in times)}.",
        f"{median(more):+.2f} s at the median, {max(more):+.2f} s at most;",
        f"{sum(each > MOST_SECONDS for each in more)} take more than {MOST_SECONDS:.0f} s longer.",
        f"Slower plans: {sum(each.is_slower for each in seen)}.",
    ]
    for part, size in zip(PARTS, ("the comfortable size", "a half", "a quarter"), strict=True):
        own = [each for each in seen if each.part == part]
        gains = [off / auto for off, auto in (each.cycles for each in own) if off and auto]
        if gains:
            words.append(
                f"At {size}: {median(each.times for each in own):.2f} times the seconds, "
                f"plans {median(gains):.3f} times as fast at the median, {max(gains):.2f} at most."
            )
    return " ".join(words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--chips", default=",".join(CHIPS))
    parser.add_argument("--networks", default=",".join(f"zoo:{network.name}" for network in networks()))
    parser.add_argument("--tries", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=600)
    asked = parser.parse_args()
    titles = ("network", "chip", "SharedMemory", "off s", "auto s", "times", "more s", "off", "auto")
    print("| " + " | ".join(titles) + " |")
    print("| --- | --- |" + " ---: |" * (len(titles) - 2), flush=True)
    seen: list[Row] = []
    for each in rows(asked.networks.split(","), asked.chips.split(","), asked.tries, asked.seconds):
        seen.append(each)
        print("| " + " | ".join(each.cells()) + " |", flush=True)
    if seen:
        print("\n" + summary(seen))


if __name__ == "__main__":
    main()
