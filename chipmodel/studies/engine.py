"""The loop that answers a study: claim points, submit them to workers, store the rows as they arrive."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic

from chipmodel.answers.study_row import Row
from chipmodel.studies.store import StudyStore
from chipmodel.studies.task import PointTask
from chipmodel.studies.worker_group import WorkerGroup

TICK_SECONDS = 0.2
"""How long one turn of the loop waits for rows."""
HEARTBEAT_SECONDS = 10.0
"""Between two entries in the store that this process is alive; well below ``LEASE_SECONDS``."""
RECHECK_SECONDS = 0.5
"""Between two looks for points that other processes gave up, while none is free."""

Watch = Callable[[Sequence[Row]], None]
"""Called with the rows just stored, and with none on every other turn of the loop."""


def work(
    store: StudyStore,
    tasks: Mapping[str, PointTask],
    workers: WorkerGroup,
    watch: Watch,
    stop: Callable[[], bool] | None = None,
) -> bool:
    """Answer every point of ``tasks`` that has no row, until all have one or ``stop`` says yes; whether it
    did. Points claimed by another process are waited for, and taken over if that process dies."""
    look = beat = monotonic()
    while not (stop and stop()):
        now = monotonic()
        room = workers.room
        if room and now >= look:
            keys = store.claim(room)
            workers.give([tasks[key] for key in keys])
            look = now + RECHECK_SECONDS if len(keys) < room else now
            if not keys and not workers.busy and not store.open_points():
                return False
        _store(store, workers, watch, TICK_SECONDS)
        if now >= beat:
            store.beat()
            beat = now + HEARTBEAT_SECONDS
    _store(store, workers, watch, 0)
    return True


def _store(store: StudyStore, workers: WorkerGroup, watch: Watch, seconds: float) -> None:
    rows = workers.take(seconds)
    if rows:
        store.save(rows)
    watch(rows)
