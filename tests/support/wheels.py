"""Wheels of small packages, built without a build tool, and pip, which installs them in a folder."""

import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZipFile


def wheel_of(project: Path, folder: Path) -> Path:
    """A wheel in ``folder`` of the pure package below ``project/src``, as its ``pyproject.toml`` says; see
    https://packaging.python.org/specifications/binary-distribution-format/."""
    told = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    files = {
        str(path.relative_to(project / "src")): path.read_text()
        for path in sorted((project / "src").rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    }
    return write_wheel(folder, told["name"], told["version"], told["entry-points"], files)


def write_wheel(
    folder: Path,
    name: str,
    version: str,
    entry_points: Mapping[str, Mapping[str, str]],
    files: Mapping[str, str],
) -> Path:
    """A wheel with these files."""
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    groups = (
        f"[{group}]\n" + "".join(f"{entry} = {target}\n" for entry, target in entries.items())
        for group, entries in entry_points.items()
    )
    written = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "\n".join(groups),
    }
    record = "".join(f"{path},,\n" for path in (*written, f"{info}/RECORD"))
    path = folder / f"{stem}-py3-none-any.whl"
    with ZipFile(path, "w") as wheel:
        for inside, text in {**written, f"{info}/RECORD": record}.items():
            wheel.writestr(inside, text)
    return path


def install(wheel: Path, folder: Path) -> None:
    """Install a wheel in ``folder`` by pip."""
    options = ("--quiet", "--no-index", "--no-deps", "--disable-pip-version-check", "--no-compile")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", str(folder), str(wheel)], check=True
    )
