"""Print a table of the smallest SharedMemory of built-in networks, with cascades and without.

    python -m bench.smallest_memory [--chip alif-e7] [--set PATH=VALUE] [NETWORK ...]

Arm's figures are those of Vela 5.2.0 with ``--optimise Size`` for an Ethos-U55-256, int8 models with random
weights: the SRAM that it reports, weights streamed through it included. MCUNetV2's is that of Lin et al. 2021
(arXiv:2110.15352, table 1) for 4 x 4 patches of the same network: activations alone, without the input image,
as an author says in github.com/mit-han-lab/mcunet, issue 9.
"""

from __future__ import annotations

from time import perf_counter

import click

from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.smallest_memory import smallest_memory
from chipmodel.rewrites.in_place import reuse
from workloads.load import load

NETWORKS = (
    "mobilenetv2",
    "mobilenetv1_025",
    "mobilenetv1_025?input=224&width=1.0&classes=1000",
    "resnet8",
    "ds_cnn",
    "resnet18",
    "resnet50",
    "shufflenetv1",
    "googlenet",
    "blazeface",
    "fusiondetect",
    "skipnet",
    "vgg16",
)
MCUNETV2_KIB = {"mobilenetv2": "172"}
"""1,372 layer by layer, which is 1,404,928 B, input and output of the first expansion; so KiB are meant."""
VELA_KIB = {"mobilenetv2": "353.5", "mobilenetv1_025": "48.0"}


@click.command()
@click.option("--chip", default="alif-e7", show_default=True)
@click.option("--set", "overrides", multiple=True, help="Another value of the chip, as PATH=VALUE.")
@click.argument("networks", nargs=-1)
def main(chip: str, overrides: tuple[str, ...], networks: tuple[str, ...]) -> None:
    """A row for each network, built in or a file: KiB and cycles layer by layer and with cascades, how many
    cascades (of them in bands of columns), how far that is above the lower bound, and published KiB."""
    plans = "layer by layer KiB | cycles | with cascades KiB | cycles | cascades | above the bound"
    print(f"| network | {plans} | Vela KiB | MCUNetV2 KiB | s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for network in networks or NETWORKS:
        print(_row(network, chip, overrides), flush=True)


def _program(network: str) -> Program:
    return reuse(load(network if network.endswith((".yaml", ".onnx")) else f"zoo:{network}"), "all")


def _row(network: str, chip: str, overrides: tuple[str, ...]) -> str:
    program = _program(network)
    began = perf_counter()
    try:
        answer = smallest_memory(PlanRequest(program, load_chip(chip, overrides)), points=0)
    except DoesNotFit as refusal:
        return f"| {network} | {refusal.what} |"
    alone, cascaded = answer.layer_by_layer, answer.with_cascades
    cells = (
        network,
        f"{alone.shared_memory_bytes / 1024:,.1f}",
        f"{alone.total_cycles:,}",
        f"{cascaded.shared_memory_bytes / 1024:,.1f}",
        f"{cascaded.total_cycles:,}",
        f"{len(cascaded.cascades)} ({sum(cascade.bands > 1 for cascade in cascaded.cascades)})",
        f"{100 * (cascaded.shared_memory_bytes / answer.lower_bound_bytes - 1):.1f}%",
        VELA_KIB.get(network, ""),
        MCUNETV2_KIB.get(network, ""),
        f"{perf_counter() - began:.0f}",
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
