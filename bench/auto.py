"""Streamer and packer ``auto`` against every quick streamer and every packer, on random points.

    python -m bench.auto --points 24 --seed 1 [--networks zoo:resnet8,model.onnx,rec.onnx@x=1,3,48,320]

A point is a network on a chip with the comfortable SharedMemory (where ``sync`` with ``large-first`` spills
nothing), a half or a quarter of it. Printed for each: whether ``auto`` fits and which others do, its cycles
over those of ``sync`` and of the best quick streamer that fits, and the CPU seconds of planning beside those
of ``ping-pong`` with ``large-first``. ``REFUSES`` marks a point at which another pair of planners fits and
``auto`` does not, ``SLOWER`` one at which it takes more cycles than ``sync``.

Without ``--networks``: the built-in networks and the models that come with the onnx package.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median

from bench.streamers import with_memory
from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip, preset_names
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program
from chipmodel.pipeline.plan import plan, smallest_capacity
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.in_place import reuse
from workloads.load import load, parse_shape_option
from workloads.zoo import networks

QUICK_STREAMERS = (
    *("sync", "ping-pong", "weight-pipeline", "prefetch-k", "prefetch-greedy"),
    *("ping-pong-across", "resident-knapsack"),
)
PACKERS = ("large-first", "short-first", "sequential", "greedy-best-fit", "conflict-first", "exact")
"""Packers whose plan may fit where that of ``auto`` does not."""
ONNX_MODELS = (
    *("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet"),
    *("squeezenet", "vgg19", "zfnet512"),
)
PARTS = (1, 2, 4)


@dataclass(frozen=True, slots=True)
class Run:
    """One plan: its planners, simulated cycles, whether it fits, and CPU seconds of planning."""

    streamer: str
    packer: str
    cycles: int
    fits: bool
    seconds: float


def run(program: Program, chip: Chip, streamer: str, packer: str) -> Run | None:
    """The plan of these planners; None where there is no schedule."""
    began = time.process_time()
    try:
        planned = plan(PlanRequest(program, chip, packer, streamer))
    except DoesNotFit:
        return None
    seconds = time.process_time() - began
    fits = planned.solved.peak <= chip.shared_memory.bytes
    trace = planned.trace or simulate(planned.commands, chip)
    return Run(planned.schedule.streamer, planned.solved.planner, trace.cycles, fits, seconds)


def loaded(network: str) -> Program:
    """The program of ``WORKLOAD`` or ``WORKLOAD@NAME=D,D,...``, with in-place reuse."""
    name, _, shape = network.partition("@")
    shapes = dict([parse_shape_option(shape)]) if shape else {}
    return reuse(load(name, shapes=shapes), "all")


def row(network: str, chip_name: str, part: int) -> tuple[str, float | None, float, float]:
    """A line of the table, cycles over the best quick streamer's, and seconds of auto and of ping-pong."""
    program, chip = loaded(network), load_chip(chip_name)
    comfortable = smallest_capacity(PlanRequest(program, chip, "large-first", "sync"))
    assert comfortable is not None, f"{network} fits into 4 GiB"
    sized = with_memory(chip, comfortable // part)
    auto = run(program, sized, "auto", "auto")
    quick = {name: run(program, sized, name, "auto") for name in QUICK_STREAMERS}
    plain = run(program, sized, "ping-pong", "large-first")
    fitting = {name: found for name, found in quick.items() if found and found.fits}
    remarks: list[str] = []
    ratio: float | None = None
    if auto is None or not auto.fits:
        others = list(fitting) + [
            packer for packer in PACKERS if (found := run(program, sized, "sync", packer)) and found.fits
        ]
        remarks = [f"REFUSES: {', '.join(others)} fits"] if others else ["nothing fits"]
        cells = ["-"] * 4
    else:
        best = min((found.cycles for found in fitting.values()), default=auto.cycles)
        ratio = auto.cycles / best
        sync = fitting.get("sync")
        against = "-" if sync is None else f"{auto.cycles / sync.cycles:.3f}"
        if sync is not None and auto.cycles > sync.cycles:
            remarks.append("SLOWER")
        cells = [f"{auto.cycles / 1e6:.2f} M", against, f"{ratio:.4f}", f"{auto.streamer}, {auto.packer}"]
    seconds = auto.seconds if auto else 0.0
    plain_seconds = plain.seconds if plain else 0.0
    name = Path(network.partition("@")[0]).name
    head = [name, chip_name, f"1/{part}", *cells, f"{seconds:.2f}", f"{plain_seconds:.2f}", " ".join(remarks)]
    return f"| {' | '.join(head)} |", ratio, seconds, plain_seconds


def points(networks: Sequence[str], count: int, seed: int) -> Iterator[tuple[str, str, int]]:
    """``count`` different points of all."""
    everything = [(n, chip, part) for n in networks for chip in preset_names() for part in PARTS]
    yield from Random(seed).sample(everything, min(count, len(everything)))


def main(arguments: Sequence[str]) -> None:
    """Print the table and the medians; exit code 1 where ``auto`` refuses or is slower."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    everything = [f"zoo:{n.name}" for n in networks("classic")] + [f"onnx:light_{n}" for n in ONNX_MODELS]
    parser.add_argument("--networks", nargs="+", default=everything, metavar="WORKLOAD[@NAME=D,D,...]")
    parser.add_argument("--points", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    print("| network | chip | memory | cycles | / sync | / best quick | chosen | s | ping-pong s | |")
    print("| --- | --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | --- |")
    ratios: list[float] = []
    seconds: list[tuple[float, float]] = []
    bad = 0
    for network, chip, part in points(options.networks, options.points, options.seed):
        line, ratio, own, plain = row(network, chip, part)
        print(line, flush=True)
        ratios += [] if ratio is None else [ratio]
        seconds.append((own, plain))
        bad += "REFUSES" in line or "SLOWER" in line
    if ratios:
        own, plain = (median(each) for each in zip(*seconds, strict=True))
        print(f"\nauto fits at {len(ratios)} of {len(seconds)} points; refuses or slower than sync at {bad};")
        print(f"above the best quick streamer: {median(ratios) - 1:.2%} median, {max(ratios) - 1:.2%} most;")
        print(f"planning: {own:.2f} s median against {plain:.2f} s, {max(s for s, _ in seconds):.1f} s most")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
