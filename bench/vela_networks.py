"""Whole networks on i.MX 93 beside Arm Vela's own estimate: what of an error against boards is the model's.

Each network of the board's table with tensors that leave SharedMemory is written as a TensorFlow Lite file
with random weights, and compiled by Vela's older compiler, as NXP's is, with both systems that its
configuration has for Ethos-U65 at 1 GHz: 3.75 GB/s of DRAM, those of preset ``imx93``, and 12 GB/s.

    python -m venv vela && vela/bin/pip install ethos-u-vela
    python -m bench.vela_networks --vela vela/bin/vela [--only ultraface,yolov4_tiny,...]

Beside it stand the default plan and the bound over listed plans, on the preset with Vela's cycles of ops.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bench.vela_network import SAME
from chipmodel.bounds.listed import with_listed_bound
from chipmodel.hardware.chip_file import load_chip
from chipmodel.measured.track_record import LEAVE
from chipmodel.model.program import Op, Program
from chipmodel.model.work import Conv, Matmul, Pool
from chipmodel.pipeline.choices import CASCADE_AUTO
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from tests.support.tflite_writer import GraphWriter, ModelWriter
from workloads.load import load

AS_VELA = ("npu.ethos.border_blocks=whole", "npu.ethos.weights_on_port=no")
"""With these an op takes as many cycles as Vela says (``bench.vela_ops``)."""
SYSTEMS = ("Ethos_U65_High_End", "Ethos_U65_Client_Server")
VALID = 1
NAMES: Mapping[str, tuple[str, str]] = {
    "add": ("ADD", "AddOptions"),
    "mul": ("MUL", "MulOptions"),
    "sigmoid": ("LOGISTIC", ""),
    "tanh": ("TANH", ""),
    "clip": ("RELU6", ""),
    "softmax": ("SOFTMAX", "SoftmaxOptions"),
}
SCALES = {"sigmoid": (1 / 256, -128), "softmax": (1 / 256, -128), "tanh": (1 / 128, 0)}
"""Scale and zero point that TensorFlow Lite asks of an output."""


def main(argv: Sequence[str] | None = None) -> None:
    """Print the milliseconds of each network: measured, predicted, and Vela's estimates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--vela", required=True, help="the command of ethos-u-vela")
    parser.add_argument("--only", default="")
    args = parser.parse_args(argv)
    ours = "| network | measured ms | predicted | plan | bound"
    print(f"{ours} | Vela, 3.75 GB/s | DRAM MB | Vela, 12 GB/s | DRAM MB |")
    print("| --- |" + " ---: |" * 8)
    for row in load_chip("imx93").measured:
        if row.traits.kind != LEAVE or not any(each in row.workload for each in args.only.split(",")):
            continue
        with TemporaryDirectory() as folder:
            file = write_program(load(row.workload), Path(folder) / "network.tflite")
            found = (estimate(args.vela, file, system) for system in SYSTEMS)
            cells = " | ".join(f"{milliseconds:.2f} | {moved:.1f}" for milliseconds, moved in found)
        ours = f"{row.measured:g} | {row.predicted:.2f} | {planned(load(row.workload))}"
        print(f"| {row.workload} | {ours} | {cells} |", flush=True)


def planned(program: Program) -> str:
    """Milliseconds of the default plan, and of the bound."""
    chip = load_chip("imx93", AS_VELA)
    request = PlanRequest(reuse(program, "all"), chip, streamer="auto", cascade=CASCADE_AUTO)
    found = with_listed_bound(run(request))
    return " | ".join(f"{chip.milliseconds(each):.2f}" for each in (found.trace.cycles, found.bound.cycles))


def estimate(vela: str, file: Path, system: str) -> tuple[float, float]:
    """Milliseconds, and megabytes of DRAM read and written, that Vela estimates for what the NPU computes."""
    flags = ["--debug-force-legacy-core", "--accelerator-config", "ethos-u65-256", "--verbose-cycle-estimate"]
    memory = ["--config", "Arm/vela.ini", "--system-config", system, "--memory-mode", "Dedicated_Sram_384KB"]
    asked = [vela, *flags, *memory, "--output-dir", str(file.parent), str(file)]
    text = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    cycles = re.findall(r"Total cycles +(\d+)", text)[0]
    return float(cycles) / 1e6, float(re.findall(r"Total +DRAM bandwidth +([\d.]+) MB/batch", text)[0])


def write_program(program: Program, path: Path) -> Path:
    """Write ``program`` with channels last, random weights, and its shapes and windows as they are."""
    model = ModelWriter()
    graph = model.graph()
    scales = {op.outputs[0]: SCALES[op.kind] for op in program.ops() if op.kind in SCALES}
    tensors = {
        name: graph.tensor(_last(each.shape), "INT8", name, scale=scale, zero=zero)
        for name, each in program.tensors.items()
        for scale, zero in [scales.get(name, (0.05, 0))]
    }
    for op in program.ops():
        inputs, outputs = ([tensors[name] for name in names] for names in (op.inputs, op.outputs))
        _write(graph, op, inputs, outputs)
    graph.inputs, graph.outputs = (
        [tensors[name] for name in names] for names in (program.inputs, program.outputs)
    )
    return model.write(path)


def _last(shape: Sequence[int]) -> list[int]:
    return [shape[0], *shape[2:], shape[1]] if len(shape) == 4 else list(shape)


def _write(graph: GraphWriter, op: Op, inputs: Sequence[int], outputs: Sequence[int]) -> None:
    """Write one op; what moves data only is a reshape, as channels are last already."""
    first, made = (graph.tensors[each]["shape"] for each in (inputs[0], outputs[0]))
    match op.work:
        case Pool() if op.work.of_whole_image:
            graph.op("MEAN", [inputs[0], _numbers(graph, [1, 2])], outputs, "ReducerOptions", KeepDims=True)
        case Pool(window):
            name = "MAX_POOL_2D" if op.kind == "max_pool" else "AVERAGE_POOL_2D"
            sides = {"FilterHeight": window.kernel_h, "FilterWidth": window.kernel_w}
            graph.op(name, inputs, outputs, "Pool2DOptions", **sides, **_moved(op.work))
        case Conv(window):
            kernel = window.kernel_h, window.kernel_w
            dilated = {"DilationHFactor": window.dilation_h, "DilationWFactor": window.dilation_w}
            shape = (
                (1, *kernel, op.work.out_c) if op.work.depthwise else (op.work.out_c, *kernel, op.work.in_c)
            )
            name, table = ("CONV_2D", "Conv2DOptions")
            if op.work.depthwise:
                name, table = "DEPTHWISE_CONV_2D", "DepthwiseConv2DOptions"
                dilated["DepthMultiplier"] = op.work.out_c // op.work.in_c
            given = [inputs[0], *_weights(graph, shape, 3 if op.work.depthwise else 0)]
            graph.op(name, given, outputs, table, **dilated, **_moved(op.work))
        case Matmul():
            flat = _reshaped(graph, inputs[0], [1, op.work.inner])
            given = [flat, *_weights(graph, (op.work.cols, op.work.inner), 0)]
            graph.op("FULLY_CONNECTED", given, outputs, "FullyConnectedOptions", KeepNumDims=False)
        case _ if op.kind == "concat":
            if len(made) == 3:
                inputs = [_reshaped(graph, each, [1, -1, made[2]]) for each in inputs]
            shapes = [graph.tensors[each]["shape"] for each in inputs]
            axis = next(axis for axis, size in enumerate(made) if sum(s[axis] for s in shapes) == size)
            graph.op("CONCATENATION", inputs, outputs, "ConcatenationOptions", Axis=axis)
        case _ if op.kind == "resize":
            given = [inputs[0], _numbers(graph, made[1:3])]
            graph.op("RESIZE_NEAREST_NEIGHBOR", given, outputs, "ResizeNearestNeighborOptions")
        case _ if op.kind == "slice":
            begin = [whole - kept for whole, kept in zip(first, made, strict=True)]
            given = [inputs[0], _numbers(graph, begin), _numbers(graph, made)]
            graph.op("SLICE", given, outputs, "SliceOptions")
        case _ if op.kind in NAMES:
            name, table = NAMES[op.kind]
            graph.op(name, inputs, outputs, table, **({"Beta": 1.0} if op.kind == "softmax" else {}))
        case _:
            graph.op("RESHAPE", [inputs[0], _numbers(graph, made)], outputs, "ReshapeOptions")


def _moved(work: Conv | Pool) -> dict[str, Any]:
    window = work.window
    same = (window.out_h - 1) * window.stride_h < window.in_h <= window.out_h * window.stride_h
    return {"Padding": SAME if same else VALID, "StrideH": window.stride_h, "StrideW": window.stride_w}


def _numbers(graph: GraphWriter, values: Sequence[int]) -> int:
    return graph.constant(np.array(values), "INT32")


def _reshaped(graph: GraphWriter, tensor: int, shape: Sequence[int]) -> int:
    left = prod(graph.tensors[tensor]["shape"]) // prod(abs(each) for each in shape)
    made = graph.tensor([left if each < 0 else each for each in shape], scale=0.05)
    graph.op("RESHAPE", [tensor, _numbers(graph, graph.tensors[made]["shape"])], [made], "ReshapeOptions")
    return made


def _weights(graph: GraphWriter, shape: Sequence[int], axis: int) -> list[int]:
    """Weights spread as trained ones, which Vela's coding makes smaller, and biases."""
    values, channels = np.random.default_rng(1).normal(0, 30, shape), shape[axis]
    weights = graph.constant(np.clip(np.round(values), -127, 127), axis=axis, scale=[0.01] * channels)
    return [weights, graph.constant(np.arange(channels), "INT32", scale=[0.0005] * channels)]


if __name__ == "__main__":
    main()
