"""What an installation weighs, and whole-process time and memory of the main jobs.

Four parts, each with a table of its own:

* ``install``: a wheel installed into empty environments. *Installed* are the megabytes (10^6) of all packages
  as their files are long, without byte code, pip and setuptools; *import* is the median of seven processes
  that import chipmodel, less the median of seven that do nothing, CPU seconds; *first page* is the very first
  command, without byte code from before, and *second page* the same again. ``--before`` names a revision to
  measure in the same way.
* ``pack`` and ``simulate``: byte code is written first, as an installer does. Commands take turns, those of
  ``--before`` (with this Python and its packages) among them. The last column is the median of CPU seconds
  as a multiple of that of a Python that imports NumPy and no more.
* ``zoo``: every built-in network once, on the chip of ``--chip``, the slowest first.

Output is discarded; wall seconds, and CPU seconds and peak resident memory as the operating system accounts
them for the finished process. Wall seconds mean something on an idle machine only; CPU seconds suffer less
from others.

    python -m bench.startup [--only install|pack|simulate|zoo] [--runs 9]
    python -m bench.startup --only install --before 3628ad2 --pythons python3.11,python3.12

The MiniMalloc instances are those in the folder that CHIPMODEL_MINIMALLOC names, packed into their 1 MiB.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.finished_process import FinishedProcess, finished
from bench.fresh_install import Installation, install_table
from chipmodel.errors import EXIT_BAD_INPUT, EXIT_DOES_NOT_FIT, EXIT_DONE
from workloads.zoo import networks

ROOT = Path(__file__).parents[1]
NOTHING = "import numpy"
"""Compared with the commands: a Python that imports NumPy and no more."""
CODES = (EXIT_DONE, EXIT_DOES_NOT_FIT, EXIT_BAD_INPUT)
SIMULATIONS = (
    "--help",
    "simulate zoo:resnet188",
    "simulate --help",
    "chips",
    "simulate zoo:resnet18 --chip stm32n6 --json -",
    "simulate zoo:resnet50 --chip stm32n6 --json -",
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
    root: Path = ROOT


def measure(job: Job, byte_code: Path) -> FinishedProcess:
    """The process of a job, whose byte code lies in ``byte_code``."""
    command = ["-c", NOTHING] if job.name == NOTHING else ["-m", "chipmodel", *job.arguments]
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    variables = kept | {"PYTHONPATH": str(job.root), "PYTHONPYCACHEPREFIX": str(byte_code)}
    return finished([sys.executable, *command], job.root, variables, CODES)


def unpacked(revision: str, folder: Path) -> Path:
    """The files of a revision, in ``folder``."""
    archive = folder / "files.tar"
    subprocess.run(["git", "-C", str(ROOT), "archive", "-o", str(archive), revision], check=True)
    shutil.unpack_archive(archive, folder / "files", filter="data")
    return folder / "files"


def packings() -> list[Job]:
    folder = os.environ.get("CHIPMODEL_MINIMALLOC")
    files = sorted(Path(folder).glob("*.csv")) if folder else []
    instances = [
        Job(f.name, ("pack", str(f.resolve()), "--capacity", "1048576"), INSTANCE_SECONDS) for f in files
    ]
    return [Job(EXAMPLE, tuple(shlex.split(EXAMPLE)), EXAMPLE_SECONDS), *instances]


def row(job: Job, runs: Sequence[FinishedProcess], unit: float) -> str:
    wall, cpu = sorted(r.wall for r in runs), sorted(r.cpu for r in runs)
    figures = [wall[0], statistics.median(wall), wall[-1], cpu[0], statistics.median(cpu), cpu[-1]]
    cells = [*(f"{f:.2f}" for f in figures), f"{max(r.megabytes for r in runs):.0f}"]
    bar = "" if job.limit is None else f"{job.limit:.2f}"
    return f"| {job.name} | {' | '.join(cells)} | {bar} | {figures[4] / unit:.2f} |"


def print_table(jobs: Sequence[Job], runs: int, byte_code: Path) -> None:
    """Run all jobs once for their byte code, then in turn, so that a busy minute is shared by all."""
    jobs = [Job(NOTHING, ()), *jobs]
    rounds = [[measure(job, byte_code) for job in jobs] for _ in range(runs + 1)][1:]
    unit = statistics.median(each[0].cpu for each in rounds)
    print(f"\n{runs} runs\n")
    print("| command | wall s: min | median | max | CPU s: min | median | max | peak MB | bar s | ratio |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for job, *found in zip(jobs, *rounds, strict=True):
        print(row(job, found, unit), flush=True)


def print_zoo(chip: str, byte_code: Path) -> None:
    """CPU seconds of each built-in network, the slowest first, and how many take at most a second."""
    took = dict[str, float]()
    for name in (network.name for network in networks()):
        job = Job(name, ("simulate", f"zoo:{name}", "--chip", chip, "--json", "-"))
        took[name] = measure(job, byte_code).cpu
    quick, most = sum(seconds <= 1 for seconds in took.values()), sorted(took.values())[len(took) * 9 // 10]
    half = statistics.median(took.values())
    print(f"\n{chip}: {quick} of {len(took)} networks take at most 1 s, {half:.1f} at the median,")
    print(f"{most:.1f} where 90 % take less. CPU seconds:\n")
    print(", ".join(f"{name} {took[name]:.1f}" for name in sorted(took, key=lambda each: -took[each])))


def beside(jobs: Sequence[Job], roots: Sequence[Path]) -> list[Job]:
    """Each job in each of the checkouts, of which the second is the one before."""
    return [
        replace(job, name=f"before: {job.name}" if root is not ROOT else job.name, root=root)
        for job in jobs
        for root in roots
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=["install", "pack", "simulate", "zoo"])
    parser.add_argument("--pythons", default=sys.executable, help="commands, with commas between them")
    parser.add_argument("--before", default="", help="a revision to measure as well")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--chip", default="stm32n6", help="of the part zoo")
    given = parser.parse_args()
    if given.only in (None, "install"):
        revisions = [given.before, ""] if given.before else [""]
        install_table([Installation(r, python) for r in revisions for python in given.pythons.split(",")])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        roots = [ROOT, unpacked(given.before, folder)] if given.before else [ROOT]
        if given.only in (None, "pack"):
            print_table(beside(packings(), roots), given.runs, folder / "byte code")
        if given.only in (None, "simulate"):
            jobs = [Job(command, tuple(shlex.split(command))) for command in SIMULATIONS]
            print_table(beside(jobs, roots), given.runs, folder / "byte code")
        if given.only in (None, "zoo"):
            print_zoo(given.chip, folder / "byte code")


if __name__ == "__main__":
    main()
