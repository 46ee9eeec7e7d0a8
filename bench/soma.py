"""Plans beside those of SoMa (Cai et al., HPCA 2025), on its own edge platform and with its cycles of layers.

    python -m bench.soma [--data tests/data/soma] [--exact SECONDS] [--only resnet50/4,...]

Every row of ``results.csv`` is a network and a buffer: SharedMemory of as many MiB, DRAM of 16 bytes a cycle,
batch 1, and for each layer the cycles that SoMa gives it (``NETWORK_Nmib_layers.csv``; of the largest buffer,
where it found no plan). Networks are as SoMa describes them (src/nns): no biases, and a stride in the first
convolution of a block. A concat, which it does not have, takes no cycles. Prints SoMa's cycles, those of the
default plan and, with ``--exact``, of the exact streamer within so many CPU seconds; the bound over the
listed plans (or of any plan, if that is higher), the bound of any plan whatever; the gaps to the former; what
CP-SAT proved of all listed ways, and how many were left to it; and CPU seconds.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from chipmodel.answers.result import Result
from chipmodel.bounds.listed import with_listed_bound
from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Op, Program, with_ops
from chipmodel.pipeline.choices import CASCADE_AUTO
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from docs.tools.markdown import table
from solvers.core.deadline import NO_DEADLINE, Deadline
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value

DATA = Path("tests/data/soma")
MIB = 1 << 20
STAGES = ((64, 256, 3), (128, 512, 4), (256, 1024, 6), (512, 2048, 3))
"""Of a ResNet: inner and outer channels, and blocks."""
INCEPTIONS: Mapping[str, tuple[int, ...]] = {
    "3a": (64, 96, 128, 16, 32, 32),
    "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64),
    "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64),
    "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128),
    "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}
"""Channels: 1x1; 3x3 and what leads to it; 5x5 and what leads to it; after pooling."""
POOLS = {0: "pool2", 2: "pool3", 7: "pool4"}
"""What is before an inception, by its number."""
HEADS = (
    "network",
    ">MiB",
    ">SoMa",
    ">plan",
    ">exact",
    ">bound",
    ">any plan",
    ">gap of SoMa",
    ">of the plan",
    ">of exact",
    "CP-SAT",
    ">CPU s",
)


class _Layers(ProgramBuilder):
    """A network of layers without biases, on images of 224 x 224."""

    def layer(
        self, name: str, x: Value, channels: int, kernel: int = 1, stride: int = 1, groups: int = 1
    ) -> Value:
        pad = kernel // 2
        return self.conv(name, x, channels, kernel, stride=stride, pad=pad, groups=groups, bias=False)

    def smaller(self, name: str, x: Value) -> Value:
        """Pooling that halves an image of an even size."""
        return self.pool(name, x, 3, stride=2, pad=(0, 0, 1, 1), kind="max_pool")

    def start(self) -> Value:
        x = self.layer("conv1", self.input("input", (1, 3, 224, 224)), 64, 7, 2)
        return self.smaller("pool1", x)

    def end(self, x: Value) -> Program:
        flat = self.flatten(self.pool("pool5", x, None, kind="average_pool"))
        self.output(self.dense("fc", flat, 1000, bias=False))
        return self.build()


def resnet(name: str, groups: int) -> Program:
    """ResNet-50, or with 32 ``groups`` what SoMa calls ResNeXt-50."""
    net = _Layers(name)
    x = net.start()
    for stage, (inner, outer, blocks) in enumerate(STAGES):
        for block in range(blocks):
            named, stride = f"conv_{stage + 2}_{block}_", 2 if stage and not block else 1
            y = net.layer(
                f"{named}b", net.layer(f"{named}a", x, inner, stride=stride), inner, 3, groups=groups
            )
            y = net.layer(f"{named}c", y, outer)
            if not block:
                x = net.layer(f"conv_{stage + 2}_br", x, outer, stride=stride)
            x = net.elementwise("add", f"{named}res", [x, y])
    return net.end(x)


def googlenet() -> Program:
    """GoogLeNet; inputs of an inception are joined by a concat."""
    net = _Layers("googlenet")
    x = net.layer("conv2_3x3", net.layer("conv2_3x3_reduce", net.start(), 64), 192, 3)
    for number, (name, sizes) in enumerate(INCEPTIONS.items()):
        if number in POOLS:
            x = net.smaller(POOLS[number], x)
        one, to_three, three, to_five, five, pooled = sizes
        parts = [net.layer(f"{name}_1x1", x, one)]
        parts.append(net.layer(f"{name}_3x3", net.layer(f"{name}_3x3_reduce", x, to_three), three, 3))
        parts.append(net.layer(f"{name}_5x5", net.layer(f"{name}_5x5_reduce", x, to_five), five, 5))
        parts.append(net.layer(f"{name}_proj", net.pool(f"{name}_pool", x, 3, stride=1, pad=1), pooled))
        shape = (1, sum(part.shape[1] for part in parts), *x.shape[2:])
        x = net.vector("concat", f"{name}_concat", parts, shape, rows=x.shape[2])
    return net.end(x)


NETWORKS: Mapping[str, Callable[[], Program]] = {
    "resnet50": lambda: resnet("resnet50", 1),
    "resnext50": lambda: resnet("resnext50", 32),
    "googlenet": googlenet,
}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of ``results.csv``; ``cycles`` is None where SoMa found no plan."""

    network: str
    mib: int
    cycles: int | None


def rows_of(folder: Path) -> Iterator[Row]:
    """The rows, by network and buffer."""
    with (folder / "results.csv").open() as file:
        found = [
            Row(r["network"], int(r["buffer_mib"]), int(r["cycles"]) if r["cycles"] else None)
            for r in csv.DictReader(file)
        ]
    return iter(sorted(found, key=lambda row: (row.network, row.mib)))


def layer_cycles(folder: Path, row: Row) -> list[int]:
    """SoMa's cycles of each layer, in its order."""
    name = f"{row.network}_{row.mib}mib_layers.csv"
    sizes = sorted(folder.glob(f"{row.network}_*mib_layers.csv"))
    with (folder / name if (folder / name).exists() else sizes[-1]).open() as file:
        return [int(line["cycles"]) for line in csv.DictReader(file)]


def program_of(row: Row, folder: Path) -> Program:
    """The network with SoMa's cycles of its layers; a concat takes none."""
    program, cycles = NETWORKS[row.network](), iter(layer_cycles(folder, row))

    def timed(op: Op) -> Op:
        return replace(op, cycles=0 if op.kind == "concat" else next(cycles))

    program = replace(program, body=with_ops(program.body, timed))
    assert next(cycles, None) is None, f"{row.network} has fewer layers than its file"
    return reuse(program, "all")


def platform(mib: int) -> Chip:
    """The chip of the comparison: only its DMA, its clock and its memories matter."""
    sides = [
        f"dma.{way}.{name}=0"
        for way in ("load", "store")
        for name in ("setup_cycles", "burst_overhead_clocks")
    ]
    clocks = ["core_mhz=1000", "psram.clock_mhz=1000", "psram.bytes_per_clock=16", "psram.bytes=256MiB"]
    return load_chip("luna-csk6", [*clocks, *sides, f"shared_memory.bytes={mib}MiB"])


def planned(program: Program, chip: Chip, streamer: str, seconds: float | None) -> tuple[Result, float]:
    """A run within so many CPU seconds, and those it took."""
    began = time.process_time()
    deadline = Deadline(began + seconds, time.process_time) if seconds else NO_DEADLINE
    found = run(PlanRequest(program, chip, streamer=streamer, cascade=CASCADE_AUTO, deadline=deadline))
    return found, time.process_time() - began


def proven(result: Result, least: int) -> str:
    """What CP-SAT says of the listed ways; ``least`` is the bound that the row shows."""
    proof, cycles = result.proof, result.trace.cycles
    if proof is None:
        return "nothing"
    words = "the least of all chains" if proof.model == "optimal" else "no chain below"
    plan = "plan proven optimal" if cycles <= max(least, proof.bound) else f"{proof.tried} built"
    return f"{words}: {proof.bound:,}, {proof.left:,} of {proof.listed:,} ways left; {plan}"


def cells(row: Row, folder: Path, seconds: float | None) -> tuple[str, ...]:
    """Return a row: cycles, bounds, gaps, and CPU seconds. Streamer exact begins with the default plan."""
    program, chip = program_of(row, folder), platform(row.mib)
    result, spent = planned(program, chip, "exact" if seconds else "auto", seconds)
    bound = with_listed_bound(result).bound
    words = proven(result, bound.cycles) if seconds else "-"
    least = max(bound.cycles, result.proof.bound if result.proof else 0)
    exact = result.trace.cycles if seconds else None
    default = result.default_cycles or result.trace.cycles
    cycles = (row.cycles, default, exact)
    gaps = ("" if each is None else f"{each / least - 1:.2%}" for each in cycles)
    numbers = (*cycles, least, bound.of_any_plan)
    shown = ("-" if number is None else f"{number:,}" for number in numbers)
    return (row.network, str(row.mib), *shown, *gaps, words, f"{spent:.1f}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--exact", type=float, metavar="SECONDS")
    parser.add_argument("--only", default="")
    args = parser.parse_args(arguments)
    wanted = [
        row
        for row in rows_of(args.data)
        if f"{row.network}/{row.mib}" in args.only.split(",") or not args.only
    ]
    print(table(HEADS, []))
    for row in wanted:
        try:
            found = cells(row, args.data, args.exact)
        except DoesNotFit as error:
            found = (row.network, str(row.mib), f"no plan: {error}", *[""] * (len(HEADS) - 3))
        print("| " + " | ".join(found) + " |", flush=True)


if __name__ == "__main__":
    main()
