"""Ping-pong against sync on the five workload shapes of a published table, and on a tiny graph that loses.

    python -m bench.control_flow_table

The table is Table 3 of Wang et al. 2025 (Memory optimization method for control flow computation graph;
docs/references.md). Its models are not public. Each shape here was built from what Tables 1 and 2 print of
the model in bytes (the sum of all tensors, the peak) and from published networks; the times were not used for
it. The bytes are printed next to the paper's, so that one can see how close a shape is. Its milliseconds
cannot be met: 0.7 s less by hiding loads would be some 180 MB at a LUNA's pace, more than its Psram holds, so
they are not those of one inference at full speed; only changes compare.

Chip: ``luna-csk6``, the LUNA whose SharedMemory (640 KiB) holds the paper's largest peak. Offsets:
``large-first``; arms are merged by ``unified-block``, which is Algorithm 2.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.nesting import Section
from chipmodel.model.plan import Problem
from chipmodel.model.program import Program
from chipmodel.model.scopes import scopes
from chipmodel.passes.validate import validate_program
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import Planned, PlanRequest
from solvers.branches.mergers import merge_arms
from workloads.build.builder import ProgramBuilder
from workloads.zoo import build
from workloads.zoo.catalogue import entry
from workloads.zoo.layered import append

CHIP, PACKER, ALGORITHM_2 = "luna-csk6", "large-first", "unified-block"
SIDE = 320
BLOCKS = 54
TINY_MEMORY = 4 << 10


@dataclass(frozen=True, slots=True)
class TableShape:
    """A workload of Table 3; figures that the paper does not print are None."""

    name: str
    make: Callable[[], Program]
    known: str
    """What is known of the model, and what was assumed in building its shape."""
    choices: Mapping[str, str] = field(default_factory=dict[str, str])
    tensors: int | None = None
    """Bytes of all tensors (Table 1, no reuse)."""
    peak: int | None = None
    """Bytes (Table 1, or Table 2 with Algorithm 2 where there are arms; large tensors first)."""
    times: tuple[float, float] | None = None
    """Milliseconds, synchronous and asynchronous (Table 3)."""
    memory: int | None = None
    """Bytes of SharedMemory that it gets; None for all."""


@dataclass(frozen=True, slots=True)
class MeasuredShape:
    """One measured shape: bytes, and core cycles of one run."""

    shape: TableShape
    tensors: int
    peak: int
    weights: int
    sync: int
    ping_pong: int

    @property
    def change(self) -> float:
        """Of the cycles, ping-pong against sync; negative is faster."""
        return self.ping_pong / self.sync - 1

    @property
    def published(self) -> float | None:
        return self.shape.times and self.shape.times[1] / self.shape.times[0] - 1


def face_align() -> Program:
    """A 96 x 96 grey image, 16 maps of 48 x 48, and then only maps of 9,216 bytes."""
    net = ProgramBuilder("facealign", source="shape of Wang et al.'s FaceAlign")
    x = net.conv("conv1", net.input("input", (1, 1, 96, 96)), 16, 3, stride=2, pad=1)
    x = net.pool("pool1", x, 2)
    for stage, (channels, layers) in enumerate(((16, 5), (64, 5), (256, 6)), start=2):
        for i in range(layers):
            stride = 2 if stage > 2 and i == 0 else 1
            x = net.conv(f"conv{stage}.{i}", x, channels, 3, stride=stride, pad=1)
    x = net.pool("avgpool", x, None, kind="average_pool")
    net.output(net.dense("landmarks", net.flatten(x), 2 * 98))
    return net.build()


def face_detect() -> Program:
    """FaceBoxes with 16 instead of 24 channels in its stem."""
    return _part("FaceDetect", "=stem:16 =face =outputs")


def body_detect() -> Program:
    """The stem and the body branch of zoo:fusiondetect."""
    return _part("BodyDetect", "=stem:24 =body =outputs")


def _part(name: str, layers: str) -> Program:
    """A network of these layers of zoo:fusiondetect."""
    net = ProgramBuilder(name.lower(), source=f"shape of Wang et al.'s {name}")
    whole = entry("control_flow", "fusiondetect")
    append(net, {**whole, "layers": layers}, {"input": SIDE, "blocks": BLOCKS})
    return net.build()


def tiny() -> Program:
    """Two dense layers on a vector."""
    net = ProgramBuilder("tiny", source="a graph with few tensors")
    net.output(net.dense("scores", net.dense("hidden", net.input("x", (1, 1024)), 12), 10))
    return net.build()


FUSION = TableShape(
    "FusionDetect, face",
    lambda: build("fusiondetect"),
    """Known: FaceDetect and BodyDetect, cut and joined as branches; 26,502,400 B, peak 460,800 B merged.
    Assumed: zoo:fusiondetect. Which branch the paper's time takes is not said; here the face branch ...""",
    {"branch": "face"},
    tensors=26_502_400,
    peak=460_800,
    times=(6006.455, 5129.129),
)
WAKE_WORD = TableShape(
    "wake word, awake",
    lambda: build("wakeword"),
    """Known: 312,664 B, peak 24,152 B with and without merging: very unequal branches, large ops. Assumed:
    zoo:wakeword, two published networks, not chosen to fit (the sum nearly does, the peak does not). Here
    both run ...""",
    {"wake": "awake"},
    tensors=312_664,
    peak=24_152,
    times=(2229.174, 1695.734),
)
SHAPES: tuple[TableShape, ...] = (
    TableShape(
        "FaceAlign",
        face_align,
        """Known: 202,429 B of tensors, peak 46,080 B, 588 B more in other orders, large ops, no branches.
        46,080 = 9,216 + 36,864: a grey 96 x 96 image and 16 maps of 48 x 48. Assumed: that, then 3x3
        convolutions on maps of 9,216 B, as many as the sum allows (5, 5 and 6 at 24, 12 and 6 pixels;
        other divisions of the 16 gave -24 to -28 %), 98 landmarks (588 = 3 x 196).""",
        tensors=202_429,
        peak=46_080,
        times=(2411.414, 1712.770),
    ),
    TableShape(
        "FaceDetect",
        face_detect,
        """Known: 934,000 B, peak 409,600 B, no branches. 409,600 = 307,200 + 102,400: a 320 x 320 colour
        image and 16 maps of 80 x 80. Assumed: FaceBoxes (Zhang et al. 2017), whose stem has that stride,
        with 16 channels.""",
        tensors=934_000,
        peak=409_600,
        times=(4978.807, 4342.279),
    ),
    TableShape(
        "BodyDetect",
        body_detect,
        """Known: FusionDetect without FaceDetect is 25.6 MB of tensors under a peak of 460,800 B: many
        large maps. Assumed: 54 residual MobileNet blocks on three maps of 153,600 B at stride 4. (Its
        synchronous time in the paper is FaceAlign's asynchronous one, digit for digit: one of the two may
        be a slip.)""",
        times=(1712.770, 1702.147),
    ),
    FUSION,
    replace(
        FUSION,
        name="FusionDetect, body",
        choices={"branch": "body"},
        known="... and here the body branch, against the same figures.",
    ),
    WAKE_WORD,
    replace(
        WAKE_WORD,
        name="wake word, asleep",
        choices={"wake": "sleep"},
        known="... and here the gate alone, against the same figures.",
    ),
    TableShape(
        "tiny",
        tiny,
        """The paper warns that the start-up of transfers can make a graph with few tensors slower. Dense
        layers of 1024 x 12 and 12 x 10 with 4 KiB of SharedMemory left to them: two buffers leave room for
        smaller slices, so more transfers start. With all of SharedMemory no block is cut, and ping-pong is
        not slower.""",
        memory=TINY_MEMORY,
    ),
)


def measure(shape: TableShape, chip: Chip) -> MeasuredShape:
    """Both streamers' plans of ``shape``, each simulated along its choices."""
    program = shape.make()
    validate_program(program)
    if shape.memory is not None:
        chip = replace(chip, shared_memory=replace(chip.shared_memory, bytes=shape.memory))
    sync, ping_pong = (plan(PlanRequest(program, chip, PACKER, name)) for name in ("sync", "ping-pong"))
    return MeasuredShape(
        shape,
        sum(tensor.bytes for tensor in program.tensors.values()),
        tensor_peak(ping_pong),
        program.weight_bytes,
        *(simulate(each.commands, chip, shape.choices).cycles for each in (sync, ping_pong)),
    )


def tensor_peak(planned: Planned) -> int:
    """The peak of the tensors alone, as the paper counts it: its two weight buffers lie elsewhere. Arms are
    merged by Algorithm 2, as in the paper's Table 2."""
    return merge_arms(*_tensors(planned), PACKER, ALGORITHM_2).peak


def tensors_of(program: Program, chip: Chip) -> tuple[Problem, Section]:
    """The tensors alone of ``program``'s plan with ``ping-pong``, and the nesting of its arms."""
    return _tensors(plan(PlanRequest(program, chip, PACKER, "ping-pong")))


def _tensors(planned: Planned) -> tuple[Problem, Section]:
    specs = planned.schedule.buffers
    tensors = tuple(b for b in planned.problem.buffers if specs[b.name].kind != "weights")
    return Problem(tensors), scopes(planned.schedule.body).section


def table(chip: Chip) -> list[str]:
    """The rows in Markdown, and a line on each shape."""
    lines = [
        "| shape | tensors, B: ours / paper | peak, B: ours / paper | weights, B | sync, cycles "
        "| ping-pong, cycles | sync / ping-pong, ms | change | paper: sync / async, ms | change |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    rows = [measure(shape, chip) for shape in SHAPES]
    lines += [_line(row, chip) for row in rows]
    return [*lines, "", *(f"* {row.shape.name}: {' '.join(row.shape.known.split())}" for row in rows)]


def _line(row: MeasuredShape, chip: Chip) -> str:
    shape, mhz = row.shape, float(chip.core_mhz)
    cells = [
        shape.name,
        _pair(row.tensors, shape.tensors),
        _pair(row.peak, shape.peak),
        f"{row.weights:,}",
        f"{row.sync:,}",
        f"{row.ping_pong:,}",
        " / ".join(f"{cycles / mhz / 1000:.3f}" for cycles in (row.sync, row.ping_pong)),
        f"{row.change:+.2%}",
        " / ".join(f"{ms:,.3f}" for ms in shape.times) if shape.times else "-",
        f"{row.published:+.2%}" if row.published is not None else "-",
    ]
    return f"| {' | '.join(cells)} |"


def _pair(ours: int, paper: int | None) -> str:
    return f"{ours:,} / {paper:,}" if paper is not None else f"{ours:,} / -"


def main() -> None:
    """Print the table, or its rows as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="the measured shapes as JSON")
    parser.add_argument("--whole-memory", action="store_true", help="all of SharedMemory for each shape")
    options = parser.parse_args()
    chip = load_chip(CHIP)
    if not options.json:
        print("\n".join(table(chip)))
        return
    shapes = [replace(shape, memory=None) if options.whole_memory else shape for shape in SHAPES]
    print(json.dumps([figures(measure(shape, chip)) for shape in shapes]))


def figures(row: MeasuredShape) -> dict[str, Any]:
    """The numbers of a row by name; those of the paper with ``published`` in front."""
    shape = row.shape
    return {
        "name": shape.name,
        "tensors": row.tensors,
        "published_tensors": shape.tensors,
        "peak": row.peak,
        "published_peak": shape.peak,
        "change": row.change,
        "published_change": row.published,
    }


if __name__ == "__main__":
    main()
