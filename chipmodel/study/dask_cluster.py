"""Points on a cluster: a dask.distributed scheduler hands them out, and does again what a dead worker had.

Workers need chipmodel as it is here, and none of the study's files: what was read from a file is sent with
each batch of points. So no batch needs anything of another worker, which might be gone.
"""

from __future__ import annotations

import pickle
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from itertools import count
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any

from chipmodel.errors import BadInput, ChipmodelError
from chipmodel.model.study_row import Row
from chipmodel.study.answer import WorkerCache, Workload, answer, failed
from chipmodel.study.code_version import code_version
from chipmodel.study.crew import DEATHS, Pace, gave_up
from chipmodel.study.task import Task
from chipmodel.study.workload import Source, load_workload

BATCH_SECONDS = 0.5
MOST_TOGETHER = 64
BATCHES = 3
"""For each thread of the cluster: one at hand and others on the way."""
CONNECT_SECONDS = 10
FETCH_SECONDS = 10
"""Within which rows that are there must come; else their points are answered again."""

_here = threading.local()


class OtherCode(Exception):
    """A worker's chipmodel is not the one that asks."""


def answered(code: str, read: bytes, tasks: Sequence[Task]) -> list[Row]:
    """What a worker does: the rows of tasks of one workload, which is pickled in ``read``, or made here if
    that is empty. Raises OtherCode."""
    if code != code_version():
        raise OtherCode(code_version())
    cache: WorkerCache | None = getattr(_here, "cache", None)
    if cache is None:
        cache = _here.cache = WorkerCache(load_workload)
    cache.load = (lambda _: pickle.loads(read)) if read else load_workload
    return [answer(task, cache) for task in tasks]


class Cluster:
    """A ``study_crew.Crew`` of the workers of the scheduler at ``address``; to be used in a ``with``.

    Raises BadInput where dask.distributed is missing or nobody answers, ChipmodelError where the scheduler
    goes, or a worker has another chipmodel.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._client = _client(address)
        self._numbers = count()
        self._waiting: deque[Task] = deque()
        self._given: dict[Any, list[Task]] = {}
        """Futures, and what they answer."""
        self._done: SimpleQueue[Any] = SimpleQueue()
        self._rows: list[Row] = []
        self._read: dict[Source, bytes | Exception] = {}
        self._deaths: dict[str, int] = {}
        self._pace = Pace(BATCH_SECONDS, MOST_TOGETHER)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *raised: type[BaseException] | BaseException | TracebackType | None) -> None:
        for future in self._given:
            future.cancel()
        self._client.close()

    @property
    def room(self) -> int:
        free = BATCHES * self._threads() - len(self._given)
        return max(0, free * self._pace.points - len(self._waiting))

    @property
    def busy(self) -> bool:
        return bool(self._given or self._waiting)

    def give(self, tasks: Sequence[Task]) -> None:
        self._waiting.extend(tasks)
        while self._waiting:
            batch = self._batch()
            read = self._pickled(batch[0].source)
            if isinstance(read, Exception):
                self._rows += [_without(task, read) for task in batch]
            else:
                self._submit(batch, read)

    def take(self, seconds: float) -> list[Row]:
        wait = seconds and not self._rows
        with suppress(Empty):
            self._heard(self._done.get(timeout=seconds) if wait else self._done.get_nowait())
            while True:
                self._heard(self._done.get_nowait())
        rows, self._rows = self._rows, []
        return rows

    def _threads(self) -> int:
        """Of all workers that there are now."""
        try:
            return sum(self._client.nthreads().values())
        except (OSError, TimeoutError, RuntimeError):
            hint = "start it again, and run the study again: what was stored stays"
            raise ChipmodelError(f"the scheduler at {self.address} is gone", hint=hint) from None

    def _batch(self) -> list[Task]:
        """The next few of one workload; a search, and a point at which workers died, alone."""
        first = self._waiting.popleft()
        batch = [first]
        if first.searches or first.key in self._deaths:
            return batch
        while self._waiting and len(batch) < self._pace.points:
            task = self._waiting[0]
            if task.source != first.source or task.searches or task.key in self._deaths:
                break
            batch.append(self._waiting.popleft())
        return batch

    def _submit(self, batch: list[Task], read: bytes) -> None:
        key = f"points-{next(self._numbers)}-{batch[0].key}"
        future = self._client.submit(answered, code_version(), read, batch, key=key, pure=False)
        self._given[future] = batch
        future.add_done_callback(self._done.put)

    def _pickled(self, source: Source) -> bytes | Exception:
        """What workers are sent of a workload: nothing of one that they can make, else the whole; or why it
        cannot be loaded."""
        if not source.file:
            return b""
        if source not in self._read:
            try:
                self._read[source] = pickle.dumps(load_workload(source))
            except Exception as error:
                self._read[source] = error
        return self._read[source]

    def _heard(self, future: Any) -> None:
        batch = self._given.pop(future)
        if future.status == "finished" and self._fetched(future):
            return
        error = future.exception() if future.status == "error" else None
        if isinstance(error, OtherCode):
            hint = "install the same chipmodel on all machines"
            raise ChipmodelError(f"a worker of {self.address} has another chipmodel, {error}", hint=hint)
        if error is not None and type(error).__name__ != "KilledWorker":
            raise error
        self._again(batch, killed=error is not None)

    def _fetched(self, future: Any) -> bool:
        """Take the rows from the worker that has them; False if it is gone with them."""
        try:
            rows: list[Row] = future.result(timeout=FETCH_SECONDS)
        except (TimeoutError, CancelledError):
            return False
        for row in rows:
            self._pace.saw(row)
        self._rows += rows
        return True

    def _again(self, batch: list[Task], killed: bool) -> None:
        """What a worker took with it, each point alone where it may have been the point's doing."""
        for task in batch:
            if killed and len(batch) == 1:
                self._deaths[task.key] = DEATHS
                self._rows.append(failed(task, gave_up(task, "was ended")))
                continue
            if killed:
                self._deaths[task.key] = 1
            self._waiting.append(task)
        self.give(())


def _without(task: Task, error: Exception) -> Row:
    """The row of a point whose workload cannot be loaded: what a local worker would say."""

    def load(source: Source) -> Workload:
        raise error

    return answer(task, WorkerCache(load))


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
