"""Points on the cores of this machine: worker processes that each hold a few points, and may die."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import cast

from chipmodel.answers.study_row import Row
from chipmodel.errors import ChipmodelError
from chipmodel.studies.answer import failed
from chipmodel.studies.task import PointTask
from chipmodel.studies.worker import PRELOADED, serve
from chipmodel.studies.worker_group import MOST_DEATHS, BatchSize, death_error
from chipmodel.wording import argument, parameter

QUEUED_SECONDS = 0.25
"""Work queued at a worker in addition to the point that it answers, so that it never waits for the next."""
MOST_QUEUED = 32
"""Points queued at a worker at most."""
FILES_PER_WORKER, OTHER_FILES = 3, 24
"""Open files, counted on Linux: for each worker, and for everything else at most."""


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Connection
    tasks: dict[str, PointTask] = field(default_factory=dict[str, PointTask])
    """Points to answer, in order, by key."""
    ready: bool = False
    alone: bool = False
    """Whether it answers a point at which another worker died, and so gets no other point."""
    batch_size: BatchSize = field(default_factory=lambda: BatchSize(QUEUED_SECONDS, MOST_QUEUED))

    @property
    def room(self) -> int:
        if self.alone:
            return 0
        if any(task.searches for task in self.tasks.values()):
            return max(0, 2 - len(self.tasks))
        most = 1 + self.batch_size.points
        return most - len(self.tasks) if len(self.tasks) <= most // 2 else 0


class LocalPool:
    """A ``WorkerGroup`` of ``number`` processes; to be used in a ``with``.

    Raises ChipmodelError where the system does not allow them.
    """

    def __init__(self, number: int) -> None:
        _allow_files(FILES_PER_WORKER * number + OTHER_FILES)
        self._context = _context()
        self._waiting: deque[PointTask] = deque()
        """Submitted, but not yet sent to a worker."""
        self._suspects: dict[str, int] = {}
        """Workers that died at a point, by its key."""
        self._rows: list[Row] = []
        self._failed_starts = 0
        """Workers that died before they were ready, in a row."""
        self._workers = [self._start_worker() for _ in range(number)]

    def __enter__(self) -> LocalPool:
        return self

    def __exit__(self, *raised: type[BaseException] | BaseException | TracebackType | None) -> None:
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.join()
            worker.pipe.close()

    @property
    def room(self) -> int:
        return max(0, sum(worker.room for worker in self._workers) - len(self._waiting))

    @property
    def busy(self) -> bool:
        return bool(self._waiting) or any(worker.tasks for worker in self._workers)

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers."""
        return [worker.process.pid or 0 for worker in self._workers]

    def pid_at(self, key: str) -> int | None:
        """Process id of the worker that is answering the point ``key``, if one is."""
        for worker in self._workers:
            if worker.ready and next(iter(worker.tasks), "") == key:
                return worker.process.pid
        return None

    def give(self, tasks: Sequence[PointTask]) -> None:
        self._waiting.extend(tasks)
        self._send_waiting()

    def take(self, seconds: float) -> list[Row]:
        self._send_waiting()
        pipes = [worker.pipe for worker in self._workers]
        ready = wait(pipes, 0 if self._rows else seconds)
        for index, worker in enumerate(self._workers):
            if worker.pipe in ready and not self._receive(worker):
                self._workers[index] = self._replaced(worker)
        self._send_waiting()
        rows, self._rows = self._rows, []
        return rows

    def _receive(self, worker: _Worker) -> bool:
        """Take what ``worker`` has sent; False if it died."""
        try:
            while worker.pipe.poll():
                rows = cast("list[Row]", worker.pipe.recv())
                worker.ready = True
                for row in rows:
                    del worker.tasks[row.key]
                    worker.batch_size.saw(row)
                    worker.alone = False
                    self._suspects.pop(row.key, None)
                self._rows.extend(rows)
        except (EOFError, OSError):
            return False
        return True

    def _replaced(self, gone: _Worker) -> _Worker:
        """A new worker in place of a dead one, whose points are sent again: alone, the one it was
        answering."""
        gone.process.join()
        gone.pipe.close()
        how = _ending(gone.process.exitcode)
        self._failed_starts = 0 if gone.ready else self._failed_starts + 1
        if self._failed_starts >= MOST_DEATHS * len(self._workers):
            hint = f"there may be too little memory: try {argument('workers', 1)}"
            raise ChipmodelError(f"each worker {how} before it began", hint=hint)
        tasks = list(gone.tasks.values())
        for task in tasks[:1]:
            self._suspects[task.key] = self._suspects.get(task.key, 0) + 1
            if self._suspects[task.key] >= MOST_DEATHS:
                self._rows.append(failed(task, death_error(task, how)))
                tasks = tasks[1:]
        self._waiting.extendleft(reversed(tasks))
        return self._start_worker()

    def _send_waiting(self) -> None:
        """Send waiting points to the workers with the fewest; a suspect goes to an idle worker."""
        while self._waiting:
            worker = min(self._workers, key=lambda w: (w.alone, len(w.tasks)))
            room = 0 if worker.alone else max(worker.room, 0 if worker.tasks else 1)
            tasks = self._next(room, bool(worker.tasks))
            if not tasks:
                return
            worker.alone = tasks[0].key in self._suspects
            worker.tasks.update((task.key, task) for task in tasks)
            try:
                worker.pipe.send(tasks)
            except OSError:
                return  # The worker died, which take() finds out.

    def _next(self, most: int, begun: bool) -> list[PointTask]:
        tasks: list[PointTask] = []
        while self._waiting and len(tasks) < most:
            suspect = self._waiting[0].key in self._suspects
            if suspect and (tasks or begun):
                break
            tasks.append(self._waiting.popleft())
            if suspect or tasks[-1].searches:
                break
        return tasks

    def _start_worker(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=serve, args=(theirs,), daemon=True)
        try:
            process.start()
        except (EOFError, ConnectionError) as error:
            hint = "the system may allow too few processes or open files: see ulimit -a, "
            hint += f"or try {argument('workers', 1)}"
            raise ChipmodelError("the server that starts workers has ended", hint=hint) from error
        theirs.close()
        return _Worker(process, ours)


def _context() -> ForkServerContext | SpawnContext:
    """A forkserver, which imports once for all workers; without one, each worker imports for itself."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*PRELOADED])
    return context


def _allow_files(number: int) -> None:
    """Raise this process's limit of open files, if it is lower. Raises ChipmodelError where it may not be."""
    try:
        import resource
    except ImportError:
        return  # Windows has none.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= number or soft == resource.RLIM_INFINITY:
        return
    if hard < number and hard != resource.RLIM_INFINITY:
        what = f"the workers need {number} open files, and the system allows {hard}"
        raise ChipmodelError(what, hint=f"fewer {parameter('workers')}, or a higher limit: see ulimit -n")
    resource.setrlimit(resource.RLIMIT_NOFILE, (number, hard))


def _ending(code: int | None) -> str:
    return f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with code {code}"
