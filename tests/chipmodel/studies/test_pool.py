"""The local pool: the rows of its points, whoever dies, and no worker that outlives its pool."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from chipmodel.answers.study_row import Row
from chipmodel.errors import ChipmodelError
from chipmodel.studies.answer import WorkerCache, answer
from chipmodel.studies.pool import LocalPool
from chipmodel.studies.task import PointTask
from chipmodel.studies.worker_group import BatchSize
from chipmodel.studies.workload import load_workload
from tests.chipmodel.studies.support import row, tasks
from tests.support.folders import ROOT
from tests.support.work import wait_until

QUICK = "workloads: [zoo:ds_cnn, zoo:autoencoder]\npackers: [large-first, pool]\nchips: [gap9-psram, esp32s3]"
SLOW = "workloads: 'guillotine:n=400,seed=1'\npackers: cp-sat\ntime_limit: 600"


def all_rows(
    pool: LocalPool, asked: Sequence[PointTask], meanwhile: Callable[[int], None] = lambda done: None
) -> list[Row]:
    """As the engine does it: as many as there is room for, until all are answered."""
    waiting, rows = list(asked), list[Row]()
    while waiting or pool.busy:
        room = pool.room
        pool.give(waiting[:room])
        del waiting[:room]
        rows += pool.take(0.2)
        meanwhile(len(rows))
    return rows


def timeless(rows: Sequence[Row]) -> list[Row]:
    return sorted((each.timeless for each in rows), key=lambda each: each.key)


def test_rows_are_those_of_one_process() -> None:
    asked = tasks(QUICK)
    cache = WorkerCache(load_workload)
    with LocalPool(2) as pool:
        assert timeless(all_rows(pool, asked)) == timeless([answer(task, cache) for task in asked])


def test_killed_workers_lose_no_point_and_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "chipmodel.studies.pool.MOST_DEATHS", 4
    )  # Three may come at one point, which then goes on.
    asked = tasks(QUICK + "\nseeds: 0\nmerges: [conflict, none]\nstreamers: [sync, ping-pong]")
    deaths: list[int] = []

    def meanwhile(done: int) -> None:
        if done > 10 * len(deaths) and len(deaths) < 3:
            deaths.append(pool.pids[len(deaths) % 2])
            os.kill(deaths[-1], signal.SIGKILL)

    with LocalPool(2) as pool:
        rows = all_rows(pool, asked, meanwhile)
        assert deaths
        # The last one may have died with nothing left to do.
        assert len(set(pool.pids) & set(deaths[:-1])) == 0
    assert [each.key for each in timeless(rows)] == sorted(task.key for task in asked)
    assert not [each.error for each in rows if each.status == "failed"]


def test_points_given_to_a_worker_that_has_died_are_answered() -> None:
    asked = tasks(QUICK)
    with LocalPool(1) as pool:
        rows = all_rows(pool, asked[:1])
        (pid,) = pool.pids
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not running(pid))
        rows += all_rows(pool, asked[1:])
        assert pool.pids != [pid]
    assert sorted(each.key for each in rows) == sorted(task.key for task in asked)
    assert not [each.error for each in rows if each.status == "failed"]


def test_workers_that_die_before_they_begin_end_the_study(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chipmodel.studies.pool.begin", partial(os._exit, 3))
    with LocalPool(1) as pool, pytest.raises(ChipmodelError, match="each worker ended with code 3 before it"):
        all_rows(pool, tasks(QUICK))


def test_a_point_that_ends_its_workers_fails_alone() -> None:
    (slow,) = tasks(SLOW)
    quick = tasks(QUICK)

    def meanwhile(done: int) -> None:
        pid = pool.pid_at(slow.key)
        if pid is not None and running(pid):
            os.kill(pid, signal.SIGKILL)

    with LocalPool(2) as pool:
        rows = {each.key: each for each in all_rows(pool, [quick[0], slow, *quick[1:]], meanwhile)}
    assert rows[slow.key].status == "failed"
    assert "ended by signal 9 at this point, 2 times" in rows[slow.key].error
    assert all(rows[task.key].status != "failed" for task in quick)


def test_an_answer_does_not_wait_for_the_next_point() -> None:
    """The next one may take an hour, and a worker that dies at it is not to have died at this one."""
    quick, (slow,) = tasks(QUICK)[:1], tasks(SLOW)
    with LocalPool(1) as pool:
        pool.give([*quick, slow])
        rows: list[Row] = []

        def answered() -> bool:
            rows.extend(pool.take(0.2))
            return bool(rows)

        wait_until(answered)
        assert [each.key for each in rows] == [quick[0].key]
        wait_until(lambda: pool.pid_at(slow.key) is not None)


def test_workers_end_with_their_pool_and_with_its_process() -> None:
    with LocalPool(1) as pool:
        all_rows(pool, tasks(QUICK)[:1])
        pids = pool.pids
    assert not any(map(running, pids))
    script = (
        "from tests.chipmodel.studies.test_pool import *\n"
        "pool = LocalPool(2)\npool.give(tasks(SLOW))\n"
        "wait_until(lambda: pool.pid_at(tasks(SLOW)[0].key))\n"
        "print(*pool.pids, flush=True)\nsys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout is not None
    orphans = [int(pid) for pid in process.stdout.readline().split()]
    assert all(map(running, orphans))
    process.kill()
    process.communicate()
    wait_until(lambda: not any(map(running, orphans)))


@pytest.mark.parametrize("end", [EOFError, BrokenPipeError])
def test_a_server_of_workers_that_ends_is_told(end: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: object) -> None:
        raise end

    monkeypatch.setattr("multiprocessing.context.ForkServerProcess.start", start)
    with pytest.raises(ChipmodelError, match="server that starts workers has ended"):
        LocalPool(1)


def running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize(
    ("seconds", "points"),
    [([], 1), ([0.01], 25), ([0.001] * 3, 32), ([0.001, 0.1], 2), ([9.0], 1), ([0.0], 32)],
)
def test_the_slowest_of_late_says_how_many_points_are_handed_out(seconds: list[float], points: int) -> None:
    batch_size = BatchSize(0.25, 32)
    for each in seconds:
        batch_size.saw(replace(row("k1"), seconds=each))
    assert batch_size.points == points
