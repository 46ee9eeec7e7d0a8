"""What is called exact beside the default, each with the same limit: never worse.

    python -m bench.rivals [--networks resnet8,...] [--chips luna-arcs,...] [--parts 0,2] [--limits 1,5,20]

Networks, chips and memory are as in ``bench.gaps``. Each row has the cycles of the default streamer and of
``exact``, and the peak of the default packer and of ``exact`` on the default's schedule. The default is asked
before and after ``exact``, and the better answer counts. At the end, for each limit, the rows where ``exact``
is behind.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from bench.gaps import sizes
from chipmodel.answers.result import Result
from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program
from chipmodel.pipeline.choices import CASCADE_AUTO, DEFAULT_PACKER, DEFAULT_STREAMER
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from solvers.core.deadline import deadline_in
from workloads.load import load

NOWHERE = float("inf")
SCHEDULED_BY = "prefetch-greedy"
"""The streamer whose buffers both packers pack."""


class Pair(NamedTuple):
    """Cycles or bytes of the default and of ``exact``; infinite where a plan does not fit."""

    default: float
    exact: float

    @property
    def behind(self) -> bool:
        return self.exact > self.default


def answered(
    program: Program, chip: Chip, limit: float, streamer: str, packer: str, value: Callable[[Result], int]
) -> float:
    """Return a value of the plan made within ``limit`` seconds; infinite where none fits."""
    asked = PlanRequest(program, chip, packer, streamer, cascade=CASCADE_AUTO, smallest_peak=True)
    try:
        result = run(asked.until(deadline_in(limit)))
    except DoesNotFit:
        return NOWHERE
    return value(result) if result.fits else NOWHERE


def pairs(program: Program, chip: Chip, limit: float) -> tuple[Pair, Pair]:
    """Return cycles by streamer, peaks by packer."""

    def pair(ask: Callable[[str], float], default: str) -> Pair:
        before, exact = ask(default), ask("exact")
        return Pair(min(before, ask(default)), exact)

    def cycles(streamer: str) -> float:
        return answered(program, chip, limit, streamer, DEFAULT_PACKER, lambda run: run.trace.cycles)

    def peak(packer: str) -> float:
        return answered(program, chip, limit, SCHEDULED_BY, packer, lambda run: run.solved.peak)

    return pair(cycles, DEFAULT_STREAMER), pair(peak, DEFAULT_PACKER)


def summary(rows: Sequence[tuple[float, Pair, Pair]]) -> Iterator[str]:
    """Where ``exact`` stands with each limit."""
    for limit in sorted({row[0] for row in rows}):
        for index, what in ((1, "cycles"), (2, "peak")):
            found = [pair for row in rows if row[0] == limit and isinstance(pair := row[index], Pair)]
            ahead = sum(pair.exact < pair.default for pair in found)
            behind = sum(pair.behind for pair in found)
            yield f"{limit:g} s, {what}: {len(found)} rows, exact ahead on {ahead}, behind on {behind}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--networks", default="resnet8,ds_cnn,mobilenetv1_025,micronet_kws,mobilenetv2")
    parser.add_argument("--chips", default="stm32n6,alif-e7,luna-arcs,luna-csk6")
    parser.add_argument("--parts", default="0,2")
    parser.add_argument("--limits", default="1,5,20")
    args = parser.parse_args()
    rows: list[tuple[float, Pair, Pair]] = []
    print("| network | chip | part | limit, s | auto, cycles | exact | auto, peak | exact |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for network in args.networks.split(","):
        program = reuse(load(f"zoo:{network}"), "all")
        for name in args.chips.split(","):
            for part, chip in sizes(program, load_chip(name), [int(each) for each in args.parts.split(",")]):
                for limit in map(float, args.limits.split(",")):
                    rows.append((limit, *pairs(program, chip, limit)))
                    values = " | ".join(f"{value:,}" for pair in rows[-1][1:] for value in pair)
                    print(f"| {network} | {name} | {part} | {limit:g} | {values} |", flush=True)
    print("\n".join(summary(rows)))


if __name__ == "__main__":
    main()
