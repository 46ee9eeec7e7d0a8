from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command_line import call
from tests.support.tflite_models import residual
from workloads.from_tflite.offline_plan import METADATA


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return residual().write(tmp_path / "net.tflite")


def test_it_says_the_head_to_the_byte_and_writes_the_model(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out_file = model.with_name("planned.tflite")
    code, out, _ = call(capsys, "arena", str(model), "--write-model", str(out_file))
    assert code == 0
    assert "3,456  proven smallest" in " ".join(out.split("planned here")[1].split()).replace(" p", "  p")
    assert "4,608" in out
    assert max(map(len, out.splitlines())) <= 80
    assert METADATA in out_file.read_bytes()


def test_json_has_the_offsets(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "arena", str(model), "--json", "-")
    answer = json.loads(out)
    assert code == 0
    assert (answer["head_bytes"], answer["status"]) == (3456, "optimal")
    assert len(answer["offsets"]) > len(answer["requests"])


def test_plan_writes_the_same_model(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_arena, by_plan = model.with_name("a.tflite"), model.with_name("p.tflite")
    assert call(capsys, "arena", str(model), "--write-model", str(by_arena))[0] == 0
    plan = ("plan", str(model), "--streamer", "sync", "-o", str(model.with_name("p.json")))
    assert call(capsys, *plan, "--write-model", str(by_plan))[0] == 0
    assert by_arena.read_bytes() == by_plan.read_bytes()


def test_other_files_have_no_arena(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call(capsys, "plan", "zoo:resnet8", "--write-model", str(tmp_path / "x.tflite"))
    assert (code, "--write-model is for TFLite files" in err) == (2, True)
    (tmp_path / "text.tflite").write_text("hello, this is text")
    code, _, err = call(capsys, "arena", str(tmp_path / "text.tflite"))
    assert (code, "this is not a TensorFlow Lite model" in err) == (2, True)
