"""Weights of models where a plan looks for them, as arrays in the order of the output's channels."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chipmodel as cm
from tests.support.narrowed import of_kind
from tests.support.tflite_models import separable
from workloads.weight_values import weight_values

onnx: Any = import_module("onnx")
helper: Any = import_module("onnx.helper")
RANDOM = np.random.default_rng(1)
KERNEL = RANDOM.integers(-99, 99, (8, 4, 3, 3), dtype=np.int8)
BIAS = RANDOM.integers(-99, 99, (8,), dtype=np.int32)
MATRIX = RANDOM.integers(-99, 99, (32, 32), dtype=np.int8)


@pytest.fixture
def quantised(tmp_path: Path) -> Path:
    """A convolution with a bias, then a product with weights whose output channels are columns."""
    scale, zero = np.array(0.1, np.float32), np.array(0, np.int8)
    arrays = {"kernel": KERNEL, "bias": BIAS, "matrix": MATRIX, "s": scale, "z": zero}
    nodes = [
        helper.make_node(
            "QLinearConv", [*"xsz", "kernel", *"szsz", "bias"], ["c"], "conv", pads=[1, 1, 1, 1]
        ),
        helper.make_node("QLinearMatMul", [*"csz", "matrix", *"szsz"], ["y"], "product"),
    ]
    ends = [
        [helper.make_tensor_value_info(n, onnx.TensorProto.INT8, [1, c, 8, 32])]
        for n, c in (("x", 4), ("y", 8))
    ]
    held = [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()]
    path = tmp_path / "quantised.onnx"
    graph = helper.make_graph(nodes, "quantised", *ends, held)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), path)
    return path


def test_the_image_has_every_channel_where_its_part_is_loaded_from(quantised: Path) -> None:
    run = cm.plan(quantised, "luna-arcs", streamer="sync")
    image = of_kind(bytes, cm.export(run, "c", workload=quantised).files["weights.bin"])
    homes = {home.part.name: home.home for home in run.file.psram}
    conv, product = (image[homes[name].start : homes[name].stop] for name in ("conv", "product"))
    rows = [KERNEL.reshape(8, -1), BIAS.astype("<i4").view(np.int8).reshape(8, -1)]
    assert conv == np.concatenate(rows, axis=1).tobytes()
    assert product == MATRIX.T.tobytes()


def test_kernels_of_tensorflow_lite_with_the_scales_of_their_channels(tmp_path: Path) -> None:
    path = separable().write(tmp_path / "separable.tflite")
    program = cm.load(path)
    found = weight_values(path, program)
    assert {name: len(array) for name, array in found.items()} == {
        n: w.bytes for n, w in program.weights.items()
    }
    written = separable()
    depthwise = next(op for op in written.graphs[0].operators if op["name"] == "DEPTHWISE_CONV_2D")
    number: int = depthwise["inputs"][1]
    tensor: dict[str, Any] = written.graphs[0].tensors[number]
    buffer: int = tensor["buffer"]
    kernel = np.frombuffer(written.buffers[buffer], np.int8).reshape(tensor["shape"])
    rows = found[tensor["name"]].reshape(kernel.shape[3], -1)
    assert rows[5, :9].tobytes() == kernel[0, :, :, 5].tobytes()
    assert rows[5, 9:].tobytes() == np.float32(tensor["scale"][5]).tobytes()


def test_weights_of_other_sizes_have_no_values(quantised: Path) -> None:
    program = cm.load(quantised)
    wider = replace(program.weights["kernel"], bytes=2 * KERNEL.size)
    known = weight_values(quantised, replace(program, weights={**program.weights, "kernel": wider}))
    assert known.keys() == {"bias", "matrix"}
    assert not weight_values(Path("zoo:resnet8"), cm.load("zoo:resnet8"))
