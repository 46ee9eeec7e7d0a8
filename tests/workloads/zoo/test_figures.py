"""The networks have the sizes that their publications print."""

import pytest

from chipmodel.model.program import Program
from chipmodel.model.work import Conv
from chipmodel.passes.validate import validate_program
from chipmodel.rewrites.states import with_states
from tests.support.networks import built_in, built_in as program


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
    [(0.75, 224, 325, 2.6), (1.0, 192, 418, 4.2), (1.0, 160, 291, 4.2), (1.0, 128, 186, 4.2)],
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


# -- networks whose publications print no counts -------------------------------------------------------


# The last number is the total of Keras' summary, cited from memory; layer by layer, all agreed with the
# reference models or ports of them when the rows were written. Of BatchNorm Keras counts four numbers a
# channel (scale, shift, mean, variance), and in these models the layer before has a bias as well.
# The sums of multiply-accumulates are those usually quoted: 2.7 M, 12.5 M, 0.264 M, 7.5 M.
@pytest.mark.parametrize(
    ("name", "macs", "batch_norm_channels", "keras_total"),
    [
        ("ds_cnn", 2_656_768, 9 * 64, 24_908),
        ("resnet8", 12_501_632, 3 * 16 + 2 * 32 + 2 * 64, 78_666),
        ("autoencoder", 264_192, 8 * 128 + 8, 269_992),
        ("mobilenetv1_025", 7_489_664, 2_736, 221_794),
    ],
)
def test_mlperf_tiny(name: str, macs: int, batch_norm_channels: int, keras_total: int) -> None:
    built = program(name)
    assert built.macs == macs
    assert built.parameters + 4 * batch_norm_channels == keras_total


# Blocks of the paper as in github.com/tkat0/PyTorch_BlazeFace, whose stem is 3x3, here 5x5 as secondary
# descriptions of the paper have it; the variant is face_detection_front.tflite as listed in
# github.com/hollance/BlazeFace-PyTorch, blazeface.py. Both agreed layer by layer.
@pytest.mark.parametrize(
    ("url", "parameters", "macs"),
    [("blazeface", 71_176, 34_140_672), ("blazeface?variant=mediapipe", 101_390, 30_760_960)],
)
def test_blazeface(url: str, parameters: int, macs: int) -> None:
    built = program(url)
    assert (built.parameters, built.macs) == (parameters, macs)


# The table of models in the README of karpathy/llama2.c prints these names as numbers of parameters, which
# count the table of embeddings once: it is also the last layer's weights.
@pytest.mark.parametrize(
    ("variant", "parameters"), [("260K", 260e3), ("15M", 15e6), ("42M", 42e6), ("110M", 110e6)]
)
def test_parameters_are_those_of_the_table(variant: str, parameters: float) -> None:
    built = program(f"stories?variant={variant}")
    validate_program(built)
    assert built.parameters == pytest.approx(parameters, rel=0.015)


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


# Millions of multiply-accumulates and of parameters: the table of models of github.com/mit-han-lab/mcunet.
PRINTED = [
    ("mcunet?variant=in0&input=48", "6.4", "0.74"),
    ("mcunet?variant=in1&input=96", "12.8", "0.63"),
    ("mcunet?variant=in2&input=160", "67.3", "0.72"),
    ("mcunet", "81.8", "0.73"),
    ("mcunet?variant=in4&input=160", "125.9", "1.72"),
    ("mcunet?variant=mbv2&input=144", "23.5", "0.74"),
    ("mcunet?variant=proxyless", "38.3", "0.75"),
    ("mcunet?variant=vww1&input=80&classes=2", "11.6", "0.43"),
]
"""Of parameters it prints 0.01 M more for some, as it also counts what BatchNorm has."""
# "Common" in github.com/TinyPART/msf-CNN, msf_CNN_eval_models/result.json.
CHAINS = [
    ("mcunet?variant=mbv2_chain&input=144&body=chain", 18_909_490),
    ("mcunet?variant=vww1&input=80&body=chain", 11_578_496),
    ("mcunet?body=chain", 81_625_520),
]


@pytest.mark.parametrize(("network", "macs", "parameters"), PRINTED)
def test_printed_figures(network: str, macs: str, parameters: str) -> None:
    program = built_in(network)
    assert (f"{program.macs / 1e6:.1f}", f"{program.parameters / 1e6:.2f}") == (macs, parameters)


@pytest.mark.parametrize(("network", "macs"), CHAINS)
def test_chains_have_no_additions_and_the_multiply_accumulates_of_msf_cnn(network: str, macs: int) -> None:
    program = built_in(network)
    assert program.macs == macs
    assert not any(op.kind == "add" for op in program.ops())
