"""Points on a cluster: a dask.distributed scheduler hands them out, again where a worker died.

Workers need the same chipmodel, but none of the study's files: what was read from a file is sent with each
batch of points. So no batch depends on another worker, which might be gone.
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
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import count
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any

from chipmodel.answers.study_row import Row
from chipmodel.errors import BadInput, ChipmodelError
from chipmodel.studies.answer import WorkerCache, Workload, answer, failed
from chipmodel.studies.code_version import code_version
from chipmodel.studies.point_plugins import plugin_identities
from chipmodel.studies.task import PointTask
from chipmodel.studies.worker_group import MOST_DEATHS, BatchSize, death_error
from chipmodel.studies.workload import Source, load_workload

BATCH_SECONDS = 0.5
MOST_POINTS_PER_BATCH = 64
BATCHES_PER_THREAD = 3
"""One being answered and two queued, so that no thread waits for the network."""
CONNECT_SECONDS = 10
FETCH_SECONDS = 10
"""Within which finished rows must arrive; else their points are answered again."""

_LOST = (OSError, TimeoutError, RuntimeError, CancelledError, asyncio.CancelledError)
"""What distributed raises, in its several layers, where a connection is lost."""

_here = threading.local()


class CodeMismatch(Exception):
    """A worker runs another version of chipmodel than the study."""


def answered(code: str, read: bytes, tasks: Sequence[PointTask]) -> list[Row]:
    """What a worker does: the rows of tasks of one workload, which is pickled in ``read``, or made here if
    that is empty. Raises CodeMismatch."""
    if code != code_version():
        raise CodeMismatch(code_version())
    for task in tasks:
        if plugin_identities(task.point, task.source, task.chip) != task.plugins:
            raise CodeMismatch(f"other plug-ins than {', '.join(task.plugins)}")
    cache: WorkerCache | None = getattr(_here, "cache", None)
    if cache is None:
        cache = _here.cache = WorkerCache(load_workload)
    cache.load = (lambda _: pickle.loads(read)) if read else load_workload
    return [answer(task, cache) for task in tasks]


class Cluster:
    """A ``WorkerGroup`` of the workers of the scheduler at ``address``; to be used in a ``with``.

    Raises BadInput where dask.distributed is missing or no scheduler answers, ChipmodelError where the
    scheduler stops, or a worker runs another version of chipmodel.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        if not os.environ.get("CHIPMODEL_TRACEBACK"):
            _silence_logs()
        self._client = _client(address)
        self._numbers = count()
        self._waiting: deque[PointTask] = deque()
        self._given: dict[Any, list[PointTask]] = {}
        """Futures, and what they answer."""
        self._done: SimpleQueue[Any] = SimpleQueue()
        self._rows: list[Row] = []
        self._read: dict[Source, bytes | Exception] = {}
        self._deaths: dict[str, int] = {}
        self._batch_size = BatchSize(BATCH_SECONDS, MOST_POINTS_PER_BATCH)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *raised: type[BaseException] | BaseException | TracebackType | None) -> None:
        with suppress(*_LOST):  # Nothing is left to cancel where the scheduler is gone.
            for future in self._given:
                future.cancel()
            self._client.close()

    @property
    def room(self) -> int:
        free = BATCHES_PER_THREAD * self._threads() - len(self._given)
        return max(0, free * self._batch_size.points - len(self._waiting))

    @property
    def busy(self) -> bool:
        return bool(self._given or self._waiting)

    def give(self, tasks: Sequence[PointTask]) -> None:
        self._waiting.extend(tasks)
        with self._lost_is_an_error():
            self._submit_waiting()

    def _submit_waiting(self) -> None:
        while self._waiting:
            batch = self._batch()
            read = self._pickled(batch[0].source)
            if isinstance(read, Exception):
                self._rows += [_without(task, read) for task in batch]
            else:
                self._submit(batch, read)

    def take(self, seconds: float) -> list[Row]:
        wait = seconds and not self._rows
        with self._lost_is_an_error(), suppress(Empty):
            self._finished(self._done.get(timeout=seconds) if wait else self._done.get_nowait())
            while True:
                self._finished(self._done.get_nowait())
        rows, self._rows = self._rows, []
        return rows

    def _threads(self) -> int:
        """The threads of all workers that are connected now."""
        with self._lost_is_an_error():
            return sum(self._client.nthreads().values())

    @contextmanager
    def _lost_is_an_error(self) -> Generator[None]:
        """Raise ChipmodelError for what distributed raises in the block because the scheduler is gone."""
        try:
            yield
        except _LOST:
            hint = "start it again, and run the study again: what was stored stays"
            raise ChipmodelError(f"the scheduler at {self.address} is gone", hint=hint) from None

    def _batch(self) -> list[PointTask]:
        """The next few points of one workload; alone, a point that searches or at which workers died."""
        first = self._waiting.popleft()
        batch = [first]
        if first.searches or first.key in self._deaths:
            return batch
        while self._waiting and len(batch) < self._batch_size.points:
            task = self._waiting[0]
            if task.source != first.source or task.searches or task.key in self._deaths:
                break
            batch.append(self._waiting.popleft())
        return batch

    def _submit(self, batch: list[PointTask], read: bytes) -> None:
        key = f"points-{next(self._numbers)}-{batch[0].key}"
        future = self._client.submit(answered, code_version(), read, batch, key=key, pure=False)
        self._given[future] = batch
        future.add_done_callback(self._done.put)

    def _pickled(self, source: Source) -> bytes | Exception:
        """What workers are sent of a workload: nothing if they can build it, else all of it; or the error
        of loading it."""
        if not source.file:
            return b""
        if source not in self._read:
            try:
                self._read[source] = pickle.dumps(load_workload(source))
            except Exception as error:
                self._read[source] = error
        return self._read[source]

    def _finished(self, future: Any) -> None:
        batch = self._given.pop(future)
        if future.status == "finished" and self._fetched(future):
            return
        error = future.exception() if future.status == "error" else None
        if isinstance(error, CodeMismatch):
            hint = "install the same chipmodel on all machines"
            raise ChipmodelError(f"a worker of {self.address} has another chipmodel, {error}", hint=hint)
        if error is not None and type(error).__name__ != "KilledWorker":
            what = f"a worker of {self.address} failed: {type(error).__name__}: {error}"
            raise ChipmodelError(what, hint="look at the worker's own log; what was stored stays") from error
        self._resubmit(batch, killed=error is not None)

    def _fetched(self, future: Any) -> bool:
        """Take the rows from the worker that has them; False if the worker is gone."""
        try:
            rows: list[Row] = future.result(timeout=FETCH_SECONDS)
        except (TimeoutError, CancelledError):
            return False
        for row in rows:
            self._batch_size.saw(row)
        self._rows += rows
        return True

    def _resubmit(self, batch: list[PointTask], killed: bool) -> None:
        """Submit a lost batch again; each point alone where one of them may have killed the worker."""
        for task in batch:
            if killed and len(batch) == 1:
                self._deaths[task.key] = MOST_DEATHS
                self._rows.append(failed(task, death_error(task, "was ended")))
                continue
            if killed:
                self._deaths[task.key] = 1
            self._waiting.append(task)
        self.give(())


def _without(task: PointTask, error: Exception) -> Row:
    """The row of a point whose workload cannot be loaded, as a local worker would answer it."""

    def load(source: Source) -> Workload:
        raise error

    return answer(task, WorkerCache(load))


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
