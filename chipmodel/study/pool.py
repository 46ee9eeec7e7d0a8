"""Points on the cores of this machine: processes that each hold a few points, and may die."""

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

from chipmodel.errors import ChipmodelError
from chipmodel.model.study_row import Row
from chipmodel.study.answer import failed
from chipmodel.study.crew import DEATHS, Pace, gave_up
from chipmodel.study.task import Task
from chipmodel.study.worker import PRELOADED, serve

AHEAD_SECONDS = 0.25
MOST_AHEAD = 32
"""A worker has so many seconds of work before it, at most so many points, and one beside that at hand."""


FILES, OTHER_FILES = 3, 24
"""Open files for each worker, as counted on Linux, and at most for all else."""


def cores() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Connection
    tasks: dict[str, Task] = field(default_factory=dict[str, Task])
    """What it has to answer, in order, by key."""
    ready: bool = False
    alone: bool = False
    """Whether it is at a point at which another worker ended, and so gets no other."""
    pace: Pace = field(default_factory=lambda: Pace(AHEAD_SECONDS, MOST_AHEAD))

    @property
    def room(self) -> int:
        if self.alone:
            return 0
        if any(task.searches for task in self.tasks.values()):
            return max(0, 2 - len(self.tasks))
        ahead = 1 + self.pace.points
        return ahead - len(self.tasks) if len(self.tasks) <= ahead // 2 else 0


class Pool:
    """A ``study_crew.Crew`` of ``number`` processes; to be used in a ``with``.

    Raises ChipmodelError where the system does not allow them.
    """

    def __init__(self, number: int) -> None:
        _allow_files(FILES * number + OTHER_FILES)
        self._context = _context()
        self._waiting: deque[Task] = deque()
        """Given, but not yet to a worker."""
        self._suspects: dict[str, int] = {}
        """How many workers ended at a point, by its key."""
        self._rows: list[Row] = []
        self._stillborn = 0
        """Workers that ended before they began, one after another."""
        self._workers = [self._hired() for _ in range(number)]

    def __enter__(self) -> Pool:
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
        """Of the workers."""
        return [worker.process.pid or 0 for worker in self._workers]

    def pid_at(self, key: str) -> int | None:
        """Of the worker whose next answer is to be that of the point, once it has begun."""
        for worker in self._workers:
            if worker.ready and next(iter(worker.tasks), "") == key:
                return worker.process.pid
        return None

    def give(self, tasks: Sequence[Task]) -> None:
        self._waiting.extend(tasks)
        self._deal()

    def take(self, seconds: float) -> list[Row]:
        self._deal()
        pipes = [worker.pipe for worker in self._workers]
        ready = wait(pipes, 0 if self._rows else seconds)
        for index, worker in enumerate(self._workers):
            if worker.pipe in ready and not self._heard(worker):
                self._workers[index] = self._replaced(worker)
        self._deal()
        rows, self._rows = self._rows, []
        return rows

    def _heard(self, worker: _Worker) -> bool:
        """Take what ``worker`` has sent; False if it is no more."""
        try:
            while worker.pipe.poll():
                rows = cast("list[Row]", worker.pipe.recv())
                worker.ready = True
                for row in rows:
                    del worker.tasks[row.key]
                    worker.pace.saw(row)
                    worker.alone = False
                    self._suspects.pop(row.key, None)
                self._rows.extend(rows)
        except (EOFError, OSError):
            return False
        return True

    def _replaced(self, gone: _Worker) -> _Worker:
        """Another worker for one that is no more; its points are given again, the one at hand alone."""
        gone.process.join()
        gone.pipe.close()
        how = _ending(gone.process.exitcode)
        self._stillborn = 0 if gone.ready else self._stillborn + 1
        if self._stillborn >= DEATHS * len(self._workers):
            hint = "there may be too little memory: try --workers 1"
            raise ChipmodelError(f"each worker {how} before it began", hint=hint)
        tasks = list(gone.tasks.values())
        for task in tasks[:1]:
            self._suspects[task.key] = self._suspects.get(task.key, 0) + 1
            if self._suspects[task.key] >= DEATHS:
                self._rows.append(failed(task, gave_up(task, how)))
                tasks = tasks[1:]
        self._waiting.extendleft(reversed(tasks))
        return self._hired()

    def _deal(self) -> None:
        """Give what waits to those who have the least before them; a suspect goes to one with nothing."""
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
                return  # It is no more, which take() finds out.

    def _next(self, most: int, begun: bool) -> list[Task]:
        tasks: list[Task] = []
        while self._waiting and len(tasks) < most:
            suspect = self._waiting[0].key in self._suspects
            if suspect and (tasks or begun):
                break
            tasks.append(self._waiting.popleft())
            if suspect or tasks[-1].searches:
                break
        return tasks

    def _hired(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=serve, args=(theirs,), daemon=True)
        try:
            process.start()
        except (EOFError, ConnectionError) as error:
            hint = "the system may allow too few processes or open files: see ulimit -a, or try --workers 1"
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
        raise ChipmodelError(what, hint="fewer --workers, or a higher limit: see ulimit -n")
    resource.setrlimit(resource.RLIMIT_NOFILE, (number, hard))


def _ending(code: int | None) -> str:
    return f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with code {code}"
