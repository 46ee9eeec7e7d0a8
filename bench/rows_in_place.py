"""Cycles with outputs in place by rows, and without, where SharedMemory is short.

Per network and chip, with the SharedMemory in which the default streamer moves no tensor without such ops and
cascades, and with three quarters, a half and a quarter of it: the cycles of the default plan without rows in
place and with them, how many outputs are in place by rows, and how many times as long planning takes.

    python -m bench.rows_in_place [--chips alif-e7,...] [--networks zoo:ds_cnn,...]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from fractions import Fraction
from time import process_time
from typing import NamedTuple

from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.pipeline.plan import plan, smallest_capacity
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.in_place import reuse
from workloads.load import load

CHIPS = ("alif-e7", "luna-arcs", "stm32n6", "gap9-psram")
NETWORKS = ("zoo:ds_cnn", "zoo:resnet8", "zoo:mobilenetv1_025", "zoo:autoencoder", "zoo:micronet_kws")
PARTS = (Fraction(1), Fraction(3, 4), Fraction(1, 2), Fraction(1, 4))


class Tried(NamedTuple):
    """What a plan came to; no cycles where none fits."""

    cycles: int | None
    ops: int
    seconds: float


def tried(network: str, chip: Chip, by_rows: bool) -> Tried:
    """The default plan, with outputs in place ``by_rows`` where that is faster, or without."""
    request = PlanRequest(reuse(load(network), "all"), chip, cascade="auto", rows_in_place=by_rows)
    began = process_time()
    try:
        found = plan(request)
    except DoesNotFit:
        return Tried(None, 0, process_time() - began)
    seconds = process_time() - began
    trace = found.trace or simulate(found.commands, chip)
    fits = found.solved.peak <= chip.shared_memory.bytes
    return Tried(trace.cycles if fits else None, len(found.schedule.in_rows), seconds)


def cells(network: str, chip: Chip) -> str:
    """A row of the table."""
    before, after = (tried(network, chip, by_rows) for by_rows in (False, True))
    faster = f"{before.cycles / after.cycles:.2f}" if before.cycles and after.cycles else ""
    counts = ("does not fit" if each.cycles is None else f"{each.cycles:,}" for each in (before, after))
    times = f"{after.seconds / before.seconds:.2f}"
    size = f"{chip.shared_memory.bytes:,}"
    return " | ".join((network.removeprefix("zoo:"), chip.name, size, *counts, faster, str(after.ops), times))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--chips", default=",".join(CHIPS))
    parser.add_argument("--networks", default=",".join(NETWORKS))
    given = parser.parse_args(arguments)
    print("| network | chip | SharedMemory B | cycles before | after | faster | ops by rows | times the s |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for network in given.networks.split(","):
        for name in given.chips.split(","):
            chip = load_chip(name)
            size = smallest_capacity(PlanRequest(reuse(load(network), "all"), chip)) or 0
            for part in PARTS:
                step = chip.shared_memory.alignment
                print(f"| {cells(network, chip.with_memory(int(size * part) // step * step))} |", flush=True)


if __name__ == "__main__":
    main()
