"""Code in the documents: examples of docstrings are run, the Python of pages and notebooks is typed."""

import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import chipmodel as cm
from tests.docs.modules import write
from tests.support.folders import ROOT

OFFERED = {name: getattr(cm, name) for name in cm.__all__}
FUNCTIONS = {name: each for name, each in OFFERED.items() if inspect.isfunction(each)}


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_examples_are_right(name: str) -> None:
    runner = doctest.DocTestRunner()
    for example in doctest.DocTestFinder(recurse=False).find(FUNCTIONS[name], name, globs=dict(OFFERED)):
        runner.run(example)
    assert runner.summarize().failed == 0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_is_described(name: str) -> None:
    said = inspect.getdoc(FUNCTIONS[name]) or ""
    lines = {word.strip("* ") for line in said.splitlines() if line[:1] != " " for word in line.split(",")}
    assert set(inspect.signature(FUNCTIONS[name]).parameters) <= lines
    assert "**options" not in said


@pytest.mark.slow
def test_sessions_blocks_and_notebooks_are_typed(tmp_path: Path) -> None:
    """In one process, with the cache of the project's own checks: 1.5 s of work once that is warm."""
    names = write(tmp_path)
    assert complaints(tmp_path, names) == []


def complaints(folder: Path, names: dict[str, str]) -> list[str]:
    """What mypy has to say of the modules in the folder, by page and line."""
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--config-file", "pyproject.toml"]
    files = [str(folder / name) for name in names]
    ran = subprocess.run([*command, *files], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode in (0, 1), ran.stderr + ran.stdout
    said = re.sub(
        r"^\S*?([^/\s]+\.py):", lambda m: names.get(m[1], m[1]) + ":", ran.stdout, flags=re.MULTILINE
    )
    return said.splitlines()
