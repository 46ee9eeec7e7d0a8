"""Memory of weights and feature maps: all of them in a pool against a weight pipeline.

The comparison of the edge-framework patent (CN, 2021; docs/references.md), paragraphs 40 to 56, as far as it
describes it: six networks in float32, batch 1, on a chip like its platform
(``bench/framework_platform.yaml``, every number with its origin). The baseline keeps all weights and takes
feature maps from ncnn's pool (threshold 0.75). Compared with it are the peaks of whole plans, feature maps
and weights packed together by ``greedy-best-fit``: with ``weight-pipeline``, where no layer starts later than
it must, and with ``sync``, which has one layer's weights at a time and waits for them: the least memory with
whole layers. Time is total over compute, which is what it takes with all weights resident. ``late`` counts
layers whose weights the pipeline cannot have in time.

    python -m bench.framework_memory
    python -m bench.framework_memory --input 448 --set psram.clock_mhz=2000
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.plan import Problem
from chipmodel.model.program import Program
from chipmodel.passes.liveness import liveness
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from dma.stream import stream
from solvers.registry import solve
from workloads.zoo import build

NETWORKS = ("alexnet", "googlenet", "shufflenetv1", "resnet18", "resnet50", "vgg16")
PLATFORM = Path(__file__).parent / "framework_platform.yaml"
PUBLISHED = 0.4374
"""The average over the six networks (paragraph 56 of the patent)."""
FASTER = ("psram.clock_mhz=2000", "dma.load.setup_cycles=2000")
"""4 GB/s and 1 us: weights that the operating system still has in its file cache."""
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class NetworkMemory:
    """Bytes of one network's weights and peaks; ``slowdown`` is total over compute cycles."""

    network: str
    weights: int
    baseline: int
    pipeline: int
    smallest: int
    slowdown: float
    smallest_slowdown: float
    late: int

    @property
    def saved(self) -> float:
        """Share of the baseline that ``weight-pipeline`` saves; ``least`` is that of one layer at a time."""
        return 1 - self.pipeline / self.baseline

    @property
    def least(self) -> float:
        return 1 - self.smallest / self.baseline


def platform(overrides: Sequence[str] = ()) -> Chip:
    """The chip that stands for the patent's platform."""
    return load_chip(str(PLATFORM), overrides)


def row(network: str, chip: Chip, size: int = 224) -> NetworkMemory:
    """``network`` on images of ``size`` pixels. Raises BadInput for a network that is not in the zoo."""
    program = build(network, {"input": str(size)}, dtype="float32")
    pipeline, slowdown, late = _planned(program, chip, "weight-pipeline")
    smallest, smallest_slowdown, _ = _planned(program, chip, "sync")
    return NetworkMemory(
        network=network,
        weights=program.weight_bytes,
        baseline=program.weight_bytes + _pooled(program, chip),
        pipeline=pipeline,
        smallest=smallest,
        slowdown=slowdown,
        smallest_slowdown=smallest_slowdown,
        late=late,
    )


def _planned(program: Program, chip: Chip, streamer: str) -> tuple[int, float, int]:
    planned = plan(PlanRequest(program, chip, "greedy-best-fit", streamer))
    trace = simulate(planned.commands, chip)
    late = len({late.op for late in planned.schedule.late})
    return planned.solved.peak, trace.cycles / trace.busy("npu"), late


def _pooled(program: Program, chip: Chip) -> int:
    """Bytes of ncnn's pool with all feature maps, the network's input and output among them."""
    schedule = stream(program, chip, "sync", chip.shared_memory.bytes)
    problem = liveness(schedule, chip)
    maps = tuple(b for b in problem.buffers if schedule.buffers[b.name].kind == "tensor")
    return solve(Problem(maps), "pool").peak


def table(rows: Sequence[NetworkMemory]) -> Iterator[str]:
    """The rows as a Markdown table, in MiB, with the averages of what is saved."""
    yield "| network | weights | baseline | weight-pipeline | saved | time | late | sync | saved | time |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for each in rows:
        sizes = (f"{size / MIB:.1f}" for size in (each.weights, each.baseline, each.pipeline))
        yield (
            f"| {each.network} | {' | '.join(sizes)} | {each.saved:.1%} | {each.slowdown:.2f} | {each.late} "
            f"| {each.smallest / MIB:.1f} | {each.least:.1%} | {each.smallest_slowdown:.2f} |"
        )
    saved, least = _mean([each.saved for each in rows]), _mean([each.least for each in rows])
    yield f"| average | | | | {saved:.1%} | | | | {least:.1%} | |"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def remark(size: int) -> str:
    """The published average, and the table's averages were weights loaded from a file cache."""
    chip = platform(FASTER)
    rows = [row(network, chip, size) for network in NETWORKS]
    saved = _mean([each.saved for each in rows])
    waiting = ", ".join(f"{each.network} {each.slowdown:.2f}" for each in rows if each.slowdown > 1.06)
    but = f" (but {waiting})" if waiting else ""
    published = f"Published: {PUBLISHED:.2%} saved on average."
    return f"{published} With weights at 4 GB/s instead of 400 MB/s: {saved:.1%}, time at most 1.06{but}."


def main(arguments: Sequence[str]) -> None:
    """Print the table and the remark; with ``--set`` or ``--json`` the table alone."""
    parser = argparse.ArgumentParser(description="A pool with all weights against a weight pipeline.")
    parser.add_argument("--input", type=int, default=224, help="height and width of the images [224]")
    parser.add_argument("--set", action="append", default=[], dest="overrides", metavar="FIELD=VALUE")
    parser.add_argument("--networks", default=",".join(NETWORKS), metavar="NAME,...")
    parser.add_argument("--json", action="store_true", help="the rows as JSON, for bytes and exact shares")
    options = parser.parse_args(arguments)
    chip = platform(options.overrides)
    networks = options.networks.split(",")
    if options.json:
        rows = [row(network, chip, options.input) for network in networks]
        print(json.dumps([asdict(each) | {"saved": each.saved, "least": each.least} for each in rows]))
        return
    print("\n".join(table([row(network, chip, options.input) for network in networks])))
    if not options.overrides:
        print("\n" + remark(options.input))


if __name__ == "__main__":
    main(sys.argv[1:])
