"""Print a table of the smallest SharedMemory for limits on multiply-accumulates (MACs), next to msf-CNN.

    python -m bench.fused_memory [--chip alif-e7] [--limit TIMES] [NETWORK ...]

Weights are read in place. Published bytes and factors are those of Huang et al. 2025 ("msf-CNN", NeurIPS;
github.com/TinyPART/msf-CNN, ``msf_CNN_eval_models/result.json``): int8, chains without additions, weights in
flash, and neither the network's input nor its output counted (``analysis/building_blocks.py``,
``calc_memory_usage``). Here the rows of the input that are there, and the global pooling that follows the
chains, are counted. Without networks those chains are measured, with the published factors as limits.
"""

from __future__ import annotations

import click

from chipmodel.hardware.chip_file import load_chip
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.smallest_memory import smallest_memory
from chipmodel.rewrites.in_place import reuse
from workloads.load import load

IN_PLACE = "weights.in_place=always"
MSF_CNN: dict[str, tuple[tuple[float, int], ...]] = {
    "mcunet?variant=mbv2_chain&input=144&body=chain": (
        (1.0, 181_440),
        (1.09741394, 67_905),
        (1.29755535, 21_288),
        (1.38195583, 15_340),
        (1.56323624, 13_926),
        (1.67948263, 7_887),
    ),
    "mcunet?variant=vww1&input=80&body=chain": (
        (1.0, 89_600),
        (1.0385, 32_792),
        (1.1131, 26_128),
        (1.2956, 17_760),
        (1.3453, 13_376),
        (1.9567, 12_000),
    ),
    "mcunet?variant=in3&body=chain": (
        (1.0, 247_808),
        (1.04119182, 190_096),
        (1.25094583, 186_032),
        (1.36875996, 156_672),
        (1.45486950, 94_184),
        (2.01949763, 62_880),
        (2.69488484, 42_643),
    ),
}
"""By network, the factors on MACs of msf-CNN's plans ("Overhead Factor"), and their bytes ("Fusion Network
Memory Usage")."""


@click.command()
@click.option("--chip", default="alif-e7", show_default=True)
@click.option("--limit", "limits", multiple=True, type=float, help="Times the MACs. Repeatable.")
@click.argument("networks", nargs=-1)
def main(chip: str, limits: tuple[float, ...], networks: tuple[str, ...]) -> None:
    """A row for each network, built in, and limit: bytes and factors of msf-CNN, bytes and factors here, and
    how far that is above the lower bound."""
    print("| network | MACs at most | msf-CNN B | B | MACs | cycles | above the bound |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for network in networks or MSF_CNN:
        published = dict(MSF_CNN.get(network, ()))
        for limit in limits or published:
            print(_row(network, chip, limit, published.get(limit)), flush=True)


def _row(network: str, chip: str, limit: float, published: int | None) -> str:
    program = reuse(load(f"zoo:{network}"), "all")
    answer = smallest_memory(PlanRequest(program, load_chip(chip, (IN_PLACE,)), recompute=limit), points=0)
    plan = answer.with_cascades
    cells = (
        network,
        f"{limit:.3g}x",
        "" if published is None else f"{published:,}",
        f"{plan.shared_memory_bytes:,}",
        f"{plan.macs / answer.macs:.2f}x",
        f"{plan.total_cycles:,}",
        f"{100 * (plan.shared_memory_bytes / answer.lower_bound_bytes - 1):.0f}%",
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
