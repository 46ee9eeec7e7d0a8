"""Messages that name options speak of parameters to a caller in Python, and of options on the terminal."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import chipmodel as cm
from chipmodel.api.wording import FLAGS, MAPPINGS, OTHER_NAMES, in_python
from chipmodel.cli.main import COMMANDS, commands
from chipmodel.cli.options import path_choices
from tests.support.command_line import call
from tests.support.folders import ROOT

EXAMPLES = {
    "--path gate=fac: the if has no such arm": 'path={"gate": "fac"}: the if has no such arm',
    "--path chooses what --execute runs": "path chooses what execute=True runs",
    "give the chip more SharedMemory: --set shared_memory.bytes=65536": (
        "give the chip more SharedMemory: chip(..., shared_memory__bytes=65536)"
    ),
    "use --packer exact, which keeps them all": 'use packer="exact", which keeps them all',
    "a longer --time-limit; or leave out --no-spill": "a longer time_limit; or leave out spill=False",
    "give one: --shape N=1": 'give one: shapes={"N": 1}',
    "by chipmodel simulate WORKLOAD --plan FILE": "by simulate(WORKLOAD).write_plan(FILE)",
    "no file is called '--path a=b'": "no file is called '--path a=b'",
    "leave it out, or --as tflm": 'leave it out, or to="tflm"',
}
LIBRARY = ("chipmodel", "solvers", "dma", "workloads", "reports")


@pytest.mark.parametrize("text", EXAMPLES)
def test_options_become_parameters(text: str) -> None:
    assert in_python(text) == EXAMPLES[text]


def test_the_same_mistake_in_both_languages(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(cm.BadInput) as python:
        cm.simulate("zoo:branchynet", path={"nothing": 1})
    assert python.value.what == "path names 'nothing', which is no if or loop"
    assert "--" not in str(python.value)
    assert python.value.args == (str(python.value),)
    code, _, errors = call(capsys, "simulate", "zoo:branchynet", "--path", "nothing=1")
    assert code == 2
    assert "--path names 'nothing', which is no if or loop" in errors


def test_every_option_that_is_named_in_a_message_is_one() -> None:
    """Below the command line: an option that was renamed would be explained by its old name."""
    known = {"--help"}
    for name in COMMANDS:
        command = commands.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        known |= {option for each in command.params for option in each.opts}
    assert set(MAPPINGS) | set(FLAGS) | set(OTHER_NAMES) <= known
    for package in LIBRARY:
        for file in sorted((ROOT / package).rglob("*.py")):
            if "cli" not in file.parts and "rtl" not in file.parts:
                assert _options(file) <= known, file


def _options(file: Path) -> set[str]:
    """Options named in the hints and mistakes of errors that the file raises."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Raise):
            texts = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant)]
            found |= {word for text in texts for word in re.findall(r"(?<![\w-])--[a-z-]+", str(text))}
    return found


def test_the_readers_of_options_keep_their_names() -> None:
    with pytest.raises(cm.BadInput, match="--path"):
        path_choices(("gate",))
