"""The model of Ethos-U55, U65 and U85 against Arm's own: cycles of single ops by Vela's performance model.

Two hundred ops (see SHAPES) and 33 means over images (MEANS) on the variants of 64, 128 and 256 MACs, with
``--npu u65`` of 256 and 512, with ``--npu u85`` of 128 to 2,048: layers of real networks, and random ones
from a seed. Vela runs in an environment of its own, with ethos-u-vela from PyPI:

    python -m venv vela && vela/bin/pip install ethos-u-vela
    python -m bench.vela_ops --vela vela/bin/python [--npu u65|u85] [--write FILE]

``--write`` records the ops and Vela's answers as a table, which tests/chipmodel/npu/test_ethos.py holds the
model against without Vela. Both give the larger of the NPU's cycles and those of its port to SRAM.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

from bench.vela_network import RESULT, write_network
from chipmodel.geometry.window import Window
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Op
from chipmodel.model.work import Conv, Matmul, Pool, SingleWork, Vector
from chipmodel.npu.cycles import op_cycles
from chipmodel.npu.ethos import channels_of
from chipmodel.npu.ethos_layers import convs_of_mean
from workloads.load import load

WORKER = Path(__file__).with_name("vela_worker.py")
NETWORKS = (
    "mobilenetv2",
    "micronet_ad",
    "micronet_kws",
    "resnet8",
    "wav2letter",
    "swift_yolo",
    "autoencoder",
)
SEED = 55
RANDOM_OPS = 120
SHAPES = 200
MEANS = (
    *((7, 7), (10, 10), (14, 14), (20, 20), (28, 28), (56, 56), (64, 64)),
    *((65, 30), (80, 80), (112, 112), (160, 160)),
)
"""Rows and columns of means over images, which are also asked with each of ``MEAN_CHANNELS``."""
MEAN_CHANNELS = (16, 96, 672)
VARIANTS = {"u55": (64, 128, 256), "u65": (256, 512), "u85": (128, 256, 512, 1024, 2048)}
CHIPS = {64: "corstone-300-64", 128: "corstone-300", 256: "alif-e7", 512: "alif-e7"}
COLUMNS = (
    *("macs", "kind", "in_h", "in_w", "in_c", "out_h", "out_w", "out_c", "kernel_h", "kernel_w"),
    *("stride", "dilation", "bits", "block", "cycles", "source"),
)


@dataclass(frozen=True, slots=True)
class Shape:
    """One op on one variant."""

    npu: str
    macs: int
    op: Op
    source: str


def main(argv: Sequence[str] | None = None) -> None:
    """Print the error of every kind of op and the ops that are furthest off."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--vela", required=True, help="the Python that has ethos-u-vela")
    parser.add_argument("--npu", choices=VARIANTS, default="u55", help="the NPU")
    parser.add_argument("--write", type=Path, help="the table to write")
    asked = parser.parse_args(argv)
    shapes = list(all_shapes(asked.npu))
    queries = [query(shape) for shape in shapes]
    answers = ask(asked.vela, queries)
    theirs = [max(answer["npu"], answer["sram"]) for answer in answers]
    ours = [cycles(shape) for shape in shapes]
    print("\n".join(report(shapes, ours, theirs)))
    if asked.write:
        write(asked.write, shapes, queries, answers)


def all_shapes(npu: str) -> Iterator[Shape]:
    """The ops: of networks in turn, then random ones; the variants in turn."""
    random = Random(SEED)
    real = [(op, name) for name in NETWORKS for op in load(f"zoo:{name}").ops() if _asked(op)]
    chosen = random.sample(_distinct(real), SHAPES - RANDOM_OPS)
    made = [(_random_op(random), "random") for _ in range(RANDOM_OPS)]
    means = [(_mean(*size, each), "mean") for each in MEAN_CHANNELS for size in MEANS]
    for number, (op, source) in enumerate((*chosen, *made, *means)):
        yield Shape(npu, VARIANTS[npu][number % len(VARIANTS[npu])], op, source)


def _asked(op: Op) -> bool:
    return isinstance(op.work, Conv | Pool | Matmul) or op.kind in ("add", "mul")


def _distinct(ops: list[tuple[Op, str]]) -> list[tuple[Op, str]]:
    return list({(op.kind, op.work): (op, source) for op, source in ops}.values())


def _random_op(random: Random) -> Op:
    kind = random.choice(
        (
            "conv",
            "conv",
            "conv",
            "depthwise_conv",
            "depthwise_conv",
            "dense",
            "max_pool",
            "average_pool",
            "add",
        )
    )
    channels = [random.choice((random.randint(1, 40), 8 * random.randint(1, 40))) for _ in range(2)]
    high, wide = random.randint(2, 64), random.randint(2, 64)
    if kind == "dense":
        work: SingleWork = Matmul(1, random.randint(1, 1500), random.randint(1, 1000))
        return Op("op", kind, work, ("x",), ("y",), dtype=random.choice(("int8", "int8", "int16")))
    if kind == "add":
        elements = high * wide * channels[0]
        shape = (1, channels[0], high, wide)
        work = Vector(elements, 2 * elements, elements, rows=high)
        return Op("op", kind, work, ("x", "z"), ("y",), views=(shape, shape, shape))
    pooling = kind.endswith("pool")
    size = random.choice((2, 3)) if pooling else random.choice((1, 1, 3, 3, 5, 7))
    stride = size if pooling and random.random() < 0.5 else random.choice((1, 1, 2))
    dilation = random.choice((1, 1, 1, 2)) if kind == "conv" else 1
    window = _window(max(high, size), max(wide, size), size, stride, dilation)
    if pooling:
        return Op("op", kind, Pool(window, channels[0]), ("x",), ("y",))
    dtype = random.choice(("int8", "int8", "int8", "int16"))
    if kind == "conv":
        return Op("op", kind, Conv(window, channels[0], channels[1]), ("x",), ("y",), dtype=dtype)
    count = channels[0]
    return Op("op", kind, Conv(window, count, count, count), ("x",), ("y",), dtype=dtype)


def _mean(high: int, wide: int, channels: int) -> Op:
    return Op("op", "average_pool", Pool(Window(high, wide, 1, 1, high, wide), channels), ("x",), ("y",))


def kind_of(op: Op) -> str:
    """The kind of an op in tables; an average pooling of the whole image is a ``mean``."""
    return "mean" if convs_of_mean(op.kind, op.work) else op.kind


def _window(high: int, wide: int, size: int, stride: int, dilation: int) -> Window:
    """Padded so that outputs are inputs over the stride, rounded up."""
    out_h, out_w = -(-high // stride), -(-wide // stride)
    pads = [
        max(0, (out - 1) * stride + (size - 1) * dilation + 1 - given)
        for out, given in ((out_h, high), (out_w, wide))
    ]
    down, across = pads
    return Window(
        *(high, wide, out_h, out_w, size, size, stride, stride),
        *(down // 2, across // 2, down - down // 2, across - across // 2, dilation, dilation),
    )


def cycles(shape: Shape) -> int:
    """Our answer, with the SRAM of Vela's own configuration on every variant."""
    chip = "corstone-320" if shape.npu == "u85" else CHIPS[shape.macs]
    npu = load_chip(chip, settings(shape.npu, shape.macs)).npu
    return op_cycles(npu, shape.op, shape.op.work.rows, shape.op.work.channels)


SRAM = (
    *("npu.ethos.sram.burst_bytes=32", "npu.ethos.sram.read_latency_cycles=32"),
    *("npu.ethos.sram.write_latency_cycles=32", "npu.ethos.border_blocks=whole"),
    "npu.ethos.weights_on_port=no",
)
"""Settings of a chip file for the SRAM of Ethos_U55_High_End_Embedded and Ethos_U65_Embedded in Vela's own
vela.ini, and for what its functions in Python leave out."""
PORT_BYTES = {"u55": 8, "u65": 16}
OUTPUTS_OF_512 = {
    "plain": "0.125",
    "max_pool": "0.0625",
    "add": "0.375",
    "multiply": "0.1875",
    "wide": "0.3125",
    "wide_unary": "0.5625",
    "wide_multiply": "0.25",
    "table": "0.5",
}
"""Cycles of an output element of Ethos-U65-512: half of those of 256 MACs (architecture_features.py)."""


def settings(npu: str, macs: int) -> list[str]:
    """Of a chip file with the variant of U55 that has up to 256 MACs as many: the port, two cores for 512; of
    one with U85: the variant."""
    if npu == "u85":
        return [f"npu.macs_per_cycle.int8={macs}", "npu.ethos.weights_on_port=no"]
    port = [f"npu.{way}_bytes_per_cycle={PORT_BYTES[npu]}" for way in ("read", "write")]
    outputs = [f"npu.ethos.output_cycles.{kind}={rate}" for kind, rate in OUTPUTS_OF_512.items()]
    return [*SRAM, *port, *(["npu.ethos.cores=2", *outputs] if macs == 512 else [])]


def query(shape: Shape) -> dict[str, Any]:
    """The op for ``bench.vela_worker``: one line lies along the columns, as the compiler lays it."""
    op, work = shape.op, shape.op.work
    bits = 16 if op.dtype == "int16" else 8
    asked = {
        "accelerator": f"ethos-{shape.npu}-{shape.macs}",
        "bits": bits,
        "inputs": 1,
        "scaled": True,
        "activation": "",
    }
    match work:
        case Conv() | Pool():
            window = work.window
            if window.in_w == 1 and window.kernel_w == 1:
                window = window.turned
            in_c, out_c = (work.in_c, work.out_c) if isinstance(work, Conv) else (work.channels_,) * 2
            block, kind = {
                "conv": ("ConvolutionMxN", "Conv2DBias"),
                "depthwise_conv": ("ConvolutionDepthWise", "DepthwiseConv2DBias"),
                "max_pool": ("Pooling", "MaxPool"),
                "average_pool": ("Pooling", "AvgPool"),
                "mean": ("Mean", "Mean"),
            }[kind_of(op)]
            return asked | {
                "block": block,
                "type": kind,
                "ifm": [window.in_h, window.in_w, in_c],
                "ofm": [window.out_h, window.out_w, out_c],
                "kernel": [
                    *(window.kernel_h, window.kernel_w, window.stride_h, window.stride_w),
                    *(window.dilation_h, window.dilation_w),
                ],
            }
        case Matmul():
            sides = {"ifm": [1, 1, work.inner], "ofm": [1, 1, work.cols], "kernel": [1] * 6}
            return asked | {"block": "VectorProduct", "type": "FullyConnected"} | sides
        case Vector():
            _, *side = op.views[-1]
            if channels_of(op, work) != side[-1]:
                side = [*side[1:], side[0]]
            kind = "Add" if op.kind == "add" else "Mul"
            asked |= {"block": "ElementWise", "type": kind, "inputs": len(op.inputs)}
            return asked | {"ifm": side, "ofm": side, "kernel": [1] * 6}
        case _:
            raise ValueError(op.kind)


def ask(python: str, queries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Vela's answers."""
    command = [python, str(WORKER)]
    with TemporaryDirectory() as folder:
        for number, each in enumerate(queries):
            if "u85" in each["accelerator"]:
                path = Path(folder) / f"{number}.tflite"
                write_network(each, path)
                each.update(file=str(path), result=RESULT)
        done = subprocess.run(command, input=json.dumps(queries), capture_output=True, text=True, check=True)
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


def report(shapes: Sequence[Shape], ours: Sequence[int], theirs: Sequence[float]) -> Iterator[str]:
    """Errors by kind, and the ten largest."""
    errors = [abs(a / b - 1) for a, b in zip(ours, theirs, strict=True)]
    yield "| kind | ops | mean error | largest | over 5 % |\n| --- | ---: | ---: | ---: | ---: |"
    for kind in (*sorted({kind_of(shape.op) for shape in shapes}), "all"):
        found = [e for e, shape in zip(errors, shapes, strict=True) if kind in (kind_of(shape.op), "all")]
        over = sum(error > 0.05 for error in found)
        yield f"| {kind} | {len(found)} | {fmean(found):.2%} | {max(found):.2%} | {over} |"
    yield "\nFurthest off:"
    for number in sorted(range(len(errors)), key=lambda n: -errors[n])[:10]:
        shape = shapes[number]
        pair = f"{ours[number]} for {theirs[number]:.0f}"
        yield f"{errors[number]:.2%} {shape.macs} MACs: {pair}: {shape.op.work}"


def write(
    path: Path, shapes: Sequence[Shape], queries: Sequence[dict[str, Any]], answers: Sequence[dict[str, Any]]
) -> None:
    """The table of Vela's answers."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        for shape, asked, answer in zip(shapes, queries, answers, strict=True):
            high, wide, down, across, dilation, _ = asked["kernel"]
            block = "x".join(map(str, answer["block"]))
            told = f"{max(answer['npu'], answer['sram']):.10g}"
            window = high, wide, f"{down}x{across}", dilation
            sides = *asked["ifm"], *asked["ofm"], *window, asked["bits"]
            table.writerow([shape.macs, kind_of(shape.op), *sides, block, told, shape.source])


if __name__ == "__main__":
    main()
