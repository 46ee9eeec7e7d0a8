"""What ``exact`` proves of its plans, and in which time: rows that were chosen beforehand by a seed.

    python -m bench.stream_exact [--rows 40] [--time-limit 60]

Half of the rows are of ``bench/gate_rows.txt``; the others are other networks of the zoo, each on one of the
chips with its own memory, or a half or a quarter of what ``ping-pong`` needs to send nothing out. The first
``--rows`` are run, each for ``--time-limit`` seconds of one core's time. Columns: the ways that are listed,
those that the bound over borders could not exclude, cycles of the default plan and of ``exact``, the bound
that CP-SAT proves of these ways (or that of any plan, if it is higher), the gap, chains of ways that were
built, CPU seconds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from random import Random
from statistics import median

from bench.gaps import CHIPS, MOST_OPS, SEED, roomy, sizes
from chipmodel.answers.result import Result
from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program
from chipmodel.pipeline.choices import CASCADE_AUTO
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from docs.tools.markdown import table
from solvers.core.deadline import Deadline
from workloads.load import load
from workloads.zoo import networks

GATE = Path("bench/gate_rows.txt")
ROWS = 40
PARTS = (0, 2, 4)
HEADS = (
    *("network", "chip", ">SharedMemory", ">ways", ">left", ">default", ">exact", ">bound", ">gap"),
    *("status", ">chains", ">CPU s"),
)
Case = tuple[str, Program, Chip]


def gate_cases(draw: Random) -> Iterator[Case]:
    """Half of the rows from the file of gate rows."""
    lines = [line.split() for line in GATE.read_text().splitlines() if not line.startswith("#")]
    for name, chip, _, size, psram in draw.sample(lines, ROWS // 2):
        sized = load_chip(chip, [f"shared_memory.bytes={size}", f"psram.bytes={psram}"])
        yield name, reuse(load(f"zoo:{name}"), "all"), sized


def other_cases(draw: Random) -> Iterator[Case]:
    """Networks that are not in that file."""
    known = {line.split()[0] for line in GATE.read_text().splitlines()}
    names = sorted({each.name for each in networks()} - known)
    draw.shuffle(names)
    for name in names:
        program = reuse(load(f"zoo:{name}"), "all")
        chip, part = roomy(program, load_chip(draw.choice(CHIPS))), draw.choice(PARTS)
        if sum(1 for _ in program.ops()) <= MOST_OPS:
            yield from ((name, program, sized) for _, sized in sizes(program, chip, [part]))


def cases() -> Iterator[Case]:
    """All rows, of both kinds in turn."""
    yield from chain.from_iterable(zip(gate_cases(Random(SEED)), other_cases(Random(SEED)), strict=False))


def exact_run(program: Program, chip: Chip, seconds: float) -> tuple[Result, float]:
    """A run within so many CPU seconds, and those it took. Raises DoesNotFit."""
    began = time.process_time()
    deadline = Deadline(began + seconds, time.process_time)
    found = run(PlanRequest(program, chip, streamer="exact", cascade=CASCADE_AUTO, deadline=deadline))
    return found, time.process_time() - began


def bound_of(result: Result) -> int:
    """The higher one of what CP-SAT proves of the listed ways, and of the bound of any plan."""
    return max(result.bound.cycles, result.proof.bound if result.proof else 0)


def cells(name: str, result: Result, seconds: float) -> tuple[str, ...]:
    """A row of the table."""
    proof, cycles, bound = result.proof, result.trace.cycles, bound_of(result)
    counts = (proof.listed, proof.left) if proof else (None, None)
    sizes = result.chip.shared_memory.bytes, *counts, result.default_cycles, cycles, bound
    status = "optimal" if cycles <= bound else "feasible" if proof else "no proof"
    numbers = ("-" if each is None else f"{each:,}" for each in sizes)
    tried = str(proof.tried) if proof else "-"
    last = f"{cycles / bound - 1:.2%}", status, tried, f"{seconds:.0f}"
    return (name, result.chip.name, *numbers, *last)


def summary(results: Sequence[Result]) -> str:
    """How many are proven, and the gap of the rest."""
    gaps = [each.trace.cycles / bound_of(each) - 1 for each in results]
    rest = [gap for gap in gaps if gap > 0]
    least = sum(bool(each.proof and each.proof.model == "optimal") for each in results)
    faster = sum(1 for each in results if each.trace.cycles < (each.default_cycles or 0))
    return (
        f"{len(gaps)} rows: {len(gaps) - len(rest)} plans are proven optimal; gap of the rest "
        f"{median(rest or [0]):.2%} at the median, {max(rest, default=0):.2%} at most; the bound is the "
        f"least of all chains on {least}; {faster} plans are faster than the default's."
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, each row as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--time-limit", type=float, default=60)
    args = parser.parse_args(arguments)
    print(table(HEADS, []))
    results: list[Result] = []
    for name, program, chip in islice(cases(), args.rows):
        try:
            result, seconds = exact_run(program, chip, args.time_limit)
        except DoesNotFit as refusal:
            print(f"| {name} | {chip.name} | {chip.shared_memory.bytes:,} | {refusal.what} |", flush=True)
            continue
        results.append(result)
        print("| " + " | ".join(cells(name, result, seconds)) + " |", flush=True)
    print("\n" + summary(results))


if __name__ == "__main__":
    main()
