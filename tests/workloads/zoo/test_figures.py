"""The networks have the sizes that their publications and the tools of boards print, or their sources' code.

``tests/data/network_figures.csv`` has a row for each printed number, rounded as it is printed. "The source's
own code, run" is that of pytorchcv 0.0.74, timm 1.0.31, torchvision 0.28, ultralytics 8.4.190,
espressif/esp-detection, the .espdl files of espressif/esp-dl, Keras 3.15 and
STMicroelectronics/stm32ai-modelzoo-services (its Keras and PyTorch networks); layer by layer, in
multiply-accumulates and weights, all agreed when the rows were written.
"""

import csv
from collections import Counter, defaultdict
from math import floor

import pytest

from chipmodel.model.program import Program, ops
from chipmodel.model.work import Conv, Matmul
from chipmodel.passes.validate import validate_program
from chipmodel.rewrites.states import with_states
from tests.support.folders import ROOT
from tests.support.networks import built_in as program

FIGURES = defaultdict[str, list[tuple[str, str]]](list)
for _row in csv.DictReader((ROOT / "tests/data/network_figures.csv").read_text().splitlines()):
    FIGURES[_row["url"]].append((_row["counted"], _row["printed"]))
UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}


def figures(built: Program) -> dict[str, float]:
    """What a program has of each thing that sources count.

    Folded, one bias per channel is left of a BatchNorm's scale and shift. ``MACs of layers`` are without the
    products of attention, which have no weights and are not layers in PyTorch.
    """
    layers: list[tuple[Conv | Matmul, int]] = []
    for op in built.ops():
        if isinstance(op.work, Conv | Matmul) and op.weights:
            kernel, *bias = (built.weights[name].elements for name in op.weights)
            assert bias in ([], [op.work.channels if isinstance(op.work, Conv) else op.work.cols])
            layers.append((op.work, kernel))
    channels = sum(work.out_c for work, _ in layers if isinstance(work, Conv))
    return {
        "MACs": built.macs,
        "MACs of layers": sum(work.macs for work, _ in layers),
        "parameters": built.parameters,
        "parameters with BatchNorm": built.parameters + channels,
        "kernels": sum(kernel for _, kernel in layers),
        "KiB of weights": built.weight_bytes / 1024,
    }


@pytest.mark.parametrize("url", FIGURES)
def test_a_network_has_its_printed_figures(url: str) -> None:
    found = figures(program(url))
    for counted, printed in FIGURES[url]:
        text, _, how = printed.partition(" within ")
        number, _, unit = text.removesuffix(" truncated").partition(" ")
        value, decimals = found[counted] / UNITS[unit], len(number.partition(".")[2])
        if how:
            assert value == pytest.approx(float(number), rel=float(how.removesuffix(" %")) / 100), counted
        elif text.endswith("truncated"):
            assert floor(value) == int(number), counted
        else:
            assert f"{value:.{decimals}f}" == number, counted


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
def test_a_token_more_takes_a_row_more_of_each_cache(dtype: str) -> None:
    built = [with_states(program(f"stories?variant=260K&past={n}", dtype), ()) for n in (7, 8)]
    for each in built:
        validate_program(each)
    kept = [sum(each.tensors[name].bytes for name in each.states) for each in built]
    size = {"int8": 1, "int16": 2, "float32": 4}[dtype]
    grown = [{each.tensors[name].shape for name in each.states.values()} for each in built]
    assert grown == [{(8, 32)}, {(9, 32)}]
    # Keys and values of 5 layers, 4 heads of 8 elements each.
    assert [len(each.states) for each in built] == [10, 10]
    assert kept == [7 * 10 * 32 * size, 8 * 10 * 32 * size]
    # 5 layers compare one query of 64 elements with one key more, and add one value more.
    assert built[1].macs - built[0].macs == 5 * 2 * 64


def test_a_prompt_costs_what_its_tokens_cost_but_the_scores_of_one() -> None:
    words = 32000 * 288
    tokens = [program(f"stories?past={past}").macs - words for past in range(4)]
    prompt = program("stories?tokens=4&past=0")
    validate_program(prompt)
    # Every query is compared with all four keys, later ones too: a mask, not a shorter product.
    masked = 6 * 2 * 288 * (0 + 1 + 2 + 3)
    assert prompt.macs == sum(tokens) + words + masked
    assert not with_states(prompt, ()).states


def test_fastdepth_has_the_weights_and_macs_of_its_paper() -> None:
    """1.34 M and 0.37 G (Wofk et al., Table 1); each addition is of equal shapes."""
    built = program("fastdepth")
    kernels = [built.weights[op.weights[0]].elements for op in ops(built.body) if op.weights]
    assert (round(sum(kernels) / 1e6, 2), round(built.macs / 1e9, 2)) == (1.34, 0.37)
    added = [op for op in ops(built.body) if op.kind == "add"]
    assert [built.tensors[op.outputs[0]].shape for op in added] == [
        (1, 256, 28, 28),
        (1, 120, 56, 56),
        (1, 56, 112, 112),
    ]


def test_a_swish_is_one_op_and_heads_are_wider_as_esp_dl_exports_them() -> None:
    """yolo26n_512_s8_s3.espdl: 66 swishes of int8, 21 tables of int16, 27 convolutions of int16."""
    built = program("yolo26?input=512&outputs=raw&head=int16")
    kinds = Counter((op.kind, op.dtype) for op in ops(built.body))
    assert (kinds["silu", "int8"], kinds["silu", "int16"]) == (66, 21)
    assert kinds["conv", "int16"] + kinds["depthwise_conv", "int16"] == 27
    assert (kinds["cast", "int8"], kinds["cast", "int16"], kinds["sigmoid", "int8"]) == (3, 2, 0)


# Two heads over 64 pixels at stride 32, with keys of 32 and values of 64 numbers.
def test_attention_of_yolo11_at_256() -> None:
    built, pixels = program("yolo11?input=256"), 64
    products = [op.work.macs for op in ops(built.body) if op.kind == "matmul"]
    assert products == [2 * pixels * pixels * 32, 2 * pixels * pixels * 64]


def test_swift_yolo_has_the_figures_of_its_publication() -> None:
    """Seeed-Studio/sscma-model-zoo, Swift-YOLO at 192: 90.564 Mflops, which are multiply-accumulates, two for
    each output of BatchNorm and one for each pixel of a resized image; 0.699 M parameters,
    two of them for each channel of BatchNorm.
    """
    built = program("swift_yolo")
    normed = [op for op in ops(built.body) if isinstance(op.work, Conv) and not op.name.startswith("head")]
    outputs = sum(built.tensors[op.outputs[0]].bytes for op in normed)
    resized = sum(built.tensors[op.outputs[0]].bytes for op in ops(built.body) if op.kind == "resize")
    assert built.macs + 2 * outputs + resized == 90_564_480
    layers = sum(w.elements for name, w in built.weights.items() if not name.endswith(".constant"))
    scales = sum(op.work.channels for op in normed if isinstance(op.work, Conv))
    assert round((layers + scales) / 1e6, 3) == 0.699


def test_wav2letter_is_as_large_as_its_tflite_file() -> None:
    """The files have 23,766,192 and 3,997,112 bytes with the graph (ARM-software/ML-zoo, definition.yaml)."""
    for variant, size in (("full", 23_766_192), ("tiny", 3_997_112)):
        assert 0.97 * size < program(f"wav2letter?variant={variant}").weight_bytes < size


def test_rnnoise_has_the_numbers_of_the_keras_layers() -> None:
    """Dense 24, GRUs of 24, 48 and 96 with two biases a gate, dense 1 and 22: 88,007 in model.summary()."""
    grus = sum(3 * units * (inputs + units + 2) for inputs, units in ((24, 24), (90, 48), (114, 96)))
    constants = 3  # the 1 from which each update gate is subtracted
    assert program("rnnoise").parameters - constants == 43 * 24 + grus + 25 + 97 * 22 == 88_007


@pytest.mark.parametrize(
    ("url", "mops", "kilobytes"),
    [
        ("micronet_ad?variant=small", 37.5, 253),
        ("micronet_ad?variant=medium", 124.7, 464),
        ("micronet_ad?variant=large", 129.0, 442),
        ("micronet_kws?variant=small", 16.4, 102),
        ("micronet_kws?variant=medium", 30.6, 163),
        ("micronet_kws?variant=large", 129.0, 612),
    ],
)
def test_micronets(url: str, mops: float, kilobytes: int) -> None:
    """Banbury et al. 2021, Table 4. After the first convolution, their operations for keyword spotting are
    those of 24.5 x 5 positions, where there are 25 x 5.
    """
    built = program(url)
    first = next(op.work.macs for op in ops(built.body))
    positions = 24.5 / 25 if "kws" in url else 1
    assert round(2 * (first + (built.macs - first) * positions) / 1e6, 1) == mops
    assert 0.5 * kilobytes * 1000 < built.weight_bytes < kilobytes * 1000
