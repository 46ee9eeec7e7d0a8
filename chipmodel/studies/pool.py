"""Points on the cores of this machine: worker processes, each of which may die."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections import Counter, deque
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext, SpawnContext
from threading import Thread

from chipmodel.answers.study_row import Row
from chipmodel.errors import ChipmodelError
from chipmodel.studies.answer import WorkerCache, answer, failed
from chipmodel.studies.task import PointTask
from chipmodel.studies.workload import load_workload
from chipmodel.terminal.streams import leave_stderr

TICK_SECONDS = 0.2
"""After which an empty batch of rows says that nothing has come."""
MOST_DEATHS = 2
"""Workers that may die in a row at one point before it is stored as failed."""

_CACHE = WorkerCache(load_workload)


def serve(pipe: Connection) -> None:
    """What a worker does: deaf to Ctrl-C, until its pool or the pool's process ends, answer what comes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    leave_stderr()
    gc.freeze()
    Thread(target=_end_with_parent, daemon=True).start()
    pipe.send(None)
    while True:
        pipe.send(answer(pipe.recv(), _CACHE))


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None, "a worker is started by another process"
    parent.join()
    os._exit(0)


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Worker:
    """A process, and the point that it is answering."""

    def __init__(self, context: ForkServerContext | SpawnContext) -> None:
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,))
        self.process.start()
        theirs.close()
        self.began = False
        self.task: PointTask | None = None

    def give(self, waiting: deque[PointTask]) -> None:
        self.task = waiting.popleft() if waiting else None
        if self.task:
            with suppress(OSError):  # It died meanwhile, which its pipe tells next.
                self.pipe.send(self.task)

    def end(self) -> str:
        """End the process; how it ended, if it had."""
        self.process.kill()
        self.process.join()
        self.pipe.close()
        code = self.process.exitcode
        return f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with code {code}"


class LocalPool:
    """At most ``number`` processes that answer points, while ``answers`` goes on."""

    def __init__(self, number: int) -> None:
        self.workers = list[_Worker]()
        self._number = number
        self._context = _context()
        self._deaths = Counter[str]()
        """Workers that died at a point, by its key."""
        self._failed_starts = 0
        """Workers that died before they were ready, in a row."""

    def answers(self, tasks: Sequence[PointTask]) -> Generator[list[Row]]:
        """The rows of ``tasks`` as they come, begun in this order, with an empty batch now and then.

        Raises ChipmodelError where the system does not allow the processes.
        """
        waiting = deque(tasks)
        try:
            for _ in range(min(self._number, len(waiting))):
                self.workers.append(self._started())
            while waiting or any(worker.task for worker in self.workers):
                ready = wait([worker.pipe for worker in self.workers], TICK_SECONDS)
                heard = [worker for worker in self.workers if worker.pipe in ready]
                yield [row for each in heard for row in self._heard(each, waiting)]
        finally:
            for each in self.workers:
                each.process.kill()  # All at once, before any is waited for.
            for each in self.workers:
                each.end()

    def _heard(self, worker: _Worker, waiting: deque[PointTask]) -> list[Row]:
        """The row that a worker has sent, if it has; it goes on with the next point."""
        try:
            row: Row | None = worker.pipe.recv()
        except (EOFError, OSError):
            return self._replaced(worker, waiting)
        worker.began, self._failed_starts = True, 0
        worker.give(waiting)
        return [row] if row else []

    def _replaced(self, gone: _Worker, waiting: deque[PointTask]) -> list[Row]:
        """Start a worker in place of a dead one. The point that it was answering waits for another, and is
        failed if that one died as well."""
        gone.process.join()
        ending, task = gone.end(), gone.task
        self._failed_starts += not gone.began
        if self._failed_starts >= MOST_DEATHS * len(self.workers):
            hint = "there may be too little memory: try --workers 1"
            raise ChipmodelError(f"each worker {ending} before it began", hint=hint)
        self.workers[self.workers.index(gone)] = self._started()
        if task is None:
            return []
        self._deaths[task.key] += 1
        if self._deaths[task.key] >= MOST_DEATHS:
            return [failed(task, death_error(task, ending))]
        waiting.appendleft(task)
        return []

    def _started(self) -> _Worker:
        try:
            with _without_current_folder():
                return _Worker(self._context)
        except (EOFError, OSError) as error:
            hint = "the system may allow too few processes or open files: see ulimit -a, "
            hint += "or try --workers 1"
            raise ChipmodelError("the server that starts workers has ended", hint=hint) from error


def death_error(task: PointTask, how: str) -> str:
    """The error of a point at which workers died; ``how`` the last one did."""
    return (
        f"the worker {how} at this point, {MOST_DEATHS} times\n"
        f"  hint: it may need more memory than there is; --retry-failed tries again "
        f"({task.point.workload})"
    )


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
