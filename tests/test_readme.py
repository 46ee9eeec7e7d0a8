"""Every command that the README shows runs, and what it prints is what the README says."""

from __future__ import annotations

import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest

from chipmodel.cli.main import main
from tests.support.folders import ROOT

README = ROOT / "README.md"
COMMANDS = re.findall(r"^(chipmodel .*?)(?:\s+#\s*exit code (\d))?$", README.read_text(), re.MULTILINE)
GENERATED = re.compile(r"<!-- generated: (?P<command>.*?) -->\n(?P<body>.*?)<!-- end -->", re.DOTALL)


def run(command: str) -> int:
    argv = sys.argv
    sys.argv = shlex.split(command)
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        sys.argv = argv
    return ended.value.code if isinstance(ended.value.code, int) else 0


def test_commands_run_as_shown_and_in_that_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("workloads", "tests"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    assert len(COMMANDS) > 10
    for command, code in COMMANDS:
        assert run(command) == int(code or 0), (command, capsys.readouterr().err)


def test_shown_output_is_what_is_printed(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    for number in range(len(GENERATED.findall(README.read_text()))):
        text = README.read_text()
        block = list(GENERATED.finditer(text))[number]
        body = _printed(block["command"], capsys)
        if request.config.getoption("--update-golden"):
            README.write_text(text[: block.start("body")] + body + text[block.end("body") :])
        else:
            assert block["body"] == body


def _printed(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints, as it stands in the README: a Markdown table, or a block of terminal text."""
    if command.startswith("python "):
        _, file, *arguments = shlex.split(command)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(sys, "argv", [file, *arguments])
            runpy.run_path(str(ROOT / file), run_name="__main__")
        return capsys.readouterr().out
    run(f"chipmodel {command}")
    printed = "\n".join(line.rstrip() for line in capsys.readouterr().out.strip().splitlines())
    return f"```\n{printed}\n```\n"


def test_the_yaml_examples_are_valid(tmp_path: Path) -> None:
    from chipmodel.chip.chip_file import load_chip
    from workloads.load import load

    examples = re.findall(r"```yaml\n(.*?)```", README.read_text(), re.DOTALL)
    workload, chip = tmp_path / "tiny.yaml", tmp_path / "chip.yaml"
    workload.write_text(examples[0])
    chip.write_text(examples[1])
    assert load(str(workload)).name == "tiny"
    assert load_chip(str(chip)).shared_memory.bytes == 512 * 1024
