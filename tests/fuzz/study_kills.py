"""A study that is killed again and again stores every point once, with the rows of one left alone.

For each seed one study of 1,000 points. Each kill comes at a random number of stored rows and some random
milliseconds later; it takes the command alone, or its workers as well. The store logs, by a trigger of this
file's own, every row that is written. The commands run on a copy of the code: its version is part of each
point's key.
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
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from chipmodel.studies.export import csv_bytes
from chipmodel.studies.points import tasks_of
from chipmodel.studies.store import opened, read_rows
from chipmodel.studies.study_file import read_study
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
CREATE TABLE log (key TEXT);
CREATE TRIGGER log_rows AFTER INSERT ON rows BEGIN INSERT INTO log VALUES (NEW.key); END;
"""


@dataclass(frozen=True, slots=True)
class StoreSummary:
    """What the store holds at the end."""

    points: int
    rows: int
    most_writes: int
    """Most rows that were written for one point."""
    failed: int
    table: bytes
    """All rows, without times."""

    @property
    def sound(self) -> bool:
        return self.rows == self.points and self.most_writes == 1


def frozen(folder: Path) -> Path:
    """A copy of the code, which no edit changes."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / "code" / package)
    return folder / "code"


def command(study: Path, store: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "chipmodel", "study", str(study), "--store", str(store), *options]


def prepare(study: Path, store: Path) -> int:
    """A store that logs its rows; the number of points."""
    store.unlink(missing_ok=True)
    with opened(store), closing(sqlite3.connect(store)) as link:
        link.executescript(LOG)
    return len(tasks_of(read_study(study)))


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


def killed(study: Path, store: Path, kills: int, seed: int) -> StoreSummary:
    """Run the study with so many SIGKILLs, each followed at once by the next run."""
    points, random = prepare(study, store), Random(seed)
    for threshold in sorted(random.randrange(points * 9 // 10) for _ in range(kills)):
        victim = subprocess.Popen(
            command(study, store), stdout=subprocess.DEVNULL, cwd=code(study), start_new_session=True
        )
        wait_for(store, threshold)
        time.sleep(random.random() * 0.05)
        kill = os.killpg if random.random() < 0.5 else os.kill
        kill(victim.pid, signal.SIGKILL)
        victim.wait()
    subprocess.run(command(study, store), check=True, stdout=subprocess.DEVNULL, cwd=code(study))
    return outcome(store)


def wait_for(store: Path, rows: int) -> None:
    began = time.monotonic()
    while stored(store) < rows:
        time.sleep(0.003)
        assert time.monotonic() - began < LIMIT_SECONDS, "the study does not go on"


def outcome(store: Path) -> StoreSummary:
    header, rows = read_rows(store)
    with sqlite3.connect(store) as link:
        most = link.execute("SELECT max(n) FROM (SELECT count(*) AS n FROM log GROUP BY key)").fetchone()[0]
    failed = sum(row.status == "failed" for row in rows)
    return StoreSummary(header.points, stored(store), most, failed, csv_bytes(rows, False))


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


def check(seed: int, kills: int) -> Counter[str]:
    """Kill one study so many times. Raises Fault where a point is lost, repeated or different."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        study, store = folder / "kills.yaml", folder / "killed.sqlite"
        study.write_text(STUDY)
        os.environ["PYTHONPATH"] = str(frozen(folder))
        found = killed(study, store, kills, seed)
        same = undisturbed(study, folder / "alone.sqlite") == found.table
    if not found.sound or not same:
        raise Fault(f"seed {seed}: {replace(found, table=b'')}, the table is the same: {same}")
    return Counter(points=found.points, rows=found.rows, kills=kills, failed=found.failed)


def search(parser: ArgumentParser, arguments: Sequence[str]) -> Check:
    parser.add_argument("--kills", type=int, default=20, help="kills of each study [20]")
    given = parser.parse_args(arguments)
    return lambda seed: check(seed, given.kills)
