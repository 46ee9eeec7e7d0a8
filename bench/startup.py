"""What an installation weighs, and whole-process time and memory of the main jobs.

Three parts, each with a table of its own:

* ``install``: a wheel installed into empty environments. *Installed* are the megabytes (10^6) of all packages
  as their files are long, without byte code, pip and setuptools; *import* is the median of seven processes
  that import chipmodel, less the median of seven that do nothing, CPU seconds; *first page* is the very first
  command, without byte code from before, and *second page* the same again. ``--before`` names a revision to
  measure in the same way.
* ``pack`` and ``simulate``: byte code is written first, as an installer does. Commands take turns.

Output is discarded; wall seconds, and CPU seconds and peak resident memory as the operating system accounts
them for the finished process. Wall seconds mean something on an idle machine only; CPU seconds suffer less
from others.

    python -m bench.startup [--only install|pack|simulate]
    python -m bench.startup --only install --before 3628ad2 --pythons python3.11,python3.12

The MiniMalloc instances are those in the folder that CHIPMODEL_MINIMALLOC names, packed into their 1 MiB.
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.finished_process import FinishedProcess, finished
from bench.fresh_install import Installation, install_table

ROOT = Path(__file__).parents[1]
RUNS = 9
NOTHING = "import numpy"
"""Compared with the commands: a Python that imports NumPy and no more."""
SIMULATIONS = (
    NOTHING,
    "--help",
    "simulate --help",
    "chips",
    "simulate zoo:resnet18 --chip stm32n6 --json -",
    "simulate zoo:resnet50 --chip stm32n6 --json -",
    "simulate zoo:vgg16 --chip luna-arcs --set psram.bytes=160MiB --json -",
)
EXAMPLE = "pack workloads/packing-example.csv"
EXAMPLE_SECONDS, INSTANCE_SECONDS = 0.35, 0.6
"""The bars: the example, and an instance of MiniMalloc."""


@dataclass(frozen=True, slots=True)
class Job:
    """A command, under a short name, and the seconds it may take at the median."""

    name: str
    arguments: tuple[str, ...]
    limit: float | None = None


def measure(arguments: Sequence[str], environment: dict[str, str]) -> FinishedProcess:
    command = ["-c", NOTHING] if " ".join(arguments) == NOTHING else ["-m", "chipmodel", *arguments]
    return finished([sys.executable, *command], ROOT, environment)


def environment(folder: Path) -> dict[str, str]:
    """Variables of a process whose byte code lies in ``folder``."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": str(folder)}


def packings() -> list[Job]:
    folder = os.environ.get("CHIPMODEL_MINIMALLOC")
    files = sorted(Path(folder).glob("*.csv")) if folder else []
    instances = [
        Job(f.name, ("pack", str(f.resolve()), "--capacity", "1048576"), INSTANCE_SECONDS) for f in files
    ]
    return [Job(EXAMPLE, tuple(shlex.split(EXAMPLE)), EXAMPLE_SECONDS), *instances]


def row(name: str, runs: Sequence[FinishedProcess], limit: float | None) -> str:
    wall, cpu = sorted(r.wall for r in runs), sorted(r.cpu for r in runs)
    figures = [wall[0], statistics.median(wall), wall[-1], cpu[0], statistics.median(cpu), cpu[-1]]
    cells = [*(f"{f:.2f}" for f in figures), f"{max(r.megabytes for r in runs):.0f}"]
    bar = "" if limit is None else f"{limit:.2f}"
    return f"| {name} | {' | '.join(cells)} | {bar} |"


def print_table(jobs: Sequence[Job], variables: dict[str, str]) -> None:
    """Run all jobs once for their byte code, then in turn, so that a busy minute is shared by all."""
    rounds = [[measure(job.arguments, variables) for job in jobs] for _ in range(RUNS + 1)][1:]
    print(f"\n{RUNS} runs\n")
    print("| command | wall s: min | median | max | CPU s: min | median | max | peak MB | bar s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for job, *runs in zip(jobs, *rounds, strict=True):
        print(row(job.name, runs, job.limit), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=["install", "pack", "simulate"])
    parser.add_argument("--pythons", default=sys.executable, help="commands, with commas between them")
    parser.add_argument("--before", default="", help="a revision to install as well")
    given = parser.parse_args()
    if given.only in (None, "install"):
        revisions = [given.before, ""] if given.before else [""]
        install_table([Installation(r, python) for r in revisions for python in given.pythons.split(",")])
    with tempfile.TemporaryDirectory() as folder:
        variables = environment(Path(folder))
        if given.only in (None, "pack"):
            print_table(packings(), variables)
        if given.only in (None, "simulate"):
            print_table([Job(command, tuple(shlex.split(command))) for command in SIMULATIONS], variables)


if __name__ == "__main__":
    main()
