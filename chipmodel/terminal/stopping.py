"""Ctrl-C as a wish to end with what there is."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType


class StopRequest:
    """Whether the user has asked to stop."""

    asked = False


@contextmanager
def stopping() -> Generator[StopRequest]:
    """Let Ctrl-C and SIGTERM ask to stop, so that what is found is not lost; a second one ends at once."""
    stop = StopRequest()
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
