"""The Python of pages and notebooks passes mypy's strict checks, as the project itself does."""

import re
import subprocess
import sys
from pathlib import Path

from tests.docs.modules import write
from tests.support.folders import ROOT


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
