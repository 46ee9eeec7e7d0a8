"""A worker process of the local pool: tasks in, rows out, through one pipe."""

from __future__ import annotations

import gc
import os
import signal
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from threading import Thread
from time import perf_counter

from chipmodel.model.study_row import Row
from chipmodel.studies.answer import WorkerCache, answer
from chipmodel.studies.task import PointTask
from chipmodel.studies.workload import load_workload
from chipmodel.terminal.streams import leave_stderr

PRELOADED = (__name__,)
"""Modules that the pool's forkserver imports once for all workers: this one, and so all that answers need."""
FLUSH_SECONDS = 0.05
"""How long an answer may wait for others to be sent with it."""


def serve(pipe: Connection) -> None:
    """Answer the lists of tasks that come through ``pipe`` with lists of rows, until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    leave_stderr()
    tasks: SimpleQueue[PointTask] = SimpleQueue()
    Thread(target=_listen, args=(pipe, tasks), daemon=True).start()
    gc.freeze()
    cache = WorkerCache(load_workload)
    pipe.send([])
    rows: list[Row] = []
    sent = perf_counter()
    while True:
        try:
            task = tasks.get_nowait()
        except Empty:
            _send(pipe, rows)
            task = tasks.get()
            sent = perf_counter()
        rows.append(answer(task, cache))
        if perf_counter() - sent > FLUSH_SECONDS:
            _send(pipe, rows)
            sent = perf_counter()


def _send(pipe: Connection, rows: list[Row]) -> None:
    if rows:
        pipe.send(rows)
        rows.clear()


def _listen(pipe: Connection, tasks: SimpleQueue[PointTask]) -> None:
    """Always reads, so that the other side never waits; and ends the process when that is gone, whatever the
    process is at."""
    try:
        while True:
            for task in pipe.recv():
                tasks.put(task)
    except (EOFError, OSError):
        os._exit(0)
