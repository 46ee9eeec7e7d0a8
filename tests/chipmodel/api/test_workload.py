"""Workloads in Python: files, contents, models, programs."""

from dataclasses import replace
from pathlib import Path

import pytest

import chipmodel as cm
from chipmodel.api.effort import TimeLimit
from chipmodel.errors import TimeIsOver
from tests.support.folders import ROOT
from workloads.from_onnx.bundled_models import model_file
from workloads.from_onnx.onnx_package import module

TFLITE = ROOT / "workloads" / "residual.tflite"
YAML = ROOT / "workloads" / "tiny_cnn.yaml"
ONNX = Path(model_file("onnx:light_squeezenet"))


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
