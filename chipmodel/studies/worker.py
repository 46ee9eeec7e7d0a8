"""A worker process of the local pool: tasks in, rows out, through one pipe."""

from __future__ import annotations

import gc
import os
import signal
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from time import sleep

from chipmodel.answers.study_row import Row
from chipmodel.studies.answer import WorkerCache, answer
from chipmodel.studies.task import PointTask
from chipmodel.studies.workload import load_workload
from chipmodel.terminal.streams import leave_stderr

PRELOADED = (__name__,)
"""Modules that the pool's forkserver imports once for all workers: this one, and so all that answers need."""
FLUSH_SECONDS = 0.05
"""How long an answer waits for others to be sent with it."""


def serve(pipe: Connection) -> None:
    """Answer the lists of tasks that come through ``pipe`` with lists of rows, until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    leave_stderr()
    tasks: SimpleQueue[PointTask] = SimpleQueue()
    Thread(target=_listen, args=(pipe, tasks), daemon=True).start()
    gc.freeze()
    cache = WorkerCache(load_workload)
    pipe.send([])
    answers = _Answers(pipe)
    Thread(target=answers.send_often, daemon=True).start()
    while True:
        answers.add(answer(tasks.get(), cache))


class _Answers:
    """Rows on their way. Another thread sends them, as the next point may take an hour."""

    def __init__(self, pipe: Connection) -> None:
        self.pipe = pipe
        self.rows: SimpleQueue[Row] = SimpleQueue()

    def add(self, row: Row) -> None:
        self.rows.put(row)

    def send_often(self) -> None:
        """Send what there is, again and again; ends the process when the other side is gone."""
        while True:
            rows = [self.rows.get()]
            sleep(FLUSH_SECONDS)
            while not self.rows.empty():
                rows.append(self.rows.get())
            try:
                self.pipe.send(rows)
            except OSError:
                os._exit(0)


def _listen(pipe: Connection, tasks: SimpleQueue[PointTask]) -> None:
    """Always reads, so that the other side never waits; and ends the process when that is gone, whatever the
    process is at."""
    try:
        while True:
            for task in pipe.recv():
                tasks.put(task)
    except (EOFError, OSError):
        os._exit(0)
