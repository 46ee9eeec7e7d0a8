"""What a fresh installation weighs, and how soon it answers, on each Python that is supported.

Protocol: one wheel is built from this checkout; for each Python it is installed, with the versions of
``constraints.txt``, into an empty virtual environment. *Installed* are the megabytes (10^6) of all packages
as their files are long, without byte code, pip and setuptools; *import* is the median of seven processes that
import chipmodel, less the median of seven that do nothing; *first page* is the very first command, without
byte code or machine code from before: simulating a network of the zoo and writing its page; *second page* the
same again. Then a YAML file is planned and the plan is checked. The working directory is empty.

    python -m bench.fresh_install [--pythons python3.11,python3.12,python3.13]

Wall seconds mean something on an idle machine only.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).parents[1]
TRIES = 7
INSTALLERS = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
LARGEST = 6
NETWORK = ROOT / "workloads" / "tiny_cnn.yaml"


@dataclass(frozen=True, slots=True)
class Measured:
    """One installation: megabytes, of the largest packages by name as well, and seconds."""

    python: str
    megabytes: float
    largest: tuple[tuple[str, float], ...]
    importing: float
    first_page: float
    second_page: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure each Python and print one table."""
    parser = argparse.ArgumentParser(description="Weigh fresh installations of chipmodel.")
    parser.add_argument("--pythons", default="python3.11,python3.12,python3.13")
    pythons: list[str] = parser.parse_args(arguments).pythons.split(",")
    with tempfile.TemporaryDirectory() as folder:
        wheel = build_wheel(Path(folder))
        print(f"wheel: {wheel.stat().st_size / 1e6:.1f} MB\n")
        print("| Python | installed MB | import s | first page s | second page s | largest, MB |")
        print("| --- | ---: | ---: | ---: | ---: | --- |")
        for number, python in enumerate(pythons):
            print(row(measured(python, wheel, Path(folder) / f"environment{number}")), flush=True)


def build_wheel(folder: Path) -> Path:
    """The wheel of this checkout, built into ``folder``."""
    run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)], folder)
    return next(folder.glob("chipmodel-*.whl"))


def measured(python: str, wheel: Path, environment: Path) -> Measured:
    """Install ``wheel`` into an empty ``environment`` of ``python`` and use it."""
    run([python, "-m", "venv", str(environment)], ROOT)
    own = str(environment / "bin" / "python")
    constraints = str(ROOT / "constraints.txt")
    run([own, "-m", "pip", "install", "-q", "--no-compile", "-c", constraints, str(wheel)], environment)
    sizes = dict(package_sizes(environment))
    empty = environment / "empty"
    empty.mkdir()
    shutil.copy(NETWORK, empty / "network.yaml")
    command = str(environment / "bin" / "chipmodel")
    page = [command, "simulate", "zoo:resnet18", "--chip", "stm32n6", "--html", "page.html"]
    first, second = run(page, empty), run(page, empty)
    run([command, "plan", "network.yaml", "-o", "plan.json"], empty)
    run([command, "check", "plan.json", "network.yaml"], empty)
    nothing = statistics.median(run([own, "-c", "pass"], empty) for _ in range(TRIES))
    importing = statistics.median(run([own, "-c", "import chipmodel"], empty) for _ in range(TRIES))
    largest = sorted(sizes.items(), key=lambda each: -each[1])[:LARGEST]
    version = subprocess.check_output([own, "-V"], text=True).split()[1]
    return Measured(version, sum(sizes.values()), tuple(largest), importing - nothing, first, second)


def package_sizes(environment: Path) -> Iterator[tuple[str, float]]:
    """The megabytes of each entry of the environment's site-packages, as files are on disk."""
    packages = next(environment.glob("lib/python*/site-packages"))
    for entry in packages.iterdir():
        if entry.name.startswith(INSTALLERS):
            continue
        files = [entry] if entry.is_file() else [each for each in entry.rglob("*") if each.is_file()]
        yield entry.name, sum(each.stat().st_size for each in files) / 1e6


def run(command: Sequence[str], folder: Path) -> float:
    """Wall seconds of ``command`` in ``folder``, without this checkout on its path. Ends where it fails."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
    kept["XDG_CACHE_HOME"] = str(folder / "cache")
    began = perf_counter()
    done = subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return perf_counter() - began


def row(found: Measured) -> str:
    """One line of the table."""
    largest = ", ".join(f"{name} {size:.0f}" for name, size in found.largest)
    return (
        f"| {found.python} | {found.megabytes:.0f} | {found.importing:.2f} | {found.first_page:.1f} "
        f"| {found.second_page:.1f} | {largest} |"
    )


if __name__ == "__main__":
    main()
