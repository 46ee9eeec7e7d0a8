"""Chips and workloads in Python: names, files, contents, models, programs."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import chipmodel as cm
from chipmodel.api.effort import TimeLimit
from chipmodel.errors import TimeIsOver
from chipmodel.hardware.chip_file import load_chip
from chipmodel.studies.workload import load_workload, source_of
from tests.support.folders import ROOT
from workloads.from_onnx.onnx_package import model_file, module


def test_a_preset_with_other_values_is_what_set_makes_of_it() -> None:
    given = cm.chip("alif-e7", shared_memory__bytes="353KiB", cores=1)
    assert given == load_chip("alif-e7", ["shared_memory.bytes=353KiB", "cores=1"])
    assert sorted(given.overrides) == ["cores=1", "shared_memory.bytes=353KiB"]
    assert given.source == "alif-e7"


def test_a_mapping_has_the_keys_of_a_chip_file_and_its_errors() -> None:
    given = cm.chip({"base": "luna-arcs", "name": "mine", "psram": {"clock_mhz": 100}})
    assert given.name == "mine"
    assert given.psram.clock_mhz == Fraction(100)
    assert given.source == ""
    with pytest.raises(cm.BadInput, match="unknown key 'clock_mz' in psram"):
        cm.chip({"base": "luna-arcs", "psram": {"clock_mz": 100}})


def test_a_chip_can_be_changed_again_and_is_itself_otherwise() -> None:
    first = cm.chip("luna-arcs", psram__clock_mhz=100)
    assert cm.chip(first) is first
    second = cm.chip(first, psram__clock_mhz=50)
    assert second == load_chip("luna-arcs", ["psram.clock_mhz=50"])
    assert second.source == "luna-arcs"
    with pytest.raises(cm.BadInput, match="no chip is named"):
        cm.chip("luna-arc")


@pytest.mark.parametrize("of_one_core", [cm.smallest_memory, cm.decode])
def test_a_command_for_one_core_says_so_by_its_own_name(of_one_core: Callable[..., object]) -> None:
    name = "decode" if of_one_core is cm.decode else "memory"
    with pytest.raises(cm.BadInput, match=f"^{name} is for one core, and the chip has 2") as refusal:
        of_one_core("zoo:stories?variant=260K", cm.chip("luna-arcs", cores=2))
    assert refusal.value.hint == "take one core: --set cores=1 (chip(..., cores=1))"


TFLITE = ROOT / "workloads" / "residual.tflite"
YAML = ROOT / "workloads" / "tiny_cnn.yaml"
ONNX = Path(model_file("onnx:light_squeezenet"))


@pytest.mark.parametrize("rate", [16_000, [16_000]])
def test_the_value_of_an_input_is_a_number_or_a_list_in_every_kind_of_source(rate: int | list[int]) -> None:
    path = ROOT / "tests" / "data" / "cases" / "if_arm_shape.onnx"
    studied = load_workload(source_of(f"{path.name}?shape.n=8&value.sr=16000", path.parent))
    for source in (path, path.read_bytes()):
        program = cm.load(source, shapes={"n": 8}, values={"sr": rate})
        assert isinstance(studied, cm.Program)
        assert (program.inputs, program.notes) == (studied.inputs, ()) == (("x",), ())
    with pytest.raises(cm.BadInput, match="values says nothing about a program"):
        cm.load(program, values={"sr": rate})
    with pytest.raises(cm.BadInput, match="ONNX"):
        cm.load(TFLITE.read_bytes(), values={"sr": rate})


@pytest.mark.parametrize("path", [TFLITE, YAML, ONNX], ids=["tflite", "yaml", "onnx"])
def test_the_contents_of_a_file_are_the_program_of_the_file(path: Path) -> None:
    program = cm.load(path)
    contents = cm.load(path.read_bytes(), name=str(path))
    assert contents == program


def test_a_model_in_memory_is_the_program_of_its_file() -> None:
    model = module("onnx").ModelProto.FromString(ONNX.read_bytes())
    program = cm.load(model, name="net.onnx")
    assert program.macs == cm.load(ONNX).macs
    assert program.source == "net.onnx"


def test_options_are_those_of_the_command_line() -> None:
    wide = cm.load("zoo:branchynet", dtype="int16", probabilities={"exit1": 0.3})
    narrow = cm.load("zoo:branchynet")
    assert wide.weight_bytes > narrow.weight_bytes
    assert cm.load("zoo:resnet8", inferences=3).inferences == 3


def test_a_program_is_itself_and_says_where_options_belong() -> None:
    program = cm.load("zoo:resnet8")
    assert cm.load(program) is program
    assert cm.load(replace(program, name="other")).name == "other"
    with pytest.raises(cm.BadInput, match="dtype says nothing about a program"):
        cm.load(program, dtype="int16")


def test_what_is_no_model_is_bad_input() -> None:
    with pytest.raises(cm.BadInput, match="not an ONNX model"):
        cm.load(b"\x00\x01\x02\x03 nothing", name="net")


@pytest.mark.parametrize("path", [TFLITE, YAML, ONNX], ids=["tflite", "yaml", "onnx"])
def test_reading_a_workload_ends_at_the_time_limit(path: Path) -> None:
    """What is cancelled at once is not read at all; a limit of 0 leaves a second for a small file."""
    with pytest.raises(TimeIsOver, match="before the workload was read") as error:
        cm.load(path, time_limit=TimeLimit(cancel=lambda: True))
    assert error.value.exit_code == 3


def test_many_ops_are_not_planned_within_a_limit_too_short_for_any_plan() -> None:
    limit = TimeLimit(0)
    limit.require_first_plan(3_000)
    with pytest.raises(TimeIsOver, match="too short for any plan of 50,000 ops"):
        limit.require_first_plan(50_000)
    TimeLimit().require_first_plan(50_000)
