"""The local pool: the rows of its points, whoever dies, and no worker that outlives it."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from chipmodel.answers.study_row import Row
from chipmodel.errors import ChipmodelError
from chipmodel.studies.answer import WorkerCache, answer
from chipmodel.studies.pool import LocalPool
from chipmodel.studies.task import PointTask
from chipmodel.studies.workload import load_workload
from tests.chipmodel.studies.support import tasks
from tests.support.folders import ROOT
from tests.support.narrowed import some
from tests.support.work import wait_until

QUICK = "workloads: [zoo:ds_cnn, zoo:autoencoder]\npackers: [large-first, pool]\nchips: [gap9-psram, esp32s3]"
SLOW = "workloads: 'guillotine:n=400,seed=1'\npackers: cp-sat\ntime_limit: 600"


def all_rows(
    pool: LocalPool, asked: Sequence[PointTask], meanwhile: Callable[[int], None] = lambda done: None
) -> list[Row]:
    rows = list[Row]()
    for each in pool.answers(asked):
        rows += each
        meanwhile(len(rows))
    return rows


def pid_at(pool: LocalPool, task: PointTask) -> int | None:
    """The process that is answering a point, if one is."""
    return next((each.process.pid for each in pool.workers if each.task == task), None)


def timeless(rows: Sequence[Row]) -> list[Row]:
    return sorted((each.timeless for each in rows), key=lambda each: each.key)


def test_rows_are_those_of_one_process() -> None:
    asked = tasks(QUICK)
    cache = WorkerCache(load_workload)
    assert timeless(all_rows(LocalPool(2), asked)) == timeless([answer(task, cache) for task in asked])


def test_killed_workers_lose_no_point_and_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    # Three deaths may come at one point, which then goes on.
    monkeypatch.setattr("chipmodel.studies.pool.MOST_DEATHS", 4)
    asked = tasks(QUICK + "\nseeds: 0\nmerges: [conflict, none]\nstreamers: [sync, ping-pong]")
    pool, deaths = LocalPool(2), list[int]()

    def meanwhile(done: int) -> None:
        if done > 10 * len(deaths) and len(deaths) < 3:
            deaths.append(pool.workers[len(deaths) % 2].process.pid or 0)
            os.kill(deaths[-1], signal.SIGKILL)

    rows = all_rows(pool, asked, meanwhile)
    assert len(deaths) == 3
    assert [each.key for each in timeless(rows)] == sorted(task.key for task in asked)
    assert not [each.error for each in rows if each.status == "failed"]


def test_workers_that_die_before_they_begin_end_the_study(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chipmodel.studies.pool.serve", sys.exit)
    with pytest.raises(ChipmodelError, match="each worker ended with code 1 before it"):
        all_rows(LocalPool(1), tasks(QUICK))


def test_a_point_that_ends_its_workers_fails_alone() -> None:
    (slow,) = tasks(SLOW)
    quick, pool = tasks(QUICK), LocalPool(2)

    def meanwhile(done: int) -> None:
        pid = pid_at(pool, slow)
        if pid is not None and running(pid):
            os.kill(pid, signal.SIGKILL)

    rows = {each.key: each for each in all_rows(pool, [quick[0], slow, *quick[1:]], meanwhile)}
    assert rows[slow.key].status == "failed"
    assert "ended by signal 9 at this point, 2 times" in rows[slow.key].error
    assert all(rows[task.key].status != "failed" for task in quick)


@pytest.mark.slow
def test_workers_end_with_their_answers_and_with_their_process() -> None:
    pool = LocalPool(1)
    answers = pool.answers([*tasks(QUICK)[:1], *tasks(SLOW)])
    assert any(rows for rows in answers)
    pids = [each.process.pid or 0 for each in pool.workers]
    assert any(map(running, pids))
    answers.close()
    assert not any(map(running, pids))
    script = (
        "from tests.chipmodel.studies.test_pool import *\n"
        "pool = LocalPool(1)\n"
        "for _ in pool.answers(tasks(SLOW)):\n"
        "    if pid := pid_at(pool, tasks(SLOW)[0]):\n"
        "        print(pid, flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    orphan = int(some(process.stdout).readline())
    assert running(orphan)
    process.kill()
    process.communicate()
    wait_until(lambda: not running(orphan))


@pytest.mark.parametrize("end", [EOFError, BrokenPipeError])
def test_a_server_of_workers_that_ends_is_told(end: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: object) -> None:
        raise end

    monkeypatch.setattr("multiprocessing.context.ForkServerProcess.start", start)
    with pytest.raises(ChipmodelError, match="server that starts workers has ended"):
        all_rows(LocalPool(1), tasks(QUICK))


def running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
