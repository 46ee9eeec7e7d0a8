"""The loop that answers a study: claim points, have them answered, store the rows as they come."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from threading import current_thread, main_thread
from time import monotonic
from types import FrameType

from chipmodel.model.study_row import Row
from chipmodel.study.crew import Crew
from chipmodel.study.store import Store
from chipmodel.study.task import Task

TICK_SECONDS = 0.2
BEAT_SECONDS = 10.0
LOOK_SECONDS = 0.5
"""How often to look whether others have left something, once nothing is free."""

Watch = Callable[[Sequence[Row]], None]
"""Told of rows that have just been stored; and, with none, every tick."""


class Stop:
    """Whether the user has asked to stop."""

    asked = False


def work(store: Store, tasks: Mapping[str, Task], crew: Crew, watch: Watch, stop: Stop) -> None:
    """Answer every point of ``tasks`` that has no row, until all have one or ``stop`` is asked. Points that
    another process has claimed are waited for, and taken over if that process is no more."""
    look = beat = monotonic()
    while not stop.asked:
        now = monotonic()
        room = crew.room
        if room and now >= look:
            keys = store.claim(room)
            crew.give([tasks[key] for key in keys])
            look = now + LOOK_SECONDS if len(keys) < room else now
            if not keys and not crew.busy and not store.open_points():
                return
        _store(store, crew, watch, TICK_SECONDS)
        if now >= beat:
            store.beat()
            beat = now + BEAT_SECONDS
    _store(store, crew, watch, 0)


def _store(store: Store, crew: Crew, watch: Watch, seconds: float) -> None:
    rows = crew.take(seconds)
    if rows:
        store.save(rows)
    watch(rows)


@contextmanager
def stopping() -> Generator[Stop]:
    """Ctrl-C and SIGTERM ask to stop, so that what is finished is stored; a second one ends at once."""
    stop = Stop()
    if current_thread() is not main_thread():
        yield stop
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, frame: FrameType | None) -> None:
        stop.asked = True
        restore()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    for number in before:
        signal.signal(number, ask)
    try:
        yield stop
    finally:
        restore()
