"""Points on a cluster: a dask.distributed scheduler hands them out, again where a worker died.

Workers need the same chipmodel, but none of the study's files: what was read from a file is sent with each
point. So no point depends on another worker, which might be gone.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import threading
from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import Any

from chipmodel.answers.study_row import Row
from chipmodel.errors import BadInput, ChipmodelError
from chipmodel.studies.answer import WorkerCache, answer, failed
from chipmodel.studies.code_version import code_version
from chipmodel.studies.point_plugins import plugin_identities
from chipmodel.studies.pool import TICK_SECONDS, death_error
from chipmodel.studies.task import PointTask
from chipmodel.studies.workload import Source, load_workload

POINTS_PER_THREAD = 3
"""One being answered and two queued, so that no thread waits for the network."""
CONNECT_SECONDS = 10
FETCH_SECONDS = 10
"""Within which finished rows must arrive; else their points are answered again."""

_LOST = (OSError, TimeoutError, RuntimeError, CancelledError, asyncio.CancelledError)
"""What distributed raises, in its several layers, where a connection is lost."""

_here = threading.local()


class CodeMismatch(Exception):
    """A worker runs another version of chipmodel than the study."""


def answered(code: str, read: bytes, task: PointTask) -> Row:
    """What a worker does: the row of a point, whose workload is pickled in ``read``, or made here if that is
    empty. Raises CodeMismatch."""
    if code != code_version():
        raise CodeMismatch(code_version())
    if plugin_identities(task.point, task.source, task.chip) != task.plugins:
        raise CodeMismatch(f"other plug-ins than {', '.join(task.plugins)}")
    cache: WorkerCache | None = getattr(_here, "cache", None)
    if cache is None:
        cache = _here.cache = WorkerCache(load_workload)
    cache.load = (lambda _: pickle.loads(read)) if read else load_workload
    return answer(task, cache)


class Cluster:
    """The workers of the scheduler at ``address``.

    Raises BadInput where dask.distributed is missing or no scheduler answers.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        if not os.environ.get("CHIPMODEL_TRACEBACK"):
            _silence_logs()
        self._client = _client(address)
        self._given: dict[Any, PointTask] = {}
        """Futures, and what they answer."""
        self._done: SimpleQueue[Any] = SimpleQueue()
        self._read: dict[Source, bytes] = {}

    def answers(self, tasks: Sequence[PointTask]) -> Generator[list[Row]]:
        """Rows as ``LocalPool.answers`` has them. Raises ChipmodelError where the scheduler stops, or where a
        worker runs another version of chipmodel."""
        waiting = deque(tasks)
        try:
            while waiting or self._given:
                yield [*self._give(waiting), *self._take(waiting)]
        except _LOST:
            hint = "start it again, and run the study again: what was stored stays"
            raise ChipmodelError(f"the scheduler at {self.address} is gone", hint=hint) from None
        finally:
            with suppress(*_LOST):  # Nothing is left to cancel where the scheduler is gone.
                for future in self._given:
                    future.cancel()
                self._client.close()

    def _give(self, waiting: deque[PointTask]) -> Generator[Row]:
        """Submit as many points as keep the threads busy; the rows of those that cannot be loaded."""
        room = POINTS_PER_THREAD * sum(self._client.nthreads().values())
        while waiting and len(self._given) < room:
            task = waiting.popleft()
            try:
                read = self._pickled(task.source)
            except Exception:  # Which the row says.
                yield answer(task, WorkerCache(load_workload))
                continue
            future = self._client.submit(answered, code_version(), read, task, pure=False)
            self._given[future] = task
            future.add_done_callback(self._done.put)

    def _take(self, waiting: deque[PointTask]) -> Generator[Row]:
        """The rows that have come, if need be within a moment."""
        with suppress(Empty):
            yield from self._finished(self._done.get(timeout=TICK_SECONDS), waiting)
            while True:
                yield from self._finished(self._done.get_nowait(), waiting)

    def _pickled(self, source: Source) -> bytes:
        """What workers are sent of a workload: nothing if they can build it, else all of it."""
        if source.file and source not in self._read:
            self._read[source] = pickle.dumps(load_workload(source))
        return self._read.get(source, b"")

    def _finished(self, future: Any, waiting: deque[PointTask]) -> list[Row]:
        """The row of a point; one whose worker has gone waits again, but not after several deaths."""
        task = self._given.pop(future)
        if future.status == "finished":
            with suppress(TimeoutError, CancelledError):
                return [future.result(timeout=FETCH_SECONDS)]
        error = future.exception() if future.status == "error" else None
        if error is None:
            waiting.appendleft(task)
            return []
        if isinstance(error, CodeMismatch):
            hint = "install the same chipmodel on all machines"
            raise ChipmodelError(f"a worker of {self.address} has another chipmodel, {error}", hint=hint)
        if type(error).__name__ != "KilledWorker":
            what = f"a worker of {self.address} failed: {type(error).__name__}: {error}"
            raise ChipmodelError(what, hint="look at the worker's own log; what was stored stays") from error
        return [failed(task, death_error(task, "was ended"))]


def _silence_logs() -> None:
    """Keep the logs of distributed and asyncio off stderr, for the rest of the process: a lost connection is
    reported by one error, and they add tracebacks to it, some when the interpreter ends."""
    try:
        import_module("distributed")  # Its import makes its handlers.
    except ImportError:
        return  # Which _client reports.
    for name in ("distributed", "distributed.client", "distributed.core", "tornado", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers = [logging.NullHandler()]
        logger.propagate = False


def _client(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        hint = "install chipmodel[dask], or leave out --dask"
        raise BadInput("--dask needs dask.distributed, which is not installed", hint=hint) from None
    try:
        connect: Any = Client
        return connect(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        hint = "give the address that dask scheduler prints: --dask tcp://HOST:8786"
        what = f"no scheduler answers at {address}: {str(error) or type(error).__name__}"
        raise BadInput(what, hint=hint) from None
