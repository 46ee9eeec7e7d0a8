"""The wheel of the project and that of the plug-in template, built, installed, and run on their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.folders import ROOT

PROJECTS = (ROOT, ROOT / "docs" / "examples" / "plugin")
PACKAGES = ("chipmodel", "solvers", "dma", "workloads", "reports")
KINDS = {".py", ".typed", ".yaml", ".csv", ".tflite", ".css", ".js", ".j2"}
"""Suffixes of what the program reads when it runs."""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A wheel of each project, by the build tool that its ``pyproject.toml`` names."""
    folder = tmp_path_factory.mktemp("wheels")
    for project in PROJECTS:
        command = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
        subprocess.run(command, cwd=project, check=True, capture_output=True)
    return sorted(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def site(wheels: list[Path]) -> Path:
    """A folder with both wheels installed, and nothing else."""
    folder = wheels[0].parent / "site"
    options = ("--quiet", "--no-index", "--no-deps", "--disable-pip-version-check", "--no-compile")
    command = (sys.executable, "-m", "pip", "install", *options, "--target", str(folder), *map(str, wheels))
    subprocess.run(command, check=True)
    return folder


def run(site: Path, folder: Path, *words: str) -> str:
    """What Python prints, in an empty folder, with the installed packages before those of the tests."""
    ran = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        | {"PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_wheel_has_every_file_that_the_program_reads(wheels: list[Path]) -> None:
    project = next(wheel for wheel in wheels if wheel.name.startswith("chipmodel-0"))
    inside = set(ZipFile(project).namelist())
    rtl = ROOT / "dma" / "rtl"
    needed = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.suffix in KINDS and rtl not in path.parents and "__pycache__" not in path.parts
    }
    assert {"chipmodel/hardware/presets/gap9.yaml", "reports/templates/page.html.j2"} <= needed
    assert sorted(needed - inside) == []
    assert not [name for name in inside if name.startswith(("tests/", "docs/", "bench/", "dma/rtl/"))]


def test_the_installed_program_lists_and_runs_an_installed_plugin(site: Path, tmp_path: Path) -> None:
    where = run(site, tmp_path, "-c", "import chipmodel; print(chipmodel.__file__)")
    assert Path(where.strip()) == site / "chipmodel" / "__init__.py"
    command = str(site / "bin" / "chipmodel")
    listed = json.loads(run(site, tmp_path, command, "planners", "--json", "-"))["planners"]
    mine = {each["name"] for each in listed if "chipmodel-example 0.1.0" in each["source"]}
    assert mine == {"area-first", "ahead", "systolic", "layers"}
    planned = "zoo:resnet8 --chip gap9 --packer area-first --html page.html --json result.json"
    run(site, tmp_path, command, "simulate", *planned.split())
    assert json.loads((tmp_path / "result.json").read_text())["packer"] == "area-first"
    assert "<svg" in (tmp_path / "page.html").read_text()
