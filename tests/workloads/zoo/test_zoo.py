import subprocess
import sys
from collections import Counter
from itertools import pairwise
from math import prod

import pytest
from hypothesis import given, settings, strategies as st

from chipmodel.errors import BadInput
from chipmodel.model.program import DTYPE_BITS, Op, Program
from chipmodel.model.work import Conv, Matmul, Pool, Vector
from tests.support.mistakes import mistakes
from tests.support.networks import built_in as program
from workloads import zoo
from workloads.zoo.catalogue import BuiltInNetwork

NETWORKS = {n.name: n for n in zoo.networks() if n not in zoo.networks("control_flow", "language")}
NO_ROW_OF_CLASSES = {
    *(network.name for network in zoo.networks("detectors")),
    *("darknet_tiny", "deeplabv3", "movenet", "squeezenet", "ssd_mobilenetv1", "ssd_mobilenetv2_fpnlite"),
    *("ssdlite_mobilenetv1", "ssdlite_mobilenetv3", "st_fdmobilenet_v1", "st_ssd_mobilenetv1", "st_yololc"),
    *("efficientdet_lite", "fastestdet", "nanodet", "wav2letter", "yolact_edge", "yolov4_tiny"),
}
"""Networks with other outputs: boxes, letters for each frame, an image of one pixel with the classes."""
AS_WIDE_AS_THE_INPUT = {
    *("autoencoder", "deepface_emotion", "dnn_kws", "hand_posture", "ign", "miniresnet", "mobilefacenet"),
    *("rnnoise", "swift_yolo"),
}
"""Networks with weights or constants for each number of the input, or of the last image."""


def shape(built: Program, tensor: str) -> tuple[int, ...]:
    return built.tensors[tensor].shape


# -- structure -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "kinds", "outputs"),
    [
        (
            "blazeface",
            {"conv": 22, "depthwise_conv": 17, "add": 11, "max_pool": 3, "pad": 2, "concat": 2},
            [(1, 896, 1), (1, 896, 16)],
        ),
        (
            "blazeface?variant=mediapipe",
            {"conv": 21, "depthwise_conv": 16, "add": 16, "max_pool": 3, "pad": 11, "concat": 2},
            [(1, 896, 1), (1, 896, 16)],
        ),
    ],
)
def test_ops_and_outputs(url: str, kinds: dict[str, int], outputs: list[tuple[int, ...]]) -> None:
    built = program(url)
    assert Counter(op.kind for op in built.ops()) == kinds
    assert [shape(built, t) for t in built.outputs] == outputs


# -- every network, with any options -------------------------------------------------------------------


def in_elements(op: Op) -> int:
    """Elements of the first operand, as the work describes it."""
    match op.work:
        case Conv() as work:
            return work.batch * work.window.in_h * work.window.in_w * work.in_c
        case Pool() as work:
            return work.batch * work.window.in_h * work.window.in_w * work.channels
        case Matmul() as work:
            return work.rows * work.inner
        case _:
            raise AssertionError(op.kind)


def out_elements(op: Op) -> int:
    match op.work:
        case Conv() | Pool() as work:
            return work.rows * work.window.out_w * work.channels
        case Matmul() as work:
            return work.rows * work.cols
        case Vector() as work:
            return work.elements
        case _:
            raise AssertionError(op.kind)


def bits(built: Program, tensor: str, dtype: str) -> int:
    """Bits of an element: those of ``dtype``, or of int16 behind a cast to it."""
    own = built.tensors[tensor].dtype
    assert own in (dtype, "int16")
    return DTYPE_BITS[own]


def assert_sound(built: Program, dtype: str) -> None:
    """Every tensor is written once, before it is read, and read or an output; sizes agree."""
    written = set(built.inputs)
    read: set[str] = set()
    for op in built.ops():
        assert set(op.inputs) <= written
        assert not written & set(op.outputs)
        written |= set(op.outputs)
        read |= set(op.inputs)
        in_bytes = [built.tensors[t].bytes for t in op.inputs]
        if isinstance(op.work, Vector):
            assert op.work.in_bytes == sum(in_bytes)
        else:
            assert in_elements(op) * bits(built, op.inputs[0], dtype) == 8 * in_bytes[0]
            assert len(in_bytes) == (2 if op.kind == "matmul" else 1)
        assert sum(prod(shape(built, output)) for output in op.outputs) == out_elements(op)
        out_bytes = sum(built.tensors[output].bytes for output in op.outputs)
        assert out_bytes * 8 == out_elements(op) * bits(built, op.outputs[0], dtype)
    assert written == set(built.tensors) == read | set(built.outputs)
    assert [w for op in built.ops() for w in op.weights] == list(built.weights)


@pytest.mark.parametrize(
    "dtype", ["int8", *(pytest.param(each, marks=pytest.mark.slow) for each in ("int16", "float32"))]
)
@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_in_every_dtype_and_size(name: str, dtype: str) -> None:
    option = NETWORKS[name].options["input"]
    assert isinstance(option.default, int)
    for size in (option.minimum, option.minimum + 1, option.default, 2 * option.default + 1):
        assert_sound(zoo.build(name, {"input": str(size)}, dtype), dtype)


def test_weights_and_biases_by_dtype() -> None:
    # 265,864 parameters, of which 1,672 are biases: int32 in an integer network.
    weights, biases = 264_192, 1_672
    sizes = {dtype: program("autoencoder", dtype).weight_bytes for dtype in ("int8", "int16", "float32")}
    assert sizes == {
        "int8": weights + 4 * biases,
        "int16": 2 * weights + 4 * biases,
        "float32": 4 * (weights + biases),
    }


@pytest.mark.parametrize("name", NETWORKS)
def test_larger_inputs_never_compute_less(name: str) -> None:
    option = NETWORKS[name].options["input"]
    low = int(option.minimum)
    built = [zoo.build(name, {"input": str(size)}) for size in (low, low + 7, 2 * low + 64)]
    for smaller, larger in pairwise(built):
        assert smaller.macs <= larger.macs
        small_maps, large_maps = (sum(t.bytes for t in p.tensors.values()) for p in (smaller, larger))
        assert small_maps < large_maps
        if name not in AS_WIDE_AS_THE_INPUT and "outputs" not in NETWORKS[name].options:
            assert smaller.parameters == larger.parameters


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_accepted_options_build_a_sound_program(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(NETWORKS)))
    options: dict[str, str] = {}
    for key, option in NETWORKS[name].options.items():
        if option.choices:
            options[key] = str(data.draw(st.sampled_from(option.choices)))
        elif isinstance(option.default, int):
            options[key] = str(
                data.draw(st.integers(int(option.minimum), min(600, int(option.maximum or 600))))
            )
        else:
            options[key] = str(data.draw(st.floats(option.minimum, 3)))
    built = zoo.build(name, options)
    assert_sound(built, "int8")
    classes = options.get("classes")
    if classes is not None and name not in NO_ROW_OF_CLASSES and options.get("body") != "chain":
        assert [shape(built, t) for t in built.outputs] == [(1, int(classes))]


# -- the package ---------------------------------------------------------------------------------------


def test_the_networks_are_sorted_and_have_one_name_each() -> None:
    names = [network.name for network in zoo.networks()]
    assert names == sorted(set(names))


@pytest.mark.parametrize("network", zoo.networks(), ids=lambda n: n.name)
def test_the_catalogue_is_complete(network: BuiltInNetwork) -> None:
    for text in (network.title, network.source, *_figures(network)):
        assert text
    for option in network.options.values():
        assert option.description
        assert option.read(str(option.default)) == option.default


def _figures(network: BuiltInNetwork) -> tuple[str, ...]:
    both = (network.macs, network.parameters)
    return tuple(text for figure in both for text in figure.split(", ", 1))


@pytest.mark.parametrize("name", NETWORKS)
def test_the_printed_macs_are_those_of_the_program(name: str) -> None:
    number, unit = NETWORKS[name].macs.partition(", ")[0].split()
    digits = len(number.partition(".")[2])
    printed = float(number) * {"M": 1e6, "G": 1e9}[unit]
    # One unit of the last digit: some sources round, others truncate.
    assert abs(zoo.build(name).macs - printed) < {"M": 1e6, "G": 1e9}[unit] / 10**digits


def test_importing_the_package_loads_no_family_and_nothing_heavy() -> None:
    script = (
        "import sys, workloads.zoo as zoo; zoo.networks(); before = set(sys.modules);"
        "zoo.build('resnet18'); after = set(sys.modules);"
        "print(*sorted(m for m in before if m.startswith('workloads.zoo')));"
        "print(*sorted(m for m in after - before if m.startswith('workloads.zoo')));"
        "print(*sorted(after & {'numpy', 'onnx', 'networkx', 'pydantic', 'click', 'difflib'}))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [
        "workloads.zoo workloads.zoo.catalogue",
        "workloads.zoo.layer_words workloads.zoo.layered workloads.zoo.layers",
        "",
    ]


def test_program_says_where_it_comes_from_and_what_was_changed() -> None:
    plain, changed = program("resnet18"), program("resnet18?classes=10&input=448")
    assert (plain.name, plain.source) == ("resnet18", NETWORKS["resnet18"].source)
    assert plain.notes == ()
    assert changed.notes == ("built with input=448, classes=10: the published figures do not apply",)
    assert "kernel=5" in program("googlenet").notes[0]


@pytest.mark.parametrize(
    ("hint", "url", "complaint"),
    [*mistakes("zoo_request"), ("", "resnet18?input=" + "9" * 5000, "is not a whole number")],
)
def test_bad_requests(url: str, complaint: str, hint: str) -> None:
    with pytest.raises(BadInput) as caught:
        program(url)
    assert complaint in caught.value.what
    assert hint in caught.value.hint


def test_bad_dtype() -> None:
    with pytest.raises(BadInput, match="unknown dtype 'int7'"):
        zoo.build("resnet8", {}, "int7")


KEYS = st.text("abcdefghijklmnopqrstuvwxyz_0123456789.-", min_size=1)


@given(KEYS, st.dictionaries(KEYS, KEYS))
def test_zoo_urls_round_trip(name: str, options: dict[str, str]) -> None:
    query = "&".join(f"{key}={value}" for key, value in options.items())
    assert zoo.parse_zoo_url(f"zoo:{name}?{query}" if options else f"zoo:{name}") == (name, options)


@pytest.mark.parametrize(("url", "complaint"), mistakes("zoo_url"))
def test_bad_urls(url: str, complaint: str) -> None:
    with pytest.raises(BadInput, match="write it as zoo:resnet8 or ") as caught:
        zoo.parse_zoo_url(url)
    assert complaint in caught.value.what
