"""What a fresh installation weighs, and how soon it answers: the part ``install`` of ``bench.startup``.

A wheel is built of a revision's files; for each Python it is installed, with the versions of that revision's
``constraints.txt``, into an empty virtual environment. Everything then runs in a folder that is empty.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.finished_process import FinishedProcess, finished

ROOT = Path(__file__).parents[1]
TRIES = 7
INSTALLERS = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
LARGEST = 6
NETWORK = ROOT / "workloads" / "tiny_cnn.yaml"
PAGE = "simulate zoo:resnet18 --chip stm32n6 --html page.html"
HEAD = (
    "| revision | Python | installed MB | import s | first page s: wall | CPU "
    "| second page s: wall | CPU | largest, MB |\n"
    "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"
)


@dataclass(frozen=True, slots=True)
class Installation:
    """What is installed: the files of a revision, or if it is empty, of this checkout."""

    revision: str
    python: str


@dataclass(frozen=True, slots=True)
class Measured:
    """One installation: megabytes (10^6), of the largest packages by name as well, and seconds."""

    python: str
    megabytes: float
    largest: tuple[tuple[str, float], ...]
    importing: float
    """CPU seconds of a process that imports chipmodel, less those of one that does nothing."""
    first_page: FinishedProcess
    second_page: FinishedProcess


def install_table(installations: Sequence[Installation]) -> None:
    """Measure each of ``installations`` and print one table."""
    print(f"\nfresh installations; a page is `chipmodel {PAGE}`\n")
    print(HEAD)
    with tempfile.TemporaryDirectory() as folder:
        sources = {
            installation.revision: Path(folder) / f"of-{installation.revision or 'checkout'}"
            for installation in installations
        }
        for revision, source in sources.items():
            source.mkdir()
            _build_wheel(revision, source)
        for number, each in enumerate(installations):
            found = _measured(each, sources[each.revision], Path(folder) / f"environment{number}")
            print(_row(each, found), flush=True)


def _build_wheel(revision: str, folder: Path) -> None:
    """Put the wheel of a revision into ``folder``, with its ``constraints.txt``."""
    source = ROOT
    if revision:
        source = folder / "files"
        source.mkdir()
        archive = folder / "files.tar"
        _run(["git", "-C", str(ROOT), "archive", "-o", str(archive), revision], ROOT)
        shutil.unpack_archive(archive, source, filter="data")
    _run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(source)], folder)
    shutil.copy(source / "constraints.txt", folder)


def _measured(asked: Installation, source: Path, environment: Path) -> Measured:
    """Install the wheel in ``source`` into an empty ``environment`` and use it."""
    _run([asked.python, "-m", "venv", str(environment)], ROOT)
    own = str(environment / "bin" / "python")
    wheel = str(next(source.glob("chipmodel-*.whl")))
    constraints = str(source / "constraints.txt")
    _run([own, "-m", "pip", "install", "-q", "--no-compile", "-c", constraints, wheel], environment)
    sizes = dict(_package_sizes(environment))
    empty = environment / "empty"
    empty.mkdir()
    command = str(environment / "bin" / "chipmodel")
    first, second = (_run([command, *PAGE.split()], empty) for _ in range(2))
    if not asked.revision:
        _plan_and_check(command, empty)
    nothing = statistics.median(_run([own, "-c", "pass"], empty).cpu for _ in range(TRIES))
    importing = statistics.median(_run([own, "-c", "import chipmodel"], empty).cpu for _ in range(TRIES))
    largest = sorted(sizes.items(), key=lambda each: -each[1])[:LARGEST]
    version = subprocess.check_output([own, "-V"], text=True).split()[1]
    return Measured(version, sum(sizes.values()), tuple(largest), importing - nothing, first, second)


def _plan_and_check(command: str, folder: Path) -> None:
    """The main job works: a YAML file is planned, and the plan is checked. Ends this process where not."""
    shutil.copy(NETWORK, folder / "network.yaml")
    _run([command, "plan", "network.yaml", "-o", "plan.json"], folder)
    _run([command, "check", "plan.json", "network.yaml"], folder)


def _package_sizes(environment: Path) -> Iterator[tuple[str, float]]:
    """The megabytes of each entry of the environment's site-packages, as its files are long."""
    packages = next(environment.glob("lib/python*/site-packages"))
    for entry in packages.iterdir():
        if entry.name.startswith(INSTALLERS):
            continue
        files = [entry] if entry.is_file() else [each for each in entry.rglob("*") if each.is_file()]
        yield entry.name, sum(file.stat().st_size for file in files) / 1e6


def _run(command: Sequence[str], folder: Path) -> FinishedProcess:
    """``command`` in ``folder``, without this checkout on its path."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
    return finished(command, folder, kept)


def _checked_out() -> str:
    """The revision that this checkout is of, whatever was changed since."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.check_output(command, text=True).strip()


def _row(asked: Installation, found: Measured) -> str:
    """One line of the table."""
    largest = ", ".join(f"{name} {size:.0f}" for name, size in found.largest)
    pages = (found.first_page, found.second_page)
    seconds = " | ".join(f"{page.wall:.1f} | {page.cpu:.1f}" for page in pages)
    return (
        f"| {asked.revision or _checked_out()} | {found.python} "
        f"| {found.megabytes:.0f} | {found.importing:.2f} | {seconds} | {largest} |"
    )
