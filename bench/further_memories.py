"""What homes in a second SRAM save, and what moves between memories off chip save beyond that.

One plan of SharedMemory for each network, on a chip without the second SRAM; then the same transfers with all
tensors in Psram, with homes in the second SRAM, and with moves to it and from it as well, each simulated. The
moves are all those that save cycles of the DMA engine; ``chipmodel simulate`` takes them only where its
forecast is the quickest.

    python -m bench.further_memories [--chip CHIP] [--set FIELD=VALUE ...] [--streamer NAME] [NETWORK ...]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace

from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.passes.lower import lower
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.rewrites.in_place import reuse
from dma.schedule.further_memories import with_further_memories
from docs.tools.markdown import code, table
from workloads.load import load

NETWORKS = ("zoo:resnet8", "zoo:ds_cnn", "zoo:mobilenetv1_025")
CHIP = "stm32n6"
SECOND = (
    "memories.sram2.bytes=64KiB",
    *(
        f"memories.sram2.{way}.{key}"
        for way in ("load", "store")
        for key in ("latency_cycles=40", "bytes_per_cycle=8")
    ),
)


def rows(networks: Sequence[str], chip: Chip, streamer: str) -> Iterator[list[str]]:
    """Each network's cycles with all in Psram, with homes, and with moves."""
    for network in networks:
        program = reuse(load(network), "all")
        planned = plan(PlanRequest(program, replace(chip, memories=()), "large-first", streamer))
        cycles = [_cycles(planned, chip, each) for each in (None, False, True)]
        yield [code(network), *(f"{each:,}" for each, _ in cycles), f"{cycles[2][1]}"]


def _cycles(planned: Planned, chip: Chip, moves: bool | None) -> tuple[int, int]:
    """The cycles of a run and its moves; None: all in Psram."""
    schedule = planned.schedule
    if moves is not None:
        schedule = with_further_memories(planned.program, schedule, chip, moves)
    commands = lower(schedule, planned.solved.plan)
    return simulate(commands, chip).cycles, len(schedule.moves)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="NETWORK")
    parser.add_argument("--chip", default=CHIP)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--streamer", default="prefetch-greedy")
    given = parser.parse_args(arguments)
    chip = load_chip(given.chip, (*SECOND, *given.set))
    heads = ["network", ">all in Psram", ">homes in sram2", ">and moves", ">moves"]
    print(table(heads, list(rows(given.networks or NETWORKS, chip, given.streamer))))


if __name__ == "__main__":
    main()
