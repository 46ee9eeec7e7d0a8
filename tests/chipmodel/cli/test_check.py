"""``check --execute``: what it prints, and its exit codes."""

from pathlib import Path

import pytest

from tests.support.command_line import Call

GATED = "workloads/gated_vision.yaml"


def made_plan(call: Call, file: Path, workload: str) -> None:
    code, _, _ = call(
        "plan", workload, "--streamer", "sync", "--set", "shared_memory.bytes=24KiB", "-o", file
    )
    assert code == 0


def test_a_right_plan_computes_the_network_along_every_arm(call: Call, tmp_path: Path) -> None:
    made_plan(call, tmp_path / "p.json", GATED)
    code, out, _ = call("check", tmp_path / "p.json", GATED, "--execute")
    assert code == 0
    assert out.startswith("Correct: ")
    face, nothing = (line.split() for line in out.splitlines() if line.endswith("equal"))
    assert (face[0], nothing[0]) == ("gate=face", "gate=nothing")
    assert face[-2:] == nothing[-2:] == ["129", "equal"]
    code, out, _ = call("check", tmp_path / "p.json", GATED, "--execute", "--path", "gate=nothing")
    assert (code, out.count("equal")) == (0, 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--path", "gate=face"], "--path chooses what --execute runs"),
        (["--execute", "--path", "gate=none"], "no such arm"),
    ],
)
def test_paths_without_a_run_or_an_arm_are_refused(
    call: Call, tmp_path: Path, arguments: list[str], words: str
) -> None:
    made_plan(call, tmp_path / "p.json", GATED)
    code, _, err = call("check", tmp_path / "p.json", GATED, *arguments)
    assert code == 2
    assert words in err


def test_a_packing_has_nothing_to_execute(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    code, _, err = call("check", tmp_path / "a.json", "workloads/packing-example.csv", "--execute")
    assert code == 2
    assert "no commands to execute" in err
