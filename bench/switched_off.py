"""Planning steps switched off together: what plans take without them, by class of memory, and planning CPU.

python -m bench.switched_off [--steps "finer cuts,..."] [--rows bench/gate_rows.txt] [--further 20]

The rows of the file were chosen before; ``--further`` adds rows drawn by a seed from the other built-in
networks, chips and parts of memory.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from math import exp, log
from pathlib import Path
from statistics import fmean
from typing import NamedTuple
from unittest.mock import patch

from bench.gaps import MOST_OPS, SEED, roomy, sizes
from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program
from chipmodel.pipeline.choices import CASCADE_AUTO
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.weights_in_place import with_weights_in_place
from dma.streamers.prefetch_greedy import early
from workloads.load import load
from workloads.zoo import networks

CHIPS = ("stm32n6", "alif-e7", "luna-arcs", "gap9-psram")
PARTS = {0: "own memory", 2: "half", 4: "quarter"}

STEPS: Mapping[str, tuple[str, object]] = {
    "choice of weights in place": (
        "chipmodel.pipeline.plan.with_chosen_weights",
        lambda request, rank: _as_asked(request),
    ),
    "finer cuts": (
        "chipmodel.pipeline.plan.with_finer_cuts",
        lambda request, attempt, fits: attempt(request),
    ),
    "rows in place": (
        "chipmodel.pipeline.rows_choice._by_rows",
        lambda request: (),
    ),
    "cascades": ("chipmodel.pipeline.cascade_search._along_paths", lambda request, path: None),
    "weights in idle time": (
        "dma.streamers.by_ways.in_idle_time",
        early,  # as early as memory allows
    ),
    "weights loaded again": ("dma.columns.chains._sets_again", lambda ops, sizes, own: iter((0,))),
}
"""The function that is a step, and what stands in its place."""


def _as_asked(request: PlanRequest) -> PlanRequest:
    return replace(request, program=with_weights_in_place(request.program, request.chip))


class Row(NamedTuple):
    name: str
    part: int
    program: Program
    chip: Chip


def rows_of(path: Path) -> Iterator[Row]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            network, name, part, memory, psram = line.split()
            program, chip = reuse(load(f"zoo:{network}"), "all"), load_chip(name).with_memory(int(memory))
            chip = replace(chip, psram=replace(chip.psram, bytes=int(psram)))
            yield Row(f"{network} {name}", int(part), program, chip)


def further_rows(known: Iterable[str], count: int) -> Iterator[Row]:
    names = sorted({each.name for each in networks()} - {each.split()[0] for each in known})
    draw = random.Random(SEED)
    draw.shuffle(names)
    for network in names:
        program = reuse(load(f"zoo:{network}"), "all")
        chip, part = draw.choice(CHIPS), draw.choice((*PARTS,))
        if not count or len([*program.ops()]) > MOST_OPS:
            continue
        for _, sized in sizes(program, roomy(program, load_chip(chip)), (part,)):
            count -= 1
            yield Row(f"{network} {chip}", part, program, sized)


def planned(row: Row) -> tuple[int | None, float]:
    """The cycles of the plan, None where it does not fit, and the CPU seconds of planning."""
    began = time.process_time()
    try:
        result = run(PlanRequest(row.program, row.chip, cascade=CASCADE_AUTO))
        cycles = result.trace.cycles if result.fits else None
    except DoesNotFit:
        cycles = None
    return cycles, time.process_time() - began


def switched_off(row: Row, steps: Sequence[str]) -> tuple[int | None, float]:
    with ExitStack() as stack:
        for step in steps:
            stack.enter_context(patch(*STEPS[step]))
        return planned(row)


def summary(ratios: Mapping[int, Sequence[float]]) -> Iterator[str]:
    """The geometric mean and the worst row of each class of memory."""
    for part, found in ratios.items():
        if found:
            mean = exp(fmean(map(log, found)))
            yield f"{PARTS[part]}: {len(found)} rows, geometric mean {mean:.4f}, worst {max(found):.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--steps", default=",".join(STEPS))
    parser.add_argument("--rows", default=str(Path(__file__).parent / "gate_rows.txt"))
    parser.add_argument("--further", type=int, default=20)
    args = parser.parse_args()
    rows = [*rows_of(Path(args.rows))]
    rows += further_rows([row.name for row in rows], args.further)
    print("| row | part | cycles | without | ratio | CPU ratio |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    ratios: dict[int, list[float]] = {part: [] for part in PARTS}
    spent = [0.0, 0.0]
    for row in rows:
        (usual, before), (off, after) = planned(row), switched_off(row, args.steps.split(","))
        spent = [spent[0] + before, spent[1] + after]
        if usual and off:
            ratios[row.part].append(off / usual)
        ratio = f"{off / usual:.4f}" if usual and off else "refused" if usual else "no plan"
        shown = [f"{each:,}" if each else "-" for each in (usual, off)]
        print(
            f"| {row.name} | {row.part} | {' | '.join(shown)} | {ratio} | {after / before:.2f} |", flush=True
        )
    print("\n".join(summary(ratios)))
    print(f"CPU {spent[1] / spent[0]:.2f}")


if __name__ == "__main__":
    main()
