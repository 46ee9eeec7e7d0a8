"""How many points a second ``chipmodel study`` answers, and how much two workers are faster than one.

    python bench/study_throughput.py [--repeats 3] [--points 1200]

The study: the networks of MLPerf Tiny x chips x sizes of SharedMemory x heuristic packers x streamers. Each
figure is the best of the repeats, from the first to the last stored row; starting is told beside it.
What the machine does meanwhile counts, so leave it alone; points a second of processor time hardly do.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from chipmodel.answers.study_row import Row
from chipmodel.studies.code_version import code_version
from chipmodel.studies.engine import work
from chipmodel.studies.points import tasks_of
from chipmodel.studies.pool import LocalPool
from chipmodel.studies.store import StudyHeader, opened
from chipmodel.studies.study_file import parse_study
from chipmodel.studies.task import PointTask

STUDY = """
chips: [luna-arcs, esp32s3, stm32n6, gap9-psram, luna-csk6]
packers: [large-first, short-first, greedy-best-fit, conflict-first, free-list]
streamers: [sync, ping-pong]
set:
  shared_memory.bytes: [128KiB, 192KiB, 256KiB, 320KiB, 384KiB, 512KiB]
"""


class Clock:
    """When rows were stored."""

    def __init__(self) -> None:
        self.began = perf_counter()
        self.first = self.last = 0.0
        self.early = self.rows = 0
        self.processor = 0.0

    def __call__(self, rows: Sequence[Row]) -> None:
        if not rows:
            return
        self.last = perf_counter()
        if not self.rows:
            self.first, self.early = self.last, len(rows)
        self.rows += len(rows)

    @property
    def rate(self) -> float:
        return (self.rows - self.early) / (self.last - self.first)


def processor_seconds(pid: int) -> float:
    """Of a process so far, its start included (proc(5), fields 14 and 15 of stat)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(tasks: tuple[PointTask, ...], workers: int, folder: Path) -> Clock:
    path = folder / f"{workers}.sqlite"
    path.unlink(missing_ok=True)
    clock = Clock()
    pool = LocalPool(workers)

    def watch(rows: Sequence[Row]) -> None:
        clock(rows)
        if clock.rows == len(tasks):
            clock.processor = sum(processor_seconds(worker.process.pid or 0) for worker in pool.workers)

    with opened(path) as store:
        store.ask(StudyHeader("throughput", "", "", STUDY, code_version(), 0), [task.key for task in tasks])
        work(store, pool.answers(tasks), watch)
    assert clock.rows == len(tasks)
    return clock


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--points", type=int, default=1200)
    asked = parser.parse_args()
    tasks = tasks_of(parse_study(STUDY, Path("throughput.yaml")))
    # Every so many, so that few points are of all chips and sizes as well.
    tasks = tasks[:: max(1, len(tasks) // asked.points)]
    best: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as name:
        for repeat in range(asked.repeats):
            for workers in (1, 2):
                clock = measured(tasks, workers, Path(name))
                best[workers] = max(best.get(workers, 0.0), clock.rate)
                start = clock.first - clock.began
                print(
                    f"{workers} worker{'s'[: workers - 1]}, run {repeat + 1}: {len(tasks)} points, "
                    f"{clock.rate:.1f}/s, {len(tasks) / clock.processor:.1f} a second of processor time, "
                    f"first row after {start:.2f} s, load {os.getloadavg()[0]:.1f}",
                    flush=True,
                )
    print(f"best: {best[1]:.1f}/s with one worker, {best[2]:.1f}/s with two: {best[2] / best[1]:.2f} times")


if __name__ == "__main__":
    main()
