"""Speed-up over the cores of a chip with whole ops and with split ones, and what no plan can beat.

python -m bench.cores
python -m bench.cores --cores 1,2 zoo:googlenet
python -m bench.cores --split
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import click

import chipmodel as cm
from chipmodel.answers.result import BINDING_SHARE
from chipmodel.hardware.chip import Chip
from chipmodel.npu.cycles import op_cycles
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from chipmodel.timing.transfer import transfer_cycles
from dma.residency.fitted import fitted
from docs.tools.markdown import table

NETWORKS = (
    "zoo:resnet8",
    "zoo:ds_cnn",
    "zoo:mobilenetv1_025",
    "zoo:autoencoder",
    "zoo:dnn_kws",
    "zoo:micronet_kws",
    "zoo:face_msr",
    "zoo:rnnoise",
    "zoo:mobilenetv2",
    "zoo:squeezenet",
)
"""Networks that are planned in seconds."""


@dataclass(frozen=True, slots=True)
class CoreRun:
    """A network on so many cores: the cycles, and what they are compared with."""

    cores: int
    cycles: int
    whole: int
    """With every op on one core."""
    bound: int
    dma: float
    """The share of the run in which the DMA engine is busy."""
    split: int
    """Ops that are split."""


def core_runs(network: str, counts: Sequence[int], chip: str) -> list[CoreRun]:
    """The runs of a network on each number of cores, of which the first is 1."""
    return [_core_run(network, cm.chip(chip, cores=cores)) for cores in counts]


def _core_run(network: str, chip: Chip) -> CoreRun:
    program = reuse(fitted(cm.load(network), chip), "all")
    request = PlanRequest(program, chip, "large-first", "prefetch-greedy")
    found = run(request)
    whole = run(replace(request, split_ops=False)) if chip.cores > 1 else found
    split = len(found.split.split.ops) if found.split else 0
    cycles, bound = found.trace.cycles, found.bound.cycles
    assert bound <= min(cycles, whole.trace.cycles), f"{network}: a bound of {bound} is beaten"
    dma = found.trace.busy("dma") / cycles
    return CoreRun(chip.cores, cycles, whole.trace.cycles, bound, dma, split)


def row(network: str, runs: Sequence[CoreRun]) -> list[str]:
    """Cycles on one core, speed-ups with whole ops and with split ones, and on the last number of cores the
    most by the bound, how busy the DMA engine is, and what binds."""
    alone, last = runs[0].cycles, runs[-1]
    whole = max(alone / each.whole for each in runs)
    ups = [f"{alone / each.cycles:.2f}" for each in runs[1:]]
    return [
        *(f"`{network}`", f"{alone:,}", f"{whole:.2f}", *ups),
        *(f"{alone / last.bound:.2f}", f"{last.dma:.0%}".replace("%", " %"), binds(runs)),
    ]


def binds(runs: Sequence[CoreRun]) -> str:
    """What keeps the last cores from helping, in words."""
    last = runs[-1]
    if not last.split:
        return "DMA, on one core too" if last.dma >= BINDING_SHARE else "handing over would cost more"
    return "DMA, which all cores share" if last.dma >= BINDING_SHARE else "waits for halo rows and joins"


def split_row(network: str, chip: Chip) -> list[str]:
    """The cycles of two cores that compute half of every op each: of an NPU, and of the one DMA engine.

    By rows each core loads all weights and hands over a halo row; by channels it loads half of the weights
    and hands over its half of every output.
    """
    program = cm.load(network)
    npu = weights = halo = halves = 0
    for op in program.ops():
        npu += op_cycles(chip.npu, op, op.work.rows, op.work.channels)
        block = program.block_bytes(op)
        weights += transfer_cycles(chip, "weights", block) if block else 0
        made = program.tensors[op.outputs[0]]
        halves += _handed_over(chip, -(-made.bytes // 2))
        if len(made.shape) == 4 and made.shape[2] > 1:
            halo += _handed_over(chip, made.bytes // made.shape[2])
    by_rows, by_channels = 2 * weights + halo, weights + halves
    figures = (npu // 2, 2 * weights, halo, by_rows, halves, by_channels)
    return [f"`{network}`", *(f"{each:,}" for each in figures)]


def _handed_over(chip: Chip, size: int) -> int:
    """Cycles of the DMA engine in which two cores hand ``size`` bytes to each other through Psram."""
    return 2 * (transfer_cycles(chip, "store", size) + transfer_cycles(chip, "load", size))


@click.command()
@click.argument("networks", nargs=-1)
@click.option("--cores", default="1,2,4,8,16", show_default=True, help="Numbers of cores, the first is 1.")
@click.option("--chip", default="luna-arcs", show_default=True)
@click.option("--split", is_flag=True, help="What it would cost to split every op over two cores.")
def main(networks: tuple[str, ...], cores: str, chip: str, split: bool) -> None:
    """Print a row for each network."""
    if split:
        names = ("half of NPU", "weights twice", "halo rows", "DMA by rows", "halves", "DMA by channels")
        target = cm.chip(chip)
        print(table(["network", *names], [split_row(name, target) for name in networks or NETWORKS]))
        return
    counts = [int(each) for each in cores.split(",")]
    heads = ["network", "cycles on 1 core", "whole ops", *(f"{n} cores" for n in counts[1:])]
    heads += ["most by the bound", "DMA busy", "binds"]
    print(table(heads, [row(name, core_runs(name, counts, chip)) for name in networks or NETWORKS]))


if __name__ == "__main__":
    main()
