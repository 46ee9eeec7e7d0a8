"""The project's packages are the ones that a user's Python finds, and they keep their layers."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import chipmodel

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", ["chipmodel", "solvers", "dma", "workloads", "reports"])
def test_packages_resolve_to_this_project_from_an_empty_folder(name: str, tmp_path: Path) -> None:
    """Plain names such as ``solvers`` could be somebody else's package."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    found = subprocess.run(
        [sys.executable, "-c", f"import {name}; print({name}.__file__)"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    installed = Path(chipmodel.__file__).parent.parent
    assert Path(found.stdout.strip()) == installed / name / "__init__.py"


def test_the_version_is_said_once() -> None:
    assert version("chipmodel") == chipmodel.__version__


def test_layers_import_downwards_only() -> None:
    tool = Path(sys.executable).parent / "lint-imports"
    result = subprocess.run([tool], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


def test_help_does_not_import_what_it_does_not_use() -> None:
    code = "import sys; import chipmodel.cli.main; print(' '.join(sorted(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(result.stdout.split())
    assert not loaded & {"numpy", "onnx", "pydantic", "rich", "plotly", "jinja2", "networkx", "yaml"}
