"""Speed-up over the cores of a chip, layer by layer, and what no assignment of ops to cores can beat.

python -m bench.cores
python -m bench.cores --cores 1,2 zoo:googlenet
python -m bench.cores --split
"""

from __future__ import annotations

from collections.abc import Sequence

import click

import chipmodel as cm
from chipmodel.bounds.time_bound import time_bound
from chipmodel.hardware.chip import Chip
from chipmodel.npu.cycles import op_cycles
from chipmodel.timing.transfer import transfer_cycles
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
)
"""Networks that are planned in seconds."""


def row(network: str, cores: Sequence[int], chip: str) -> list[str]:
    """A network: cycles on one core, the speed-up on each number of cores, and the most
    that the bound for plans with or without cascades allows on the last one."""
    runs = [
        cm.simulate(
            network, cm.chip(chip, cores=n), packer="large-first", streamer="prefetch-greedy", cascade="off"
        )
        for n in cores
    ]
    alone = runs[0].cycles
    last = runs[-1]
    most = time_bound(last.program, last.chip, last.result.trace.path, cascades=True).cycles
    ups = [f"{alone / run.cycles:.2f}" for run in runs[1:]]
    return [f"`{network}`", f"{alone:,}", *ups, f"{last.cycles:,}", f"{most:,}", f"{alone / most:.2f}"]


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
    heads = ["network", "cycles on 1 core", *(f"{n} cores" for n in counts[1:])]
    heads += [f"cycles on {counts[-1]}", "bound", "most by the bound"]
    print(table(heads, [row(name, counts, chip) for name in networks or NETWORKS]))


if __name__ == "__main__":
    main()
