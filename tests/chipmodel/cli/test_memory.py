"""``chipmodel memory`` as a user meets it: stdout, stderr, files and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command_line import call


def test_the_smallest_memory_as_json_and_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "memory.html"
    arguments = ("memory", "zoo:resnet8", "--chip", "alif-e7", "--points", "2", "--json", "-")
    code, out, _ = call(capsys, *arguments, "--html", str(page))
    assert code == 0
    answer = json.loads(out)
    assert answer["with_cascades"]["shared_memory_bytes"] < answer["layer_by_layer"]["shared_memory_bytes"]
    assert len(answer["front"]) == 2
    assert "resnet8" in page.read_text(encoding="utf-8")


def test_a_plan_exists_in_the_size_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call(capsys, "memory", "zoo:resnet8", "--chip", "alif-e7", "--points", "0", "--json", "-")
    plan = json.loads(out)["layer_by_layer"]
    size, streamer = plan["shared_memory_bytes"], plan["streamer"]
    fields = ("--chip", "alif-e7", "--set", f"shared_memory.bytes={size}", "--cascade", "off", "--json", "-")
    code, out, _ = call(capsys, "simulate", "zoo:resnet8", *fields, "--no-spill", "--streamer", streamer)
    assert code == 0
    assert json.loads(out)["peak_bytes"] <= size
