"""Speed-up over the cores of a chip, and what no plan can beat.

python -m bench.cores
python -m bench.cores --cores 1,2 zoo:googlenet
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click

import chipmodel as cm
from chipmodel.hardware.chip import Chip
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
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
    bound: int
    dma: float
    """The share of the run in which the DMA engine is busy."""


def core_runs(network: str, counts: Sequence[int], chip: str) -> list[CoreRun]:
    """The runs of a network on each number of cores, of which the first is 1."""
    return [_core_run(network, cm.chip(chip, cores=cores)) for cores in counts]


def _core_run(network: str, chip: Chip) -> CoreRun:
    program = reuse(fitted(cm.load(network), chip), "all")
    request = PlanRequest(program, chip, "large-first", "prefetch-greedy")
    found = run(request)
    cycles, bound = found.trace.cycles, found.bound.cycles
    assert bound <= cycles, f"{network}: a bound of {bound} is beaten"
    return CoreRun(chip.cores, cycles, bound, found.trace.busy("dma") / cycles)


def row(network: str, runs: Sequence[CoreRun]) -> list[str]:
    """Cycles on one core, speed-ups, and on the last number of cores the most by the bound and how busy the
    DMA engine is."""
    alone, last = runs[0].cycles, runs[-1]
    ups = [f"{alone / each.cycles:.2f}" for each in runs[1:]]
    busy = f"{last.dma:.0%}".replace("%", " %")
    return [f"`{network}`", f"{alone:,}", *ups, f"{alone / last.bound:.2f}", busy]


@click.command()
@click.argument("networks", nargs=-1)
@click.option("--cores", default="1,2,4,8,16", show_default=True, help="Numbers of cores, the first is 1.")
@click.option("--chip", default="luna-arcs", show_default=True)
def main(networks: tuple[str, ...], cores: str, chip: str) -> None:
    """Print a row for each network."""
    counts = [int(each) for each in cores.split(",")]
    heads = ["network", "cycles on 1 core", *(f"{n} cores" for n in counts[1:])]
    heads += ["most by the bound", "DMA busy"]
    print(table(heads, [row(name, core_runs(name, counts, chip)) for name in networks or NETWORKS]))


if __name__ == "__main__":
    main()
