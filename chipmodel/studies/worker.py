"""A worker process of the local pool: a task in, its row out."""

from __future__ import annotations

import gc
import os
import signal
from multiprocessing import parent_process
from threading import Thread

from chipmodel.answers.study_row import Row
from chipmodel.studies.answer import WorkerCache, answer
from chipmodel.studies.task import PointTask
from chipmodel.studies.workload import load_workload
from chipmodel.terminal.streams import leave_stderr

_CACHE = WorkerCache(load_workload)


def begin() -> None:
    """Make this process a worker: deaf to Ctrl-C, and ended with the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    leave_stderr()
    gc.freeze()
    Thread(target=_end_with_parent, daemon=True).start()


def answered(task: PointTask) -> Row:
    """The row of ``task``, with what earlier tasks of this process left in the cache."""
    return answer(task, _CACHE)


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None, "a worker is started by another process"
    parent.join()
    os._exit(0)
