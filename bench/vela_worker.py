"""Arm Vela's own estimate of single ops: run by ``bench.vela_ops`` in the environment that has ethos-u-vela.

The memory is that of Ethos_U55_High_End_Embedded, or of Ethos_U65_Embedded. Reads a JSON list of ops from
standard input and writes a list of answers. An op has ``accelerator``, ``block`` (a block type of Vela),
``ifm`` and ``ofm`` (height, width, depth), ``kernel`` (height, width, stride y and x, dilation y and x),
``bits``, ``type`` (an op of Vela), ``activation`` (one, or empty), ``inputs`` (1 or 2) and ``scaled``. An
answer has the cycles of the NPU and of its port on SRAM, and the block of the output. A ``Mean`` over the
image is asked as the ops that Vela makes of it: the answer is the sum of the longer of both for each.

Ethos-U85 is known to Vela's newer compiler alone. Its op has a ``file``, a network that writes ``result`` by
that op, and Ethos_U85_SYS_Flash_High is the memory.
"""

import contextlib
import csv
import functools
import io
import json
import re
import sys
import tempfile
from pathlib import Path

import ethosu
from ethosu.vela import npu_performance as performance, vela
from ethosu.vela.architecture_allocator import find_block_config
from ethosu.vela.architecture_features import ArchitectureFeatures, TensorFormat
from ethosu.vela.data_type import DataType
from ethosu.vela.ethos_u55_regs.ethos_u55_regs import resampling_mode
from ethosu.vela.operation import Kernel, NpuBlockType, Op, Operation
from ethosu.vela.shape4d import Shape4D
from ethosu.vela.tensor import MemArea, QuantizationParameters, Tensor, create_const_tensor
from ethosu.vela.tflite_graph_optimiser import convert_mean_to_depthwise_conv

CONFIGURATION = Path(ethosu.__path__[0]) / "config_files" / "Arm" / "vela.ini"
SYSTEMS, MEMORY = {"u55": "Ethos_U55_High_End_Embedded", "u65": "Ethos_U65_Embedded"}, "Shared_Sram"


@functools.cache
def architecture(accelerator):
    with contextlib.redirect_stdout(io.StringIO()):
        system = SYSTEMS[accelerator.split("-")[1]]
        return ArchitectureFeatures([str(CONFIGURATION)], accelerator, system, MEMORY, 3, False, None)


def compiled(op):
    """The rows of Vela's debug database about each op that it makes of this one, the last one writes it."""
    flags = ("--config", str(CONFIGURATION), "--memory-mode", "Sram_Only", "--enable-debug-db")
    system = ("--system-config", "Ethos_U85_SYS_Flash_High", "--accelerator-config", op["accelerator"])
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        vela.main([op["file"], *flags, *system, "--output-dir", folder])
        text = next(Path(folder).glob("*_debug.xml")).read_text()
    tables = re.findall(r'<table name="(perf\w*)">\s*<!\[CDATA\[(.*?)\]\]>', text, re.DOTALL)
    rows = [row for _, body in tables for row in csv.DictReader(io.StringIO(body.strip()))]
    source = next(row["source_id"] for row in rows if row.get("name") == op["result"])
    numbers = [row["id"] for row in rows if row.get("source_id") == source]
    return [{k: v for row in rows if row.get("id") == n for k, v in row.items()} for n in numbers]


def made_of_mean(op):
    """The ops that Vela makes of a mean."""
    scale = QuantizationParameters(scale_f32=0.05, zero_point=0)
    mean, tensors = Operation(Op.Mean, "mean"), []
    for name in ("ifm", "ofm"):
        tensors.append(Tensor([1, *op[name]], DataType.int8, name))
        tensors[-1].quantization = scale
    mean.inputs = [tensors[0], create_const_tensor("axes", [2], DataType.int32, [1, 2])]
    mean.set_output_tensor(tensors[1])
    mean.set_ifm_ofm_shapes()
    convert_mean_to_depthwise_conv(mean, None, None)
    left = [mean]
    while left:
        made = left.pop()
        if made.type is Op.Const:
            continue
        left += [maker for tensor in (made.ifm, made.ifm2) if tensor is not None for maker in tensor.ops]
        kernel, read = made.kernel, made.read_shapes[0] or made.ifm_shapes[0]
        sides = {
            "ifm": read.as_list()[1:],
            "ofm": op["ofm"],
            "kernel": [kernel.height, kernel.width, *[1] * 4],
        }
        conv = made.type is Op.DepthwiseConv2DBias
        block = "ConvolutionDepthWise" if conv else "ElementWise"
        inputs = 2 if made.type is Op.Add else 1
        yield (
            op | sides | {"block": block, "type": made.type.name, "bits": 8 if conv else 32, "inputs": inputs}
        )


def answer(op):
    if "file" in op:
        rows = compiled(op)
        return {
            "npu": sum(int(row["npu_cycles"]) for row in rows),
            "sram": sum(float(row.get("SramFeatureMap_ac") or 0) for row in rows),
            "block": [int(rows[0][f"ofm_block_{axis}"]) for axis in "hwc"],
        }
    if op["type"] == "Mean":
        answers = [answer(made) for made in made_of_mean(op)]
        longest = sum(max(each["npu"], each["sram"]) for each in answers)
        return answers[-1] | {"npu": longest, "sram": 0}
    arch = architecture(op["accelerator"])
    block = NpuBlockType[op["block"]]
    ifm, ofm = Shape4D(1, *op["ifm"]), Shape4D(1, *op["ofm"])
    high, wide, stride_y, stride_x, dilation_y, dilation_x = op["kernel"]
    kernel = Kernel(wide, high, stride_x, stride_y, dilation_x, dilation_y)
    lut = 2 if op["activation"] in ("Sigmoid", "Tanh", "LUT") else 0
    second = ifm if op["inputs"] == 2 else None
    mode = resampling_mode.NONE
    config = find_block_config(
        arch, block, ofm, ifm, second, False, op["bits"], kernel, lut, op["scaled"], mode
    )
    query = performance.PerformanceQuery(block)
    query.ifm_shape, query.ofm_shape, query.ifm2_shape = ifm, ofm, second
    query.ifm_bits = query.ofm_bits = query.ifm2_bits = op["bits"]
    query.ifm_memory_area = query.ofm_memory_area = query.ifm2_memory_area = MemArea.Sram
    query.ifm_format = query.ofm_format = query.ifm2_format = TensorFormat.NHCWB16
    query.kernel, query.config = kernel, config
    if block in (NpuBlockType.ConvolutionMxN, NpuBlockType.ConvolutionDepthWise, NpuBlockType.VectorProduct):
        query.const_shape = Shape4D(1, 1, 1, ofm.depth)
        query.const_memory_area = MemArea.Sram
    activation = Op[op["activation"]] if op["activation"] else None
    cycles = performance.measure_cycle_cost(arch, Op[op["type"]], activation, query)
    access = performance.measure_element_access(arch, query)
    element = op["bits"] // 8
    moved = 0
    for read, shape in zip(access.ifm_read, (ifm, second), strict=True):
        if shape is not None:
            moved += performance._estimate_memory_transfer_efficiency(
                arch,
                True,
                MemArea.Sram,
                query.ifm_format,
                op["bits"],
                config.ifm_block,
                shape,
                read * element,
            )
    moved += performance._estimate_memory_transfer_efficiency(
        arch,
        False,
        MemArea.Sram,
        query.ofm_format,
        op["bits"],
        config.ofm_block,
        ofm,
        access.ofm_write * element,
    )
    return {
        "npu": int(cycles.op_cycles),
        "sram": float(moved / arch.memory_bandwidths_per_cycle[MemArea.Sram]),
        "weights": float(sum(access.const_read)),
        "block": list(config.ofm_block.as_list())[1:],
    }


json.dump([answer(op) for op in json.load(sys.stdin)], sys.stdout)
