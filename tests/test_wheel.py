"""The wheel of the project, built, installed in an empty environment, and used there, also with a plug-in."""

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.folders import ROOT

PLUGIN = ROOT / "docs" / "examples" / "plugin"
PACKAGES = ("chipmodel", "solvers", "dma", "workloads", "reports")
KINDS = {".py", ".typed", ".yaml", ".csv", ".tflite", ".css", ".gz", ".js", ".j2"}
"""Suffixes of what the program reads when it runs."""
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")
NO_COMPILER = {"CC": "/bin/false", "CXX": "/bin/false"}
PACKERS = ("search", "exact", "cp-sat")
PACKING = "pack guillotine:n=200,seed=1 --node-limit 500"


def build(project: Path, folder: Path, **variables: str) -> Path:
    """A wheel of ``project``, by the build tool that its ``pyproject.toml`` names."""
    command = (sys.executable, *PIP, "wheel", "--no-build-isolation", "--no-deps", "-w", str(folder), ".")
    subprocess.run(command, cwd=project, env=os.environ | variables, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def python(wheel: Path) -> Path:
    """The Python of an environment with the wheel, what it depends on, and nothing else."""
    environment = wheel.parent / "environment"
    venv.create(environment, with_pip=True)
    own = environment / "bin" / "python"
    options = ("install", "--no-compile", "-c", ROOT / "constraints.txt", wheel)
    subprocess.run([own, *PIP, *options], check=True, capture_output=True)
    return own


def run(folder: Path, *words: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """What a command prints, in ``folder``, with no other packages than its own; it must succeed."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
    ran = subprocess.run(words, cwd=folder, env=kept | variables, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran


@pytest.mark.slow
def test_the_wheel_has_every_file_that_the_program_reads(wheel: Path) -> None:
    inside = set(ZipFile(wheel).namelist())
    rtl = ROOT / "dma" / "rtl"
    needed = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.suffix in KINDS and rtl not in path.parents and "__pycache__" not in path.parts
    }
    assert {"chipmodel/hardware/presets/gap9.yaml", "reports/templates/page.html.j2"} <= needed
    assert sorted({*needed, "reports/static/dagre/LICENSE", "reports/static/plotly/LICENSE"} - inside) == []
    assert not [name for name in inside if name.startswith(("tests/", "docs/", "bench/", "dma/rtl/"))]
    assert not [name for name in inside if name.endswith((".h", ".cpp"))]


@pytest.mark.slow
def test_one_wheel_serves_every_python(wheel: Path) -> None:
    assert "-cp311-abi3-" in wheel.name


@pytest.mark.slow
def test_the_installed_program_packs_by_its_compiled_search(python: Path, tmp_path: Path) -> None:
    told = "from solvers.search import workers; print(workers.compiled_kernel().__file__, workers.__file__)"
    kernel, engine = map(Path, run(tmp_path, python, "-c", told).stdout.split())
    assert kernel.parent == engine.parent
    assert engine.is_relative_to(python.parents[1])
    for packer in PACKERS:
        packed = run(tmp_path, python.parent / "chipmodel", *f"{PACKING} --packer {packer}".split())
        assert "note:" not in packed.stderr


@pytest.mark.slow
def test_without_a_compiler_it_is_installed_and_says_what_is_lost(python: Path, tmp_path: Path) -> None:
    made = build(ROOT, tmp_path, **NO_COMPILER)
    assert not [name for name in ZipFile(made).namelist() if name.endswith(".so")]
    site = tmp_path / "site"
    run(tmp_path, python, *PIP, "install", "--no-deps", "--no-compile", "--target", site, made)
    packed = run(tmp_path, python, "-m", "chipmodel", *PACKING.split(), PYTHONPATH=str(site))
    assert packed.stderr.count("note:") == 1
    assert "note: heuristics and CP-SAT pack without the compiled search" in packed.stderr


@pytest.mark.slow
def test_the_installed_program_lists_and_runs_an_installed_plugin(python: Path, tmp_path: Path) -> None:
    shutil.copytree(PLUGIN, tmp_path / "plugin", ignore=shutil.ignore_patterns("__pycache__"))
    plugin = build(tmp_path / "plugin", tmp_path)
    run(tmp_path, python, *PIP, "install", "--no-deps", "--no-index", plugin)
    command = python.parent / "chipmodel"
    listed = json.loads(run(tmp_path, command, "planners", "--json", "-").stdout)["planners"]
    mine = {each["name"] for each in listed if "chipmodel-example 0.1.0" in each["source"]}
    assert mine == {"area-first", "ahead", "systolic", "layers"}
    planned = "simulate zoo:resnet8 --chip gap9 --packer area-first --html page.html --json result.json"
    run(tmp_path, command, *planned.split())
    assert json.loads((tmp_path / "result.json").read_text())["packer"] == "area-first"
    assert '<script type="text/plain" class="library">' in (tmp_path / "page.html").read_text()
