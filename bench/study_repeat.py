"""A study killed at random, repeated point by point, and repeated elsewhere: are the answers the same?

    python -m bench.study_repeat STUDY.yaml [--sample 50] [--kills 3] [--seed 0]

One run of the study is left alone, and its page written. Another one is killed by SIGKILL, its workers too,
at random moments, and started again: their tables without times have to be the same bytes. Then ``chipmodel
study STUDY.yaml --only KEY`` answers a sample of points again, beside the store, and ``--only KEY
--verify-lock LOCK`` in a copy of the code in another folder, with another home, time zone, language and seed
of hashes, where there is no store. What another processor would change is not shown;
``python bench/study_throughput.py`` has the rate.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import click

from chipmodel.studies.store import read_rows

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("chipmodel", "solvers", "dma", "workloads", "reports")
FIRST_KILL = 1.5
"""Seconds before which a run has hardly begun."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where commands run: the folder with the code and the study, and what else the environment says."""

    code: Path
    folder: Path
    more: Mapping[str, str]

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """A command of chipmodel, in a session of its own."""
        environment = {**os.environ, "PYTHONPATH": str(self.code), **self.more}
        return subprocess.Popen(
            [sys.executable, "-m", "chipmodel", *arguments],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str, may_fail: bool = False) -> tuple[int, str]:
        """The exit code and what the command prints. Raises ClickException where it fails and may not."""
        process = self.start(*arguments)
        said = process.communicate()[0]
        if process.returncode and not may_fail:
            raise click.ClickException(f"chipmodel {' '.join(arguments)}: {process.returncode}\n{said}")
        return process.returncode, said


def answered(place: Place, study: str) -> list[str]:
    """The keys of the points of a study that is left alone."""
    place.run("study", study, "--store", "alone.sqlite", "--no-times", "--export", "alone.csv")
    return [row.key for row in read_rows(place.folder / "alone.sqlite")[1]]


def killed(place: Place, study: str, random: Random, kills: int, most: float) -> list[float]:
    """The seconds after which each of the runs was killed, and the table of the last one, which was not."""
    moments: list[float] = []
    for _ in range(kills):
        process = place.start("study", study, "--store", "killed.sqlite")
        moments.append(FIRST_KILL + random.random() * most)
        try:
            process.wait(moments[-1])
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    place.run("study", study, "--store", "killed.sqlite", "--no-times", "--export", "killed.csv")
    return moments


def repeated(place: Place, study: str, keys: Sequence[str], *more: str) -> list[str]:
    """The keys of the points that a command of their own answers in another way."""
    return [key for key in keys if place.run("study", study, *more, "--only", key, may_fail=True)[0]]


def elsewhere(folder: Path) -> Place:
    """A copy of the code, and an environment that differs in all that should not matter."""
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / "code" / name)
    (folder / "home").mkdir()
    more = {"HOME": str(folder / "home"), "TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONHASHSEED": "7"}
    (folder / "work").mkdir()
    return Place(folder / "code", folder / "work", more)


@click.command()
@click.argument("study", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--sample", default=50, show_default=True, help="Points that are answered again.")
@click.option("--kills", default=3, show_default=True, help="Runs that are killed.")
@click.option("--seed", default=0, show_default=True, help="Seed of the sample and of the kills.")
def main(study: Path, sample: int, kills: int, seed: int) -> None:
    """Run STUDY, kill it, repeat it; exit code 1 where an answer differs."""
    random = Random(seed)
    with tempfile.TemporaryDirectory() as name:
        here, there = Path(name) / "here", elsewhere(Path(name))
        here.mkdir()
        place = Place(ROOT, here, {})
        for folder in (here, there.folder):
            shutil.copy(study, folder / study.name)
        began = time.perf_counter()
        stored = answered(place, study.name)
        wall = time.perf_counter() - began
        report = ("report", study.name, "--store", "alone.sqlite")
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        place.run(*report, "-o", "page.html")
        page = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        megabytes = (here / "page.html").stat().st_size / 1e6
        print(f"{len(stored):,} points; page of {megabytes:.1f} MB in {page:.0f} s of processor time")
        place.run(*report, "--lock", "lock.json")
        faults: list[str] = []
        if kills:
            moments = killed(place, study.name, random, kills, wall / 2)
            same = (here / "alone.csv").read_bytes() == (here / "killed.csv").read_bytes()
            when = ", ".join(f"{moment:.1f} s" for moment in moments)
            print(f"killed after {when}: the table is {'the same bytes' if same else 'ANOTHER ONE'}")
            faults += [] if same else ["killed"]
        keys = random.sample(stored, min(sample, len(stored)))
        beside = repeated(place, study.name, keys, "--store", "alone.sqlite")
        print(f"{len(keys) - len(beside)} of {len(keys)} points are repeated exactly beside the store")
        lock = str(here / "lock.json")
        apart = repeated(there, study.name, keys, "--verify-lock", lock)
        print(f"{len(keys) - len(apart)} of {len(keys)} points answer as in the lock elsewhere")
        if faults + beside + apart:
            raise click.ClickException(f"not the same: {', '.join(faults + beside + apart)}")


if __name__ == "__main__":
    main()
