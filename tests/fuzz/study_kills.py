"""A study that is killed again and again stores every point once, with the rows of one left alone.

For each seed one study of 1,000 points. Each kill comes at a random number of stored rows and some random
milliseconds later; it takes the command alone, or its workers as well. The store logs, by a trigger of this
file's own, every claim and whether the point had a row then. The commands run on a copy of the code: its
version is part of each point's key.
"""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from chipmodel.studies.export import csv_bytes
from chipmodel.studies.store import read_rows
from tests.fuzz.fuzzer import Check, Fault
from tests.support.folders import ROOT

COUNT = 1
STUDY = """
workloads: [zoo:ds_cnn, zoo:resnet8, zoo:autoencoder, zoo:mobilenetv1_025]
chips: [luna-arcs, esp32s3, stm32n6, gap9-psram, luna-csk6]
packers: [large-first, short-first, greedy-best-fit, conflict-first, free-list]
streamers: [sync, ping-pong]
set:
  shared_memory.bytes: [128KiB, 192KiB, 256KiB, 384KiB, 512KiB]
"""
LIMIT_SECONDS = 120.0
PACKAGES = ("chipmodel", "solvers", "dma", "workloads", "reports")
LOG = """
CREATE TABLE claim_log (key TEXT, had_row INTEGER);
CREATE TRIGGER log_claims AFTER INSERT ON claims BEGIN
  INSERT INTO claim_log VALUES (NEW.key, (SELECT count(*) FROM rows WHERE key = NEW.key));
END;
"""


@dataclass(frozen=True, slots=True)
class StoreSummary:
    """What the store holds at the end."""

    points: int
    rows: int
    kills: int
    claims: int
    claimed_after_stored: int
    """Claims on points that had a row."""
    most_writes: int
    """Most rows that were written for one point."""
    failed: int
    table: bytes
    """All rows, without times."""

    @property
    def sound(self) -> bool:
        return self.rows == self.points and not self.claimed_after_stored and self.most_writes == 1


def frozen(folder: Path) -> Path:
    """A copy of the code, which no edit changes."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / "code" / package)
    return folder / "code"


def command(study: Path, store: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "chipmodel", "study", str(study), "--store", str(store), *options]


def prepare(study: Path, store: Path) -> int:
    """A store that logs its claims; the number of points."""
    store.unlink(missing_ok=True)
    subprocess.run(command(study, store, "--status"), check=False, stdout=subprocess.DEVNULL, cwd=code(study))
    with sqlite3.connect(store) as link:
        link.executescript(LOG)
    return read_rows(store)[0].points


def code(study: Path) -> Path:
    """Where the commands run: in the copy next to the study, if there is one."""
    copied = study.parent / "code"
    return copied if copied.is_dir() else ROOT


def stored(store: Path) -> int:
    link = sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=60)
    try:
        return int(link.execute("SELECT count(*) FROM rows").fetchone()[0])
    finally:
        link.close()


class Commands:
    """Several ``study`` commands at once, each started again when it has ended."""

    def __init__(self, study: Path, store: Path, number: int) -> None:
        self.arguments, self.code = command(study, store), code(study)
        self.running: list[subprocess.Popen[bytes]] = []
        self.number = number

    def keep(self) -> None:
        self.running = [each for each in self.running if each.poll() is None]
        while len(self.running) < self.number:
            self.running.append(self._started())

    def _started(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.arguments, stdout=subprocess.DEVNULL, cwd=self.code, start_new_session=True
        )

    def kill(self, random: Random) -> None:
        victim = random.choice(self.running)
        if random.random() < 0.5:
            os.killpg(victim.pid, signal.SIGKILL)
        else:
            victim.kill()
        victim.wait()

    def end(self) -> list[int]:
        return [each.wait(LIMIT_SECONDS) for each in self.running]


def killed(study: Path, store: Path, kills: int, processes: int, seed: int) -> StoreSummary:
    """Run the study with so many SIGKILLs."""
    points = prepare(study, store)
    random = Random(seed)
    runs = Commands(study, store, processes)
    for threshold in sorted(random.randrange(points * 9 // 10) for _ in range(kills)):
        runs.keep()
        wait_for(store, threshold)
        time.sleep(random.random() * 0.05)
        runs.keep()
        runs.kill(random)
    runs.keep()
    codes = runs.end()
    assert set(codes) == {0}, codes
    return outcome(store, kills)


def wait_for(store: Path, rows: int) -> None:
    began = time.monotonic()
    while stored(store) < rows:
        time.sleep(0.003)
        assert time.monotonic() - began < LIMIT_SECONDS, "the study does not go on"


def outcome(store: Path, kills: int) -> StoreSummary:
    header, rows = read_rows(store)
    with sqlite3.connect(store) as link:
        most = link.execute("SELECT max(attempts) FROM rows").fetchone()[0]
        claims, late = link.execute("SELECT count(*), total(had_row) FROM claim_log").fetchone()
    failed = sum(row.status == "failed" for row in rows)
    return StoreSummary(
        header.points, stored(store), kills, claims, int(late), most, failed, csv_bytes(rows, False)
    )


@contextmanager
def cluster(workers: int) -> Generator[Any]:
    """A LocalCluster in separate processes."""
    from distributed import LocalCluster

    start: Any = LocalCluster
    with start(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None) as made:
        yield made


def undisturbed(study: Path, store: Path) -> bytes:
    """The table of the same study, left alone."""
    store.unlink(missing_ok=True)
    subprocess.run(command(study, store), check=True, stdout=subprocess.DEVNULL, cwd=code(study))
    return csv_bytes(read_rows(store)[1], False)


def check(seed: int, kills: int, processes: int) -> Counter[str]:
    """Kill one study so many times. Raises Fault where a point is lost, repeated or different."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        study, store = folder / "kills.yaml", folder / "killed.sqlite"
        study.write_text(STUDY)
        os.environ["PYTHONPATH"] = str(frozen(folder))
        found = killed(study, store, kills, processes, seed)
        same = undisturbed(study, folder / "alone.sqlite") == found.table
    if not found.sound or not same:
        raise Fault(f"seed {seed}: {replace(found, table=b'')}, the table is the same: {same}")
    counts = ("points", "rows", "kills", "claims", "failed")
    return Counter({each: int(getattr(found, each)) for each in counts})


def search(parser: ArgumentParser, arguments: Sequence[str]) -> Check:
    parser.add_argument("--kills", type=int, default=20, help="kills of each study [20]")
    parser.add_argument("--processes", type=int, default=1, help="commands that work on it at once [1]")
    given = parser.parse_args(arguments)
    return lambda seed: check(seed, given.kills, given.processes)
