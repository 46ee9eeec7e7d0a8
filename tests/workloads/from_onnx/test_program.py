"""Whole networks: the nine light models in the onnx package."""

from math import prod
from pathlib import Path
from typing import Any

import pytest

from chipmodel.hardware.chip_file import load_chip
from chipmodel.npu.cycles import op_cycles
from chipmodel.passes.validate import validate_program
from tests.support.folders import LIGHT_MODELS
from tests.support.work import calls
from tests.workloads.from_onnx.support_models import kinds, load, model, node, onnx, operations
from workloads.from_onnx.program import load_onnx

LIGHT = LIGHT_MODELS

# name: millions of parameters, billions of multiply-accumulates, tolerance of the MACs, where from.
# Published parameters count four numbers per batch-normalised channel (or two); folded, one is left.
PUBLISHED = {
    # Krizhevsky 2012: 60 M parameters; Caffe's bvlc_alexnet has 60,965,224. MACs: Canziani 2016
    # (arXiv:1605.07678) and Caffe's 727 M are at 227 x 227; this file is at 224: 54 x 54 in conv1.
    "bvlc_alexnet": (60.965224, 0.655, 0.01),
    # Huang 2017 (arXiv:1608.06993): torchvision's densenet121 has 7,978,856 and 2.83 GMAC.
    "densenet121": (7.978856, 2.83, 0.01),
    # Szegedy 2015 (arXiv:1409.4842): 1.5 G multiply-adds; Caffe's bvlc_googlenet has 6,998,552.
    "inception_v1": (6.998552, 1.5, 0.05),
    # Ioffe and Szegedy 2015 (arXiv:1502.03167): 11.2 M in Caffe, "2 G" in He 2016, table of Inception-BN.
    "inception_v2": (11.2, 2.0, 0.02),
    # He 2016 (arXiv:1512.03385): torchvision's resnet50 has 25,557,032 and 4.09 GMAC.
    "resnet50": (25.557032, 4.1, 0.01),
    # Zhang 2018 (arXiv:1707.01083), table 2: 1x with four groups has 133 M multiply-adds. The file has
    # half of its widths (136, 272, 544) and no bottlenecks: the same design at nearly the same cost.
    "shufflenet": (1.4, 0.133, 0.07),
    # Iandola 2016 (arXiv:1602.07360): torchvision's squeezenet1_1 has 1,235,496 and 0.35 GMAC.
    "squeezenet": (1.235496, 0.35, 0.01),
    # Simonyan 2015 (arXiv:1409.1556): torchvision's vgg19 has 143,667,240 and 19.63 GMAC.
    "vgg19": (143.667240, 19.63, 0.001),
    # Zeiler 2014 (arXiv:1311.2901) with 512 maps in layers 3 to 5 and a dense layer of 1024, which is
    # not published. By hand 7*7*3*96 + 5*5*96*256 + 9*(256*512 + 2*512*512) + 36*512*4096 + 4096*1024
    # + 1024*1000, a bias each; 109*109, 25*25 and 12*12 positions of the convolutions.
    "zfnet512": (87.250536, 1.4817, 0.0001),
}


def _path(name: str) -> Path:
    return LIGHT / f"light_{name}.onnx"


def _macs_of_file(made: Any) -> int:
    """An independent count: ONNX's own shapes of the whole model, convolutions and Gemms only."""
    inferred = onnx.shape_inference.infer_shapes(made, strict_mode=True, data_prop=True)
    infos = [*inferred.graph.value_info, *inferred.graph.input, *inferred.graph.output]
    shape = {i.name: [d.dim_value for d in i.type.tensor_type.shape.dim] for i in infos}
    total = 0
    for n in inferred.graph.node:
        if n.op_type == "Conv":
            total += prod(shape[n.output[0]]) * prod(shape[n.input[1]][1:])
        elif n.op_type == "Gemm":
            total += prod(shape[n.input[1]]) * shape[n.output[0]][0]
    return total


LARGE = ("bvlc_alexnet", "inception_v2", "vgg19", "zfnet512")


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=pytest.mark.slow) if each in LARGE else each for each in PUBLISHED]
)
def test_light_model_has_its_published_size(name: str) -> None:
    parameters, giga_macs, tolerance = PUBLISHED[name]
    program = load_onnx(_path(name), strict=True)
    validate_program(program)
    assert abs(program.parameters / 1e6 - parameters) <= 0.015 * parameters
    assert abs(program.macs / 1e9 - giga_macs) <= tolerance * giga_macs
    assert program.macs == _macs_of_file(onnx.load(_path(name)))
    assert program.notes == ()
    assert program.inputs in (("data_0",), ("gpu_0/data_0",))
    assert len(program.outputs) == 1


def test_folded_batch_norms_leave_one_bias_per_channel() -> None:
    program = load_onnx(_path("resnet50"))
    # torchvision's 25,557,032 has gamma and beta for each of 26,560 channels; one of the two is left.
    assert program.parameters == 25_557_032 - 26_560
    assert set(kinds(program)) == {"conv", "max_pool", "add", "average_pool", "dense", "softmax"}


@pytest.mark.parametrize(("dtype", "bits"), [("int8", 8), ("int16", 16), ("float16", 16), ("float32", 32)])
def test_dtype_is_the_type_of_weights_and_activations(dtype: str, bits: int) -> None:
    program = load_onnx(_path("squeezenet"), dtype=dtype)
    assert program.tensors["data_0"].bytes == 3 * 224 * 224 * bits // 8
    biases = sum(op.work.channels for op in operations(program) if op.kind == "conv")
    bias_bits = 32 if dtype.startswith("int") else bits
    weights = program.parameters - biases
    assert program.weight_bytes == (weights * bits + biases * bias_bits) // 8


@pytest.mark.slow
def test_the_largest_light_model_takes_few_calls_for_each_op() -> None:
    """246 ops with some 3,940 calls each; the second import, for the first also imports modules."""
    load_onnx(_path("densenet121"))
    assert calls(lambda: load_onnx(_path("densenet121"))) < 246 * 4_100


FIXTURES = sorted(LIGHT.parent.glob("pytorch-*/*/model.onnx"))


def test_the_onnx_packages_exports_of_pytorch_import_strictly() -> None:
    """About a hundred small graphs as PyTorch exported them, with the shape of each output in the file."""
    assert len(FIXTURES) > 80
    for path in FIXTURES:
        program = load_onnx(path, strict=True)
        validate_program(program)
        for info in onnx.load(path).graph.output:
            declared = tuple(d.dim_value for d in info.type.tensor_type.shape.dim)
            if info.name in program.tensors:
                assert program.tensors[info.name].shape == declared, path.parent.name


def test_names_and_order_are_those_of_the_file(tmp_path: Path) -> None:
    nodes = [
        node("Sigmoid", "a/b:0", "y"),
        node("Exp", "x", "a/b:0", name="the exp"),
        node("Log", "y", "z", name="the exp"),
    ]
    program = load(tmp_path, model(nodes, {"x": [1, 4]}, "z"))
    assert [op.name for op in operations(program)] == ["the exp", "Sigmoid_0", "the exp_2"]
    assert list(program.tensors) == ["x", "a/b:0", "y", "z"]


@pytest.mark.parametrize(("name", "title"), [("main_graph", "net"), ("tf2onnx", "net"), ("mine", "mine")])
def test_a_graph_without_a_name_of_its_own_is_called_as_its_file(
    name: str, title: str, tmp_path: Path
) -> None:
    made = model([node("Relu", "x", "y")], {"x": [1, 4]}, "y")
    made.graph.name = name
    assert load(tmp_path, made).name == title


def test_dead_nodes_and_unread_inputs_are_left_out(tmp_path: Path) -> None:
    nodes = [node("Exp", "x", "y"), node("Nonsense", "spare", "w", domain="nowhere")]
    program = load(tmp_path, model(nodes, {"x": [1, 4], "spare": [9]}, "y"))
    assert kinds(program) == ["exp"]
    assert program.inputs == ("x",)
    assert program.notes == ("input 'spare' is read by no op and left out",)


@pytest.mark.parametrize("chip", ["alif-e7", "corstone-320", "stm32n6", "luna-arcs", "gap9", "esp32s3"])
def test_a_batch_in_front_of_the_heads_costs_nothing(chip: str, tmp_path: Path) -> None:
    """Attention over four heads, whose scores in four axes are no image of four channels."""
    nodes = [
        node("MatMul", "q k", "scores"),
        node("Add", "scores mask", "masked"),
        node("Softmax", "masked", "shares", axis=-1),
        node("MatMul", "shares v", "y"),
    ]
    sizes = {"q": (4, 128, 16), "k": (4, 16, 128), "v": (4, 128, 16), "mask": (4, 128, 128)}
    npu = load_chip(chip).npu

    def cycles(batch: tuple[int, ...]) -> list[int]:
        made = model(nodes, {name: (*batch, *size) for name, size in sizes.items()}, "y")
        read = operations(load(tmp_path, made, dtype="int8"))
        return [op_cycles(npu, op, op.work.rows, op.work.channels) for op in read]

    assert cycles((1,)) == cycles(())
