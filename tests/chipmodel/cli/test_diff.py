"""``chipmodel diff`` as a user meets it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import call


def run(capsys: pytest.CaptureFixture[str], file: Path, *options: str) -> Path:
    code, _, err = call(capsys, "simulate", "zoo:resnet8", "--json", file, *options)
    assert code == 0, err
    return file


def difference(capsys: pytest.CaptureFixture[str], a: Path, b: Path) -> dict[str, Any]:
    code, out, err = call(capsys, "diff", a, b, "--json", "-")
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.mark.parametrize(
    "options",
    [
        ("--set", "psram.clock_mhz=60"),
        ("--streamer", "sync"),
        ("--set", "core_mhz=100"),
        ("--set", "cores=2"),
        ("--set", "shared_memory.bytes=48KiB"),
        ("--chip", "gap9-psram"),
    ],
)
def test_real_runs_are_explained_without_remainder(
    options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = run(capsys, tmp_path / "a.json"), run(capsys, tmp_path / "b.json", *options)
    found = difference(capsys, a, b)
    change = json.loads(b.read_text())["total_cycles"] - json.loads(a.read_text())["total_cycles"]
    assert change == found["change_cycles"]
    for key in ("parts", "causes"):
        assert sum(part["cycles"] for part in found[key]) == change
    assert sum(op["cycles"] for op in found["ops"]) + found["rest_cycles"] == change
    assert found["settings"]


def test_the_terminal_says_the_answer_then_what_was_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = run(capsys, tmp_path / "a.json")
    b = run(capsys, tmp_path / "b.json", "--streamer", "sync")
    code, out, err = call(capsys, "diff", a, b)
    assert (code, err) == (0, "")
    assert out.index("slower: ") < out.index("Settings that differ") < out.index("Totals")
    assert "more waiting for weights" in out
