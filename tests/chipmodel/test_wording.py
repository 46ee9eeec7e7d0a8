"""Messages speak of parameters to a caller in Python, and of options on the terminal."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import onnx
import pytest

import chipmodel as cm
from chipmodel.api.settings import PlanOptions
from chipmodel.cli.main import COMMANDS, commands
from chipmodel.cli.options import path_choices
from chipmodel.studies.answer import WorkerCache, answer
from chipmodel.studies.points import tasks_of
from chipmodel.studies.study_file import parse_study
from chipmodel.studies.workload import load_workload
from chipmodel.wording import (
    SWITCHES,
    argument,
    chip_field,
    either,
    entries,
    option_of,
    parameter,
    switch,
    words_of,
    words_of_python,
)
from tests.support.command_line import call
from tests.support.folders import ROOT

MESSAGES: dict[str, tuple[Callable[[], str], str, str]] = {
    "parameter": (lambda: parameter("node_limit"), "--node-limit", "node_limit"),
    "other name": (lambda: parameter("inferences"), "--steady-state", "inferences"),
    "text": (lambda: argument("packer", "exact"), "--packer exact", 'packer="exact"'),
    "number": (lambda: argument("workers", 1), "--workers 1", "workers=1"),
    "entry": (lambda: entries("path", {"gate": "fac"}), "--path gate=fac", 'path={"gate": "fac"}'),
    "entries": (lambda: entries("path", {"a": 1, "b": 2}), "--path a=1 --path b=2", 'path={"a": 1, "b": 2}'),
    "sizes": (lambda: entries("shapes", {"x": "1,3,N"}), "--shape x=1,3,N", 'shapes={"x": [1, 3, N]}'),
    "switch": (lambda: switch("spill"), "--no-spill", "spill=False"),
    "field": (
        lambda: chip_field("shared_memory.bytes", "..."),
        "--set shared_memory.bytes=...",
        "chip(..., shared_memory__bytes=...)",
    ),
    "command": (lambda: either("chipmodel chips", "chips()"), "chipmodel chips", "chips()"),
}
LIBRARY = ("chipmodel", "solvers", "dma", "workloads", "reports")
NAMING = ("parameter", "argument", "entries", "switch")
"""Functions of ``chipmodel.wording`` whose first argument is the name of a parameter."""
OF_PAGES = ("lists.py", "charts.py", "merging.py", "words.py", "command.py")
"""In ``reports``: pages and lists are the same from Python, and name options and commands."""


@pytest.mark.parametrize("case", MESSAGES)
def test_each_caller_has_words_of_its_own(case: str) -> None:
    message, options, parameters = MESSAGES[case]
    assert message() == options
    assert words_of_python(message)() == parameters
    with words_of("options"):
        assert words_of_python(message)() == options
    assert message() == options


def test_the_same_mistake_in_both_languages(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(cm.BadInput) as python:
        cm.simulate("zoo:branchynet", path={"nothing": 1})
    assert python.value.what == "path names 'nothing', which is no if or loop"
    assert "--" not in str(python.value)
    assert python.value.args == (str(python.value),)
    code, _, errors = call(capsys, "simulate", "zoo:branchynet", "--path", "nothing=1")
    assert code == 2
    assert "--path names 'nothing', which is no if or loop" in errors


def test_a_mistake_in_an_override_says_where() -> None:
    with pytest.raises(cm.BadInput) as python:
        cm.chip("gap9", psram__clock=1)
    assert str(python.value).startswith("chip(..., psram__clock=1): unknown field 'psram.clock'")


def test_notes_of_a_program_speak_of_parameters() -> None:
    sizes = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 3])
    relu = onnx.helper.make_node("Relu", ["x"], ["y"], name="relu")
    out = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    model = onnx.helper.make_model(onnx.helper.make_graph([relu], "g", [sizes], [out]))
    notes = cm.load(model.SerializeToString(), shapes={"x": (4, 3)}).notes
    assert "input 'x': shapes replaces the model's size 2 by 4" in notes


def test_rows_of_a_study_speak_of_parameters(tmp_path: Path) -> None:
    """They are made in a worker process; the point keeps its key."""
    text = "workloads: zoo:resnet8\nchips: gap9\npackers: large-first\nset: {shared_memory.bytes: 256}\n"
    file = tmp_path / "s.yaml"
    file.write_text(text)
    (row,) = cm.study(file, workers=1).rows()
    assert "hint: give the chip more SharedMemory: chip(..., shared_memory__bytes=...)" in row["error"]
    (task,) = tasks_of(parse_study(text, file))
    with words_of("parameters"):
        (python,) = tasks_of(parse_study(text, file))
    assert (task.words, python.words) == ("options", "parameters")
    assert task.key == python.key
    assert "--set shared_memory.bytes=..." in answer(task, WorkerCache(load_workload)).error


def test_every_parameter_that_is_named_in_a_message_is_one_and_has_its_option() -> None:
    options, parameters = _options(), _parameters()
    named = {name for file in _files() for name in _named(file)}
    assert {"path", "time_limit", "spill", "shapes"} <= named
    assert named <= parameters
    assert {SWITCHES[name][0] if name in SWITCHES else option_of(name) for name in named} <= options


def test_no_message_below_the_command_line_names_an_option_itself() -> None:
    """Only by the functions of ``chipmodel.wording``; a caller in Python has no options."""
    for file in _files():
        if file.name in OF_PAGES and "reports" in file.parts:
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Raise):
                assert not _texts_with_options(node), f"{file}:{node.lineno}"


def test_the_readers_of_options_keep_their_names() -> None:
    with pytest.raises(cm.BadInput, match="--path"):
        path_choices(("gate",))


def _files() -> Iterator[Path]:
    for package in LIBRARY:
        for file in sorted((ROOT / package).rglob("*.py")):
            if "cli" not in file.parts and "rtl" not in file.parts:
                yield file


def _options() -> set[str]:
    """All options of all commands."""
    found: set[str] = set()
    for name in COMMANDS:
        command = commands.get_command(None, name)  # type: ignore[arg-type]
        assert isinstance(command, click.Command)
        found |= {option for each in command.params for option in each.opts}
    return found


def _parameters() -> set[str]:
    """The parameters of all functions of the library."""
    functions: list[Any] = [getattr(cm, name) for name in dir(cm) if name.islower()]
    found = {*PlanOptions.__annotations__}
    for function in functions:
        if inspect.isfunction(function):
            found |= {*inspect.signature(function).parameters}
    return found | {*inspect.signature(cm.StudyReport.write).parameters}


def _named(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Call(ast.Name(function), [ast.Constant(name), *_]) if function in NAMING:
                yield str(name)
            case _:
                pass


def _texts_with_options(node: ast.Raise) -> list[str]:
    """Texts in a ``raise`` that name an option, but for those given to ``either``."""
    known = {
        id(text)
        for each in ast.walk(node)
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == "either"
        for text in ast.walk(each)
    }
    texts = [t for t in ast.walk(node) if isinstance(t, ast.Constant) and id(t) not in known]
    return [str(t.value) for t in texts if re.search(r"(?<![\w-])--[a-z]", str(t.value))]
