"""Versions, dependencies, commands and links of a release agree with the project."""

import re
import shlex
import tomllib
from typing import Any

import click
import pytest
import yaml

from chipmodel import __version__
from chipmodel.cli.main import commands
from tests.support.folders import ROOT
from tests.support.narrowed import some

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONDA = (ROOT / "conda" / "meta.yaml").read_text()
CALLED_BY_CONDA = {"ortools-python": "ortools", "python-flatbuffers": "flatbuffers"}
"""Packages that have another name there."""


def loaded(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text())


def conda() -> Any:
    """The recipe, with a name in place of each template."""
    return yaml.safe_load(re.sub(r"\{\{.*?\}\}", "made", CONDA))


def parsed(line: str) -> click.Context:
    """What the command line takes ``chipmodel ...`` for. Raises UsageError."""
    program, name, *words = shlex.split(line)
    assert program == "chipmodel"
    command = some(commands.get_command(click.Context(commands), name))
    return command.make_context(name, words)


def test_the_version_is_the_same_everywhere() -> None:
    found = {PROJECT["version"], loaded("CITATION.cff")["version"], conda()["package"]["version"]}
    assert found == {__version__}


def test_the_licence_is_the_same_everywhere() -> None:
    assert {loaded("CITATION.cff")["license"], conda()["about"]["license"]} == {PROJECT["license"]}


def test_conda_installs_what_pip_does() -> None:
    first, *others = conda()["requirements"]["run"]
    assert first == f"python {PROJECT['requires-python']}"
    pairs = [each.split() for each in others]
    wanted = [re.fullmatch(r"([\w-]+)(.*)", each) for each in PROJECT["dependencies"]]
    assert [(CALLED_BY_CONDA.get(name, name), version) for name, version in pairs] == [
        (each[1].lower(), each[2]) for each in wanted if each
    ]


def test_conda_has_the_programs_of_the_project_and_tries_one() -> None:
    scripts = [f"{name} = {target}" for name, target in PROJECT["scripts"].items()]
    assert conda()["build"]["entry_points"] == scripts
    for line in conda()["test"]["commands"]:
        parsed(line)


def test_the_hook_runs_a_command_that_there_is() -> None:
    (hook,) = loaded(".pre-commit-hooks.yaml")
    assert parsed(shlex.join([*hook["entry"].split(), *hook["args"]])).params["budget"] == "budget.yaml"
    assert re.search(hook["files"], "models/kws.tflite")


def test_the_image_has_a_python_that_the_project_runs_on_and_its_program() -> None:
    text = (ROOT / "Dockerfile").read_text()
    for minor in re.findall(r"^FROM python:3\.(\d+)", text, re.MULTILINE):
        assert int(minor) >= int(PROJECT["requires-python"].removeprefix(">=3."))
        assert f"cp3{minor}-*" in (ROOT / "pyproject.toml").read_text()
    assert f'ENTRYPOINT ["{next(iter(PROJECT["scripts"]))}"]' in text
    example = some(re.search(r"docker run .* (chipmodel simulate .*)", text))
    assert parsed(example[1]).params["html_file"] == "run.html"


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "SECURITY.md"])
def test_links_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", (ROOT / name).read_text()):
        assert (ROOT / target).exists(), target


def test_the_source_archive_has_these_files() -> None:
    words = (ROOT / "MANIFEST.in").read_text().split()
    for name in ("CITATION.cff", "CONTRIBUTING.md", "SECURITY.md", "Dockerfile", "action.yml", "conda"):
        assert name in words
