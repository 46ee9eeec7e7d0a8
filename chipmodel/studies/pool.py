"""Points on the cores of this machine: worker processes, each of which may die."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import parent_process
from multiprocessing.context import ForkServerContext, SpawnContext
from queue import Empty, SimpleQueue
from threading import Thread
from types import TracebackType

from chipmodel.answers.study_row import Row
from chipmodel.errors import ChipmodelError
from chipmodel.studies.answer import WorkerCache, answer, failed
from chipmodel.studies.task import PointTask
from chipmodel.studies.worker_group import MOST_DEATHS, BatchSize, death_error
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


QUEUED_SECONDS = 0.25
"""Work queued at a worker in addition to the point that it answers, so that it never waits for the next."""
MOST_QUEUED = 32
"""Points queued at a worker at most."""


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Worker:
    """An executor of one process, so that what dies with the process is known."""

    def __init__(self, context: ForkServerContext | SpawnContext) -> None:
        self.executor = ProcessPoolExecutor(1, context, begin)
        self.start = self.executor.submit(int)
        """Done once the process is ready for points."""
        # multiprocessing.active_children() would leave out a process that is dead by now.
        (self.process,) = self.executor._processes.values()  # pyright: ignore[reportPrivateUsage]
        self.points = 0
        """Points given to it that have no row yet."""

    def submitted(self, task: PointTask) -> Future[Row]:
        try:
            return self.executor.submit(answered, task)
        except BrokenProcessPool as error:
            broken = Future[Row]()
            broken.set_exception(error)
            return broken

    def end(self) -> None:
        self.process.kill()
        self.executor.shutdown()

    @property
    def ending(self) -> str:
        """How the process ended."""
        code = self.process.exitcode
        return f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with code {code}"


class LocalPool:
    """A ``WorkerGroup`` of ``number`` processes; to be used in a ``with``.

    Raises ChipmodelError where the system does not allow them.
    """

    def __init__(self, number: int) -> None:
        self._context = _context()
        self._given: dict[Future[Row], tuple[_Worker, PointTask]] = {}
        self._done = SimpleQueue[Future[Row]]()
        self._deaths: dict[str, int] = {}
        """Workers that died at a point, by its key."""
        self._failed_starts = 0
        """Workers that died before they were ready, in a row."""
        self._batch_size = BatchSize(QUEUED_SECONDS, MOST_QUEUED)
        self._workers = list[_Worker]()
        for _ in range(number):
            self._workers.append(self._start_worker())

    def __enter__(self) -> LocalPool:
        return self

    def __exit__(self, *raised: type[BaseException] | BaseException | TracebackType | None) -> None:
        for each in self._workers:
            each.end()

    @property
    def room(self) -> int:
        searches = any(task.searches for _, task in self._given.values())
        most = len(self._workers) * (2 if searches else 1 + self._batch_size.points)
        return most - len(self._given) if len(self._given) <= most // 2 else 0

    @property
    def busy(self) -> bool:
        return bool(self._given)

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers."""
        return [each.process.pid or 0 for each in self._workers]

    def pid_at(self, key: str) -> int | None:
        """Process id of the worker that is answering the point ``key``, if one is."""
        begun = {each: task for each, task in reversed(self._given.values()) if each.start.done()}
        return next((each.process.pid for each, task in begun.items() if task.key == key), None)

    def give(self, tasks: Sequence[PointTask]) -> None:
        for task in tasks:
            least = min(self._workers, key=lambda each: each.points)
            least.points += 1
            future = least.submitted(task)
            self._given[future] = least, task
            future.add_done_callback(self._done.put)

    def take(self, seconds: float) -> list[Row]:
        rows: list[Row] = []
        try:
            rows += self._finished(self._done.get(timeout=seconds) if seconds else self._done.get_nowait())
            while True:
                rows += self._finished(self._done.get_nowait())
        except Empty:
            return rows

    def _finished(self, future: Future[Row]) -> list[Row]:
        """The row of a point; none where its worker died, so that it is given again."""
        if future not in self._given:
            return []  # Given again, with the others of its worker.
        if _broken(future):
            return self._replaced(self._given[future][0])
        at, task = self._given.pop(future)
        at.points -= 1
        error = future.exception()
        row = failed(task, f"internal error: {type(error).__name__}: {error}") if error else future.result()
        self._batch_size.saw(row)
        return [row]

    def _replaced(self, gone: _Worker) -> list[Row]:
        """Start a worker in place of a dead one, and give its points again; the first is the one that it was
        answering, which fails if another worker died at it."""
        gone.end()
        lost = [future for future, (at, _) in self._given.items() if at is gone and _broken(future)]
        tasks = [self._given.pop(future)[1] for future in lost]
        began = gone.start.exception() is None
        self._failed_starts = 0 if began else self._failed_starts + 1
        if self._failed_starts >= MOST_DEATHS * len(self._workers):
            hint = "there may be too little memory: try --workers 1"
            raise ChipmodelError(f"each worker {gone.ending} before it began", hint=hint)
        self._workers[self._workers.index(gone)] = self._start_worker()
        suspect = tasks[0]
        self._deaths[suspect.key] = self._deaths.get(suspect.key, 0) + began
        fails = self._deaths[suspect.key] >= MOST_DEATHS
        self.give(tasks[fails:])
        return [failed(suspect, death_error(suspect, gone.ending))] if fails else []

    def _start_worker(self) -> _Worker:
        try:
            with _without_current_folder():
                return _Worker(self._context)
        except (EOFError, OSError) as error:
            hint = "the system may allow too few processes or open files: see ulimit -a, "
            hint += "or try --workers 1"
            raise ChipmodelError("the server that starts workers has ended", hint=hint) from error


def _broken(future: Future[Row]) -> bool:
    """Whether the worker died before it had the row."""
    return isinstance(future.exception(), BrokenProcessPool)


@contextmanager
def _without_current_folder() -> Generator[None]:
    """Keep processes that are started meanwhile from importing what lies in the current folder.

    They begin as ``python -c``, which would run a stranger's ``signal.py`` in the current folder.
    """
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        del os.environ["PYTHONSAFEPATH"]
        os.environ |= {} if before is None else {"PYTHONSAFEPATH": before}


def _context() -> ForkServerContext | SpawnContext:
    """A forkserver, which imports once for all workers; without one, each worker imports for itself."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context
