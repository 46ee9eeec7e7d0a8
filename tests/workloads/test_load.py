"""Sources of workloads, errors for other sources, and cycles of ops from a profile."""

from pathlib import Path

import pytest

from chipmodel.errors import BadInput
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program, ops
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from tests.support.folders import WORKLOADS
from tests.support.mistakes import mistakes
from workloads import load as load_module
from workloads.load import load, parse_shape_option, parse_shape_options, parse_value_options
from workloads.profile import read_profile, with_profile

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


@pytest.mark.parametrize(("source", "part"), mistakes("workload_source"))
def test_sources_that_are_no_workload(source: str, part: str) -> None:
    with pytest.raises(BadInput) as raised:
        load(source)
    assert part in raised.value.hint


def test_shapes_are_for_files() -> None:
    with pytest.raises(BadInput, match="'data'") as raised:
        load("zoo:resnet18", shapes={"data": (1, 3, 64, 64)})
    assert "zoo:resnet18?input=64" in raised.value.hint


def test_shape_option() -> None:
    assert parse_shape_option("data=1,3,224,224") == ("data", (1, 3, 224, 224))
    assert parse_shape_option(" a=b=7 ") == ("a=b", (7,))
    assert parse_shape_options(["batch=1,seq=128", "x=2,3"]) == {"batch": (1,), "seq": (128,), "x": (2, 3)}


def test_value_options() -> None:
    found = parse_value_options(["sr=16000", "on=true,t=-0.5,1e3", " a=b=7 "])
    assert found == {"sr": (16_000,), "on": (True,), "t": (-0.5, 1000.0), "a=b": (7,)}
    assert type(found["sr"][0]) is int


@pytest.mark.parametrize("text", ["", "sr", "sr=", "=1", "sr=1,", "sr=one", "sr=nan", "sr=1x2"])
def test_bad_value_options(text: str) -> None:
    with pytest.raises(BadInput, match="is not NAME=NUMBER") as raised:
        parse_value_options([text])
    assert "sr=16000" in raised.value.hint


@pytest.mark.parametrize("source", ["zoo:resnet8", str(EXAMPLE), "none.tflite"])
def test_values_are_for_onnx_models(source: str) -> None:
    with pytest.raises(BadInput, match=r"--value sr=(?s:.)*ONNX"):
        load(source, values={"sr": (1,)})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "data=" + "9" * 50,
        *["data", "data=", "=1,2", "data=1,", "data=1x2", "data=-1,3", "data=0,3", "data=1.5"],
    ],
)
def test_bad_shape_options(text: str) -> None:
    with pytest.raises(BadInput) as raised:
        parse_shape_option(text)
    assert "data=1,3,224,224" in raised.value.hint


def profiled(folder: Path, text: str, workload: str) -> dict[str, int | None]:
    path = folder / "cycles.csv"
    path.write_text(text, encoding="utf-8")
    program = with_profile(load(workload), read_profile(path))
    return {op.name: op.cycles for op in ops(program.body)}


def test_measured_cycles_replace_the_models_and_only_those(tmp_path: Path) -> None:
    cycles = profiled(tmp_path, "op,cycles,comment\nconv1,1234,by hand\n\n", "zoo:resnet8")
    assert cycles["conv1"] == 1234
    assert {name for name, value in cycles.items() if value is not None} == {"conv1"}


def test_measured_cycles_reach_arms_loops_and_the_simulation(tmp_path: Path) -> None:
    source = str(WORKLOADS / "gated_vision.yaml")
    path = tmp_path / "cycles.csv"
    path.write_text("cycles,op\n1000000,f1\n")
    program = with_profile(load(source), read_profile(path))
    chip = load_chip("luna-arcs")
    for arm, least in (("face", 1_000_000), ("nothing", 0)):
        trace = run(PlanRequest(program, chip, "large-first", "sync"), {"gate": arm}).trace
        assert (trace.busy("npu") >= 1_000_000) == bool(least)


@pytest.mark.parametrize(("text", "place", "words"), mistakes("profile"))
def test_mistakes_are_named_with_their_place(text: str, place: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as raised:
        profiled(tmp_path, text, "zoo:resnet8")
    assert f"cycles.csv:{place}: " in str(raised.value)
    assert words in str(raised.value)
    assert raised.value.hint
