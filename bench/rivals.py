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
from dataclasses import replace
from typing import NamedTuple

from bench.gaps import sizes
from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program
from chipmodel.pipeline.choices import CASCADE_AUTO, DEFAULT_PACKER, DEFAULT_STREAMER
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from solvers.core.deadline import deadline_in
from solvers.core.outcome import Limits
from solvers.registry import solve
from workloads.load import load

NOWHERE = float("inf")
SCHEDULED_BY = "prefetch-greedy"
"""The streamer whose buffers both packers pack, made without a limit."""


class Pair(NamedTuple):
    """Cycles or bytes of the default and of ``exact``; infinite where a plan does not fit."""

    default: float
    exact: float

    @property
    def behind(self) -> bool:
        return self.exact > self.default


def cycles(program: Program, chip: Chip, limit: float, streamer: str) -> float:
    """Return the cycles of the plan made within ``limit`` seconds; infinite where none fits."""
    asked = PlanRequest(program, chip, streamer=streamer, cascade=CASCADE_AUTO)
    try:
        result = run(asked.until(deadline_in(limit)))
    except DoesNotFit:
        return NOWHERE
    return result.trace.cycles if result.fits else NOWHERE


def pairs(program: Program, chip: Chip, limit: float) -> tuple[Pair, Pair]:
    """Return cycles by streamer, peaks by packer."""
    problem = replace(plan(PlanRequest(program, chip, streamer=SCHEDULED_BY)).problem, capacity=None)

    def pair(ask: Callable[[str], float], default: str) -> Pair:
        before, exact = ask(default), ask("exact")
        return Pair(min(before, ask(default)), exact)

    return (
        pair(lambda streamer: cycles(program, chip, limit, streamer), DEFAULT_STREAMER),
        pair(lambda packer: solve(problem, packer, Limits(seconds=limit)).peak, DEFAULT_PACKER),
    )


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
