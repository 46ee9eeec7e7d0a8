"""The networks that measurements of boards name are those of their sources: multiply-accumulates and
parameters equal what the sources' own code counts.

Each row was counted by running that code: pytorchcv 0.0.74, timm 1.0.31, torchvision 0.28, ultralytics
8.4.190, espressif/esp-detection, the .espdl files of espressif/esp-dl, Keras 3.15 and
STMicroelectronics/stm32ai-modelzoo-services (its Keras and PyTorch networks). Layer by layer, in
multiply-accumulates and weights, all agreed when the rows were written.
"""

from collections import Counter

import pytest

from chipmodel.model.program import ops
from chipmodel.model.work import Conv, Matmul
from tests.support.networks import built_in as program

# URL, multiply-accumulates, numbers in the kernels of all convolutions and dense layers.
COUNTED = [
    ("efficientnetv2", 718_086_176, 7_064_576),
    ("efficientnetv2?variant=b1&input=240", 1_196_819_360, 8_053_152),
    ("efficientnetv2?variant=b2&input=260", 1_697_542_832, 9_994_384),
    ("efficientnetv2?variant=b3&input=300", 3_011_458_816, 14_223_448),
    ("efficientnetv2?variant=s&input=384", 8_365_617_152, 21_268_424),
    ("mobilenetv2?width=0.35&head=softmax", 59_285_808, 1_662_048),
    ("mobilenetv2?width=1.0&head=softmax", 300_774_272, 3_469_760),
    ("mobilenetv2?width=1.4", 582_195_824, 6_059_840),
    ("mobilenetv1_025?input=224&classes=1000", 41_030_272, 463_600),
    ("mobilenetv1_025?input=224&classes=1000&width=0.5", 149_497_088, 1_319_648),
    ("mobilenetv1_025?input=224&classes=1000&width=1", 568_740_352, 4_209_088),
    ("fdmobilenet", 144_489_728, 2_884_544),
    ("fdmobilenet?width=0.75", 84_282_816, 1_820_496),
    ("fdmobilenet?width=0.25", 12_037_952, 378_224),
    ("mobilenetv1_025?input=224&classes=1000&width=0.75", 325_400_448, 2_568_144),
    ("mobilenetv2?width=0.5", 97_131_840, 1_949_136),
    ("hardnet", 429_471_474, 3_470_412),
    ("hardnet?depth=68", 775_281_526, 4_157_002),
    ("proxylessnas", 320_427_584, 4_045_016),
    ("resnet18?width=0.25", 269_254_656, 3_931_440),
    ("squeezenet", 818_924_576, 1_244_448),
    ("squeezenet?version=1.1", 349_151_936, 1_231_552),
    ("mnasnet?variant=a1", 311_579_072, 3_848_312),
    ("mnasnet", 314_415_872, 4_344_392),
    ("mnasnet?width=0.5", 104_455_968, 2_196_888),
    ("mnasnet?width=0.75", 215_493_104, 3_139_400),
    ("mnasnet?width=1.3", 526_362_432, 6_232_440),
    ("st_resnet?variant=pico", 123_521_600, 617_249),
    ("st_resnet?variant=nano", 516_267_968, 1_011_233),
    ("st_resnet?variant=micro", 749_360_576, 1_566_305),
    ("st_resnet?variant=milli", 1_068_288_640, 3_128_761),
    ("st_resnet?variant=tiny", 1_207_122_496, 4_153_465),
    ("st_efficientnet_lc_v1?input=128", 19_886_848, 540_736),
    ("st_efficientnet_lc_v1", 60_645_808, 540_736),
    ("st_yoloxn?input=192", 110_476_800, 881_668),
    ("st_yoloxn", 518_627_200, 881_668),
    ("st_yoloxn?input=256&depth=0.5&width=0.4", 508_521_216, 2_432_199),
    ("st_yoloxn?input=480&depth=1.0&classes=80", 909_979_200, 1_140_196),
    ("st_yoloxn?depth=0.67", 592_089_472, 1_003_348),
    ("st_yolod", 853_362_432, 3_232_089),
    ("st_yolod?input=320&classes=1", 2_359_833_600, 3_216_921),
    ("st_yolod?variant=tiny", 1_026_073_728, 4_876_265),
    ("st_yolod?input=256&classes=1&variant=tiny", 1_813_938_176, 4_853_513),
    ("ssd_mobilenetv2", 2_315_287_280, 19_885_760),
    ("ssd_mobilenetv2?classes=1", 813_351_920, 7_569_344),
    ("ssd_mobilenetv2?classes=20", 1_174_576_880, 10_531_520),
    ("ssdlite_mobilenetv2", 787_595_056, 4_391_296),
    ("ssdlite_mobilenetv2?classes=1", 620_686_384, 2_995_840),
    ("yolo11?input=256&classes=1", 504_844_288, 2_574_464),
    ("yolo11", 3_240_531_200, 2_607_984),
    ("yolo26?input=256&classes=1", 414_953_472, 2_366_640),
    ("yolo26?input=512&outputs=raw", 1_714_376_704, 2_400_160),
    ("yolo26?input=512&outputs=raw&head=int16", 1_714_376_704, 2_400_160),
    ("yolo26", 2_678_713_600, 2_400_160),
    ("yolov8?input=256&classes=1", 646_619_136, 3_000_448),
    ("yolov8", 4_371_993_600, 3_146_176),
    ("yolo11?input=320&scale=s", 2_683_360_000, 9_428_336),
    ("espdet_pico", 78_193_808, 348_752),
    ("espdet_pico?input=416", 269_688_848, 348_752),
    ("face_msr", 8_108_568, 22_032),
    ("face_mnp", 2_358_512, 109_424),
    ("mobilefacenet", 221_161_984, 1_172_608),
    ("mobilefacenet?variant=mbf", 436_832_256, 3_378_048),
    ("osnet", 42_678_784, 190_960),
    ("mobilenetv2?width=0.25&variant=pytorchcv", 30_480_864, 1_505_928),
    ("mobilenetv2?width=0.75&variant=pytorchcv", 186_650_528, 2_601_320),
    ("mobilenetv2?width=0.25&variant=pytorchcv-b", 29_678_048, 1_505_864),
    ("mobilenetv2?width=0.75&variant=pytorchcv-b", 179_425_184, 2_600_744),
    ("picodet", 67_686_725, 319_091),
]


@pytest.mark.parametrize(("url", "macs", "kernels"), COUNTED, ids=[row[0] for row in COUNTED])
def test_macs_and_weights_of_the_source(url: str, macs: int, kernels: int) -> None:
    """Without the products of attention, which have no weights and are not layers in PyTorch."""
    built = program(url)
    found: list[tuple[int, int]] = []
    for op in ops(built.body):
        if isinstance(op.work, Conv | Matmul) and op.weights:
            kernel, *bias = (built.weights[weight].elements for weight in op.weights)
            found.append((op.work.macs, kernel))
            assert bias in ([], [op.work.channels if isinstance(op.work, Conv) else op.work.cols])
    assert (sum(row[0] for row in found), sum(row[1] for row in found)) == (macs, kernels)


# URL, multiply-accumulates in millions as their papers round them, and all numbers as torchvision, timm and
# darknet have them: kernels, biases, and scale and shift of BatchNorm (darknet: also mean and variance).
PUBLISHED = [
    ("shufflenetv2?width=0.5", 41, 1_366_792),
    ("shufflenetv2", 146, 2_278_604),
    ("shufflenetv2?width=1.5", 299, 3_503_624),
    ("shufflenetv2?width=2.0", 591, 7_393_996),
    ("dla46c", 580, 1_301_400),
    ("tiny_yolov2", 2703, (44_948_600 - 20) // 4),  # yolov2-tiny.weights has a head of 20 bytes
]


@pytest.mark.parametrize(("url", "millions", "numbers"), PUBLISHED, ids=[row[0] for row in PUBLISHED])
def test_numbers_are_those_of_the_published_files(url: str, millions: int, numbers: int) -> None:
    built = program(url)
    assert built.macs == pytest.approx(millions * 10**6, rel=0.02)
    normed = [op.work.channels for op in ops(built.body) if isinstance(op.work, Conv) and op.name != "conv15"]
    further = 3 if "yolo" in url else 1
    assert sum(each.elements for each in built.weights.values()) + further * sum(normed) == numbers


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


@pytest.mark.parametrize(
    ("url", "kibibytes"),
    [
        ("st_mnist", 10.08),
        ("st_fdmobilenet_v1?classes=5", 144.93),
        ("cifar_resnet", 464.38),
        ("resnet50v2?classes=1000", 25042.47),
        ("miniresnet", 123.60),
        ("miniresnet?variant=2", 431.10),
        ("miniresnet?variant=v2-1", 123.98),
        ("miniresnet?variant=v2-2", 431.98),
        ("st_yololc", 276.73),
    ],
)
def test_layers_of_st_have_the_weights_that_its_tool_counts(url: str, kibibytes: float) -> None:
    """KiB of weights in flash for int8 (stm32ai-modelzoo), with biases of 32 bits."""
    assert round(program(url).weight_bytes / 1024, 2) == pytest.approx(kibibytes, abs=0.011)


@pytest.mark.parametrize(
    ("url", "millions", "thousands"),
    [
        ("mobilenetv3", 56.5, 2537),
        ("mobilenetv3?variant=large", 216.6, 5471),
        ("peleenet", 508, 2797),
        ("regnetx", 199, 2674),
        ("sqnxt", 282, 713),
        ("dla46c?variant=46xc", 540, 1063),
        ("dla46c?variant=60xc", 590, 1313),
        ("yolov4_tiny", 3454, 6054),
        ("yolov8?task=pose&classes=1", 4600, 3332),
        ("yolov8?task=segment", 6000, 3446),
        ("yolo11?task=pose&classes=1", 3733, 2908),
        ("yolo11?task=segment", 4901, 2911),
    ],
)
def test_networks_of_boards_have_the_macs_of_their_papers(url: str, millions: int, thousands: int) -> None:
    """As their papers, timm, torchvision, AlexeyAB's darknet and Ultralytics print them, to 2 %; parameters
    as counted here."""
    built = program(url)
    assert built.macs / 1e6 == pytest.approx(millions, rel=0.02)
    assert built.parameters / 1e3 == pytest.approx(thousands, abs=1)
