"""Sources of workloads, and errors for other sources."""

from pathlib import Path

import pytest

from chipmodel.errors import BadInput
from chipmodel.model.program import Program
from tests.support.folders import WORKLOADS
from workloads import load as load_module
from workloads.load import load, parse_shape_option, parse_shape_options

EXAMPLE = WORKLOADS / "tiny_cnn.yaml"


def test_a_yaml_file() -> None:
    assert load(str(EXAMPLE)).name == "tiny-cnn"
    assert load(str(EXAMPLE), dtype="int16").tensors["image"].bytes == 2 * 3 * 32 * 32
    assert load(str(EXAMPLE), shapes={"image": (1, 3, 64, 64)}).tensors["image"].bytes == 3 * 64 * 64


def test_either_suffix_in_either_case(tmp_path: Path) -> None:
    for name in ("w.yml", "w.YAML"):
        (tmp_path / name).write_text(EXAMPLE.read_text(encoding="utf-8"), encoding="utf-8")
        assert load(str(tmp_path / name)).name == "tiny-cnn"


def test_a_built_in_network() -> None:
    assert load("zoo:resnet18").name == "resnet18"
    assert load("zoo:resnet18", dtype="float32").weight_bytes == 4 * load("zoo:resnet18").parameters


def test_an_onnx_file_is_for_the_onnx_importer(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none\.onnx") as raised:
        load(str(tmp_path / "none.onnx"))
    assert raised.value.hint


def test_every_program_is_validated(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def note(program: Program) -> None:
        seen.append(program.name)

    monkeypatch.setattr(load_module, "validate_program", note)
    load(str(EXAMPLE))
    load("zoo:resnet18")
    assert seen == ["tiny-cnn", "resnet18"]


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("resnet18", "write zoo:resnet18"),
        ("ResNet18", "write zoo:resnet18"),
        ("resnet18?input=448", "write zoo:resnet18?input=448"),
        ("resnet19", "did you mean zoo:resnet18?"),
        ("model.pb", "FILE.onnx, FILE.tflite"),
        ("model.tflite", "give the path of a .tflite file"),
        ("model.txt", "FILE.yaml"),
        ("", "zoo:NAME"),
        ("zoo:resnt18", "resnet18"),
        ("zoo:", "zoo:NAME"),
        ("zoo:resnet18?depth=3", "input"),
        ("none.yaml", "check the path"),
    ],
)
def test_sources_that_are_no_workload(source: str, part: str) -> None:
    with pytest.raises(BadInput) as raised:
        load(source)
    assert part in raised.value.hint


def test_shapes_are_for_files() -> None:
    with pytest.raises(BadInput, match="'data'") as raised:
        load("zoo:resnet18", shapes={"data": (1, 3, 64, 64)})
    assert "zoo:resnet18?input=SIZE" in raised.value.hint


def test_shape_option() -> None:
    assert parse_shape_option("data=1,3,224,224") == ("data", (1, 3, 224, 224))
    assert parse_shape_option(" a=b=7 ") == ("a=b", (7,))
    assert parse_shape_options(["batch=1,seq=128", "x=2,3"]) == {"batch": (1,), "seq": (128,), "x": (2, 3)}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "data",
        "data=",
        "=1,2",
        "data=1,",
        "data=1x2",
        "data=-1,3",
        "data=0,3",
        "data=1.5",
        "data=" + "9" * 50,
    ],
)
def test_bad_shape_options(text: str) -> None:
    with pytest.raises(BadInput) as raised:
        parse_shape_option(text)
    assert "data=1,3,224,224" in raised.value.hint
