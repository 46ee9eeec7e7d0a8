"""The networks have the sizes that their publications print."""

from __future__ import annotations

from math import prod

import pytest

from chipmodel.model.program import Program
from chipmodel.model.work import Conv
from tests.support.networks import built_in as program

Row = tuple[int, int, int]
"""Output positions, output channels, and inputs that one output sums up."""


def conv_channels(built: Program) -> int:
    return sum(op.work.out_c for op in built.ops() if isinstance(op.work, Conv))


# -- published figures -------------------------------------------------------------------------------


# num_params and _ops (GFLOPS, printed with three decimals) of the IMAGENET1K_V1 weights in
# torchvision/models/*.py, release 0.15 and later; behind them the multiply-accumulates of all convolutions
# and dense layers, as torch profilers count them without bias, BatchNorm and pooling. num_params has the
# scale and the shift of every BatchNorm; folded, one bias per channel is left of the two, so they differ by
# the channels of all convolutions that have a BatchNorm: all of them, except in VGG-16 and AlexNet, which
# have none.
@pytest.mark.parametrize(
    ("name", "num_params", "gflops", "macs", "batch_norm_channels"),
    [
        ("resnet18", 11_689_512, 1.814, 1_814_073_344, 4_800),
        ("resnet50", 25_557_032, 4.089, 4_089_184_256, 26_560),
        ("mobilenetv2", 3_504_872, 0.301, 300_774_272, 17_056),
        ("googlenet", 6_624_904, 1.498, None, 7_280),
        ("vgg16", 138_357_544, 15.470, 15_470_264_320, 0),
        ("alexnet", 61_100_840, 0.714, 714_188_480, 0),
    ],
)
def test_torchvision_figures(
    name: str, num_params: int, gflops: float, macs: int | None, batch_norm_channels: int
) -> None:
    built = program(name)
    assert built.parameters + batch_norm_channels == num_params
    assert batch_norm_channels in (0, conv_channels(built))
    assert round(built.macs / 1e9, 3) == gflops
    assert built.macs == (macs or built.macs)


def test_googlenet_of_the_paper_has_the_parameters_of_its_caffe_model() -> None:
    # BVLC's bvlc_googlenet without auxiliary heads: 6,998,552 weights and biases, no BatchNorm
    # (cited from memory).
    built = program("googlenet?kernel=5")
    assert built.parameters == 6_998_552
    assert program("googlenet").macs < built.macs < 1_600_000_000


# tensorflow/models, research/slim/nets/mobilenet/README.md, "MACs (M)": all truncated to whole numbers.
@pytest.mark.parametrize(
    ("width", "macs_by_input"),
    [
        ("1.4", {224: 582}),
        ("1.3", {224: 509}),
        ("1.0", {224: 300, 192: 221, 160: 154, 128: 99, 96: 56}),
        ("0.75", {224: 209, 192: 153, 160: 107, 128: 69, 96: 39}),
        ("0.5", {224: 97, 192: 71, 160: 50, 128: 32, 96: 18}),
        ("0.35", {224: 59, 192: 43, 160: 30, 128: 20, 96: 11}),
    ],
)
def test_mobilenetv2_by_width_and_input(width: str, macs_by_input: dict[int, int]) -> None:
    built = {size: program(f"mobilenetv2?width={width}&input={size}") for size in macs_by_input}
    assert {size: p.macs // 1_000_000 for size, p in built.items()} == macs_by_input


# Million multiply-adds and parameters of MobileNet v1: at 224 as listed in the README of
# megvii-model/ShuffleNet-Series, the smaller inputs in tensorflow/models, slim/nets/mobilenet_v1.md.
@pytest.mark.parametrize(
    ("width", "size", "macs", "parameters"),
    [
        (0.75, 224, 325, 2.6),
        (1.0, 192, 418, 4.2),
        (1.0, 160, 291, 4.2),
        (1.0, 128, 186, 4.2),
    ],
)
def test_mobilenetv1_by_width_and_input(width: float, size: int, macs: int, parameters: float) -> None:
    built = program(f"mobilenetv1_025?width={width}&input={size}&classes=1000")
    assert round(built.macs / 1e6) == macs
    assert round(built.parameters / 1e6, 1) == parameters


# README of github.com/megvii-model/ShuffleNet-Series, ShuffleNetV1: FLOPs and #Params in millions,
# the latter with scale and shift of BatchNorm, which every convolution has.
@pytest.mark.parametrize(
    ("width", "groups", "flops", "params"),
    [
        ("0.5", 3, 38, 0.7),
        ("0.5", 8, 40, 1.0),
        ("1.0", 8, 138, 2.4),
        ("1.5", 3, 292, 3.4),
        ("1.5", 8, 290, 4.3),
        ("2.0", 3, 524, 5.4),
        ("2.0", 8, 522, 6.5),
    ],
)
def test_shufflenet_by_width_and_groups(width: str, groups: int, flops: int, params: float) -> None:
    built = program(f"shufflenetv1?width={width}&groups={groups}")
    assert round(built.macs / 1e6) == flops
    assert round((built.parameters + conv_channels(built)) / 1e6, 1) == params


def test_shufflenet_of_the_default_options() -> None:
    # The README prints 138 M for this one; the sum over its own code is 137.46 M.
    rows: list[Row] = [(112 * 112, 24, 27)]
    in_c = 24
    for stage, (units, out_c, side) in enumerate(((4, 240, 28), (8, 480, 14), (4, 960, 7))):
        for unit in range(units):
            halving = unit == 0
            middle, produced = out_c // 4, out_c - in_c if halving else out_c
            before = side * 2 if halving else side
            grouped = 1 if stage == 0 and halving else 3
            rows += [
                (before * before, middle, in_c // grouped),
                (side * side, middle, 9),
                (side * side, produced, middle // 3),
            ]
            in_c = out_c
    assert_rows(program("shufflenetv1"), [*rows, (1, 1000, 960)], bias_of_last=False)
    assert sum(prod(row) for row in rows) + 960_000 == 137_460_672


# -- networks whose publications print no counts: by layer ---------------------------------------------


def assert_rows(built: Program, rows: list[Row], *, bias_of_last: bool = True) -> None:
    computing = [op for op in built.ops() if op.work.macs]
    found = [(op.work.macs, sum(built.weights[w].elements for w in op.weights)) for op in computing]
    expected = [(n * c * inputs, c * inputs + c) for n, c, inputs in rows]
    if not bias_of_last:
        expected[-1] = (expected[-1][0], expected[-1][1] - rows[-1][1])
    assert found == expected


# As the ports of MLPerf Tiny's ds_cnn describe it; its own keras_model.py was not available.
DS_CNN: list[Row] = [(25 * 5, 64, 10 * 4), *[(25 * 5, 64, 9), (25 * 5, 64, 64)] * 4, (1, 12, 64)]

# mlcommons/tiny, benchmark/training/image_classification/keras_model.py. Its latest version
# defaults to 26 filters ("200k params"); v1 is taken to have 16, which gives the 78 k quoted for it.
RESNET8: list[Row] = [
    *[(32 * 32, 16, 3 * 9), (32 * 32, 16, 16 * 9), (32 * 32, 16, 16 * 9)],
    *[(16 * 16, 32, 16 * 9), (16 * 16, 32, 32 * 9), (16 * 16, 32, 16)],
    *[(8 * 8, 64, 32 * 9), (8 * 8, 64, 64 * 9), (8 * 8, 64, 32)],
    (1, 10, 64),
]

# eml-eda/pytorch-benchmarks, anomaly_detection/model.py, a port of the reference model.
AUTOENCODER: list[Row] = [
    (1, 128, 640),
    *[(1, 128, 128)] * 3,
    *[(1, 8, 128), (1, 128, 8)],
    *[(1, 128, 128)] * 3,
    (1, 640, 128),
]

# A public copy of MLPerf Tiny's vww_model.py, num_filters = 8.
MOBILENETV1_025: list[Row] = [
    *[(48 * 48, 8, 3 * 9), (48 * 48, 8, 9), (48 * 48, 16, 8)],
    *[(24 * 24, 16, 9), (24 * 24, 32, 16), (24 * 24, 32, 9), (24 * 24, 32, 32)],
    *[(12 * 12, 32, 9), (12 * 12, 64, 32), (12 * 12, 64, 9), (12 * 12, 64, 64)],
    *[(6 * 6, 64, 9), (6 * 6, 128, 64)],
    *[(6 * 6, 128, 9), (6 * 6, 128, 128)] * 5,
    *[(3 * 3, 128, 9), (3 * 3, 256, 128), (3 * 3, 256, 9), (3 * 3, 256, 256)],
    (1, 2, 256),
]

# The scores, then the boxes: 2 anchors at 16 x 16 and 6 at 8 x 8, one score and 16 coordinates each.
BLAZEFACE_HEADS: dict[int, list[Row]] = {
    c: [(16 * 16, 2, c), (8 * 8, 6, 96), (16 * 16, 2 * 16, c), (8 * 8, 6 * 16, 96)] for c in (88, 96)
}

# Blocks as in github.com/tkat0/PyTorch_BlazeFace, an implementation of the paper; its stem is 3x3, here
# 5x5 as secondary descriptions of the paper have it. The paper's own table was not available.
BLAZEFACE: list[Row] = [
    (64 * 64, 24, 3 * 25),
    *[(64 * 64, 24, 25), (64 * 64, 24, 24)] * 2,
    *[(32 * 32, 24, 25), (32 * 32, 48, 24)],
    *[(32 * 32, 48, 25), (32 * 32, 48, 48)] * 2,
    *[(16 * 16, 48, 25), (16 * 16, 24, 48), (16 * 16, 24, 25), (16 * 16, 96, 24)],
    *[(16 * 16, 96, 25), (16 * 16, 24, 96), (16 * 16, 24, 25), (16 * 16, 96, 24)] * 2,
    *[(8 * 8, 96, 25), (8 * 8, 24, 96), (8 * 8, 24, 25), (8 * 8, 96, 24)] * 3,
    *BLAZEFACE_HEADS[96],
]

# face_detection_front.tflite as listed in github.com/hollance/BlazeFace-PyTorch, blazeface.py.
MEDIAPIPE_BLOCKS: list[tuple[int, int, int]] = [  # output side, input channels, output channels
    *[(64, 24, 24), (64, 24, 28), (32, 28, 32), (32, 32, 36), (32, 36, 42), (16, 42, 48)],
    *[(16, 48, 56), (16, 56, 64), (16, 64, 72), (16, 72, 80), (16, 80, 88), (8, 88, 96)],
    *[(8, 96, 96)] * 4,
]
MEDIAPIPE: list[Row] = [
    (64 * 64, 24, 3 * 25),
    *(row for s, i, o in MEDIAPIPE_BLOCKS for row in ((s * s, i, 9), (s * s, o, i))),
    *BLAZEFACE_HEADS[88],
]


# The last number is the total of Keras' summary, cited from memory: the layer tables above
# are the independent check. Of BatchNorm Keras counts four numbers a
# channel (scale, shift, mean, variance), and in these models the layer before has a bias as well.
# The sums of multiply-accumulates are those usually quoted: 2.7 M, 12.5 M, 0.264 M, 7.5 M.
@pytest.mark.parametrize(
    ("name", "rows", "macs", "batch_norm_channels", "keras_total"),
    [
        ("ds_cnn", DS_CNN, 2_656_768, 9 * 64, 24_908),
        ("resnet8", RESNET8, 12_501_632, 3 * 16 + 2 * 32 + 2 * 64, 78_666),
        ("autoencoder", AUTOENCODER, 264_192, 8 * 128 + 8, 269_992),
        ("mobilenetv1_025", MOBILENETV1_025, 7_489_664, 2_736, 221_794),
    ],
)
def test_mlperf_tiny(
    name: str, rows: list[Row], macs: int, batch_norm_channels: int, keras_total: int
) -> None:
    built = program(name)
    assert_rows(built, rows)
    assert built.macs == macs
    assert built.parameters + 4 * batch_norm_channels == keras_total


def test_mlperf_tiny_weights_are_smaller_than_the_published_tflite_files() -> None:
    # Banbury et al. 2021: 52.5, 325 and 96 kB with graph and tables. (Not the autoencoder's 270 kB:
    # its int8 weights and int32 biases alone are 270,880 bytes.)
    for name, kilobytes in (("ds_cnn", 52.5), ("mobilenetv1_025", 325), ("resnet8", 96)):
        assert 0.4 * kilobytes * 1000 < program(name).weight_bytes < kilobytes * 1000


def test_blazeface_of_the_paper() -> None:
    built = program("blazeface")
    assert_rows(built, BLAZEFACE)
    assert (built.parameters, built.macs) == (71_176, 34_140_672)


def test_blazeface_as_released() -> None:
    built = program("blazeface?variant=mediapipe")
    assert_rows(built, MEDIAPIPE)
    assert (built.parameters, built.macs) == (101_390, 30_760_960)
