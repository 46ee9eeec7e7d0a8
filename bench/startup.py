"""What an installation weighs, and whole-process time and memory of the main jobs, first and later.

Three parts, each with tables of its own:

* ``install``: a wheel installed into empty environments. *Installed* are the megabytes (10^6) of all packages
  as their files are long, without byte code, pip and setuptools; *import* is the median of seven processes
  that import chipmodel, less the median of seven that do nothing, CPU seconds; *first page* is the very first
  command, without byte code or machine code from before, and *second page* the same again. ``--before`` names
  a revision to measure in the same way.
* ``pack`` and ``simulate``: byte code is written first, as an installer does. *First* runs have an empty
  folder for machine code; *warm* runs follow one such run. Commands take turns.

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
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.finished_process import FinishedProcess, finished
from bench.fresh_install import Installation, install_table

ROOT = Path(__file__).parents[1]
FIRST_RUNS = 3
WARM_RUNS = 9
SIMULATIONS = (
    "--help",
    "simulate zoo:resnet18 --chip stm32n6 --json -",
    "simulate zoo:resnet50 --chip stm32n6 --json -",
    "simulate zoo:vgg16 --chip luna-arcs --set psram.bytes=160MiB --json -",
)
EXAMPLE = "pack workloads/packing-example.csv"
COMPILERS = ("llvmlite", "numba")
EXAMPLE_SECONDS, FIRST_SECONDS, WARM_SECONDS = 0.35, 4.0, 0.6
"""The bars: the example at any time; an instance of MiniMalloc the first time, and later."""


@dataclass(frozen=True, slots=True)
class Job:
    """A command, under a short name, and the seconds it may take at the median when warm."""

    name: str
    arguments: tuple[str, ...]
    limit: float | None = None


def measure(arguments: Sequence[str], environment: dict[str, str]) -> FinishedProcess:
    return finished([sys.executable, "-m", "chipmodel", *arguments], ROOT, environment)


def environment(folder: Path) -> dict[str, str]:
    """Variables of a process whose machine code and byte code lie in ``folder``."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return kept | {
        "PYTHONPATH": str(ROOT),
        "PYTHONPYCACHEPREFIX": str(folder / "byte-code"),
        "CHIPMODEL_CACHE": str(folder / "machine-code"),
    }


def packings() -> list[Job]:
    folder = os.environ.get("CHIPMODEL_MINIMALLOC")
    files = sorted(Path(folder).glob("*.csv")) if folder else []
    instances = [
        Job(f.name, ("pack", str(f.resolve()), "--capacity", "1048576"), WARM_SECONDS) for f in files
    ]
    return [Job(EXAMPLE, tuple(shlex.split(EXAMPLE)), EXAMPLE_SECONDS), *instances]


def row(name: str, runs: Sequence[FinishedProcess], limit: float | None) -> str:
    wall, cpu = sorted(r.wall for r in runs), sorted(r.cpu for r in runs)
    figures = [wall[0], statistics.median(wall), wall[-1], cpu[0], statistics.median(cpu), cpu[-1]]
    cells = [*(f"{f:.2f}" for f in figures), f"{max(r.megabytes for r in runs):.0f}"]
    bar = "" if limit is None else f"{limit:.2f}"
    return f"| {name} | {' | '.join(cells)} | {bar} |"


def table(title: str, rows: Iterable[str]) -> None:
    print(f"\n{title}\n")
    print("| command | wall s: min | median | max | CPU s: min | median | max | peak MB | bar s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for line in rows:
        print(line, flush=True)


def turns(jobs: Sequence[Job], variables: dict[str, str], count: int) -> list[list[FinishedProcess]]:
    """``count`` runs of each job, in turn, so that a busy minute is shared by all."""
    rounds = [[measure(job.arguments, variables) for job in jobs] for _ in range(count)]
    return [list(runs) for runs in zip(*rounds, strict=True)]


def first_runs(jobs: Sequence[Job], variables: dict[str, str]) -> list[list[FinishedProcess]]:
    """The same with an empty folder for machine code each time."""
    found: list[list[FinishedProcess]] = []
    for job in jobs:
        runs: list[FinishedProcess] = []
        for _ in range(FIRST_RUNS):
            with tempfile.TemporaryDirectory() as empty:
                runs.append(measure(job.arguments, variables | {"CHIPMODEL_CACHE": empty}))
        found.append(runs)
    return found


def compilers_loaded(variables: dict[str, str]) -> list[str]:
    """Which compilers the example imports."""
    command = [sys.executable, "-X", "importtime", "-m", "chipmodel", *shlex.split(EXAMPLE)]
    ended = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=True)
    names = {line.rpartition("|")[2].strip().partition(".")[0] for line in ended.stderr.splitlines()}
    return [name for name in COMPILERS if name in names]


def pack_tables(variables: dict[str, str]) -> None:
    jobs = packings()
    measure(jobs[-1].arguments, variables)
    print(f"compilers that `{EXAMPLE}` imports: {', '.join(compilers_loaded(variables)) or 'none'}")
    limits = [EXAMPLE_SECONDS, *[FIRST_SECONDS] * (len(jobs) - 1)]
    first = first_runs(jobs, variables)
    table(
        f"first: no machine code on disk ({FIRST_RUNS} runs)",
        (row(job.name, runs, limit) for job, runs, limit in zip(jobs, first, limits, strict=True)),
    )
    warm = turns(jobs, variables, WARM_RUNS)
    table(
        f"warm ({WARM_RUNS} runs)",
        (row(job.name, runs, job.limit) for job, runs in zip(jobs, warm, strict=True)),
    )
    if len(jobs) == 1:
        print("\nCHIPMODEL_MINIMALLOC names no folder of MiniMalloc's CSV files: only the example was run")


def simulate_tables(variables: dict[str, str]) -> None:
    jobs = [Job(command, tuple(shlex.split(command))) for command in SIMULATIONS]
    turns(jobs, variables, 1)
    runs = turns(jobs, variables, WARM_RUNS)
    table(
        f"warm ({WARM_RUNS} runs)",
        (row(job.name, own, None) for job, own in zip(jobs, runs, strict=True)),
    )


def install_tables(pythons: Sequence[str], before: str) -> None:
    """This checkout with and without what solves exactly, and the revision ``before`` if one is named."""
    mine = [Installation("", extras, python) for python in pythons for extras in ("", "exact")]
    install_table([*(Installation(before, "", python) for python in pythons if before), *mine])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=["install", "pack", "simulate"])
    parser.add_argument("--pythons", default=sys.executable, help="commands, with commas between them")
    parser.add_argument("--before", default="", help="a revision to install as well")
    given = parser.parse_args()
    if given.only in (None, "install"):
        install_tables(given.pythons.split(","), given.before)
    with tempfile.TemporaryDirectory() as folder:
        variables = environment(Path(folder))
        if given.only in (None, "pack"):
            pack_tables(variables)
        if given.only in (None, "simulate"):
            simulate_tables(variables)


if __name__ == "__main__":
    main()
