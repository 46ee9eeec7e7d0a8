"""Ctrl-C as a wish to end with what there is."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

from chipmodel.terminal.ending import SIGNALS, exit_code
from chipmodel.terminal.progress import HINTS

ENDING = "Ctrl-C ends with the best found so far"
"""What is said of long work while Ctrl-C does that."""


class StopRequest:
    """Whether the user has asked to stop, and by which signal."""

    asked = False
    number = 0

    @property
    def exit_code(self) -> int:
        """The exit code of a command that was asked to stop; 0 where it was not."""
        return exit_code(self.number) if self.asked else 0


@contextmanager
def stopping(to_best: bool = True) -> Generator[StopRequest]:
    """Let Ctrl-C and SIGTERM ask to stop, so that what is found is not lost; a second one ends at once. With
    ``to_best`` the body ends with the best found so far."""
    stop = StopRequest()
    if current_thread() is not main_thread():
        yield stop
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def ask(number: int, frame: FrameType | None) -> None:
        stop.asked, stop.number = True, number
        restore()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    for number in before:
        signal.signal(number, ask)

    def hint() -> str:
        return ENDING if to_best and not stop.asked else ""

    HINTS.append(hint)
    try:
        yield stop
    finally:
        restore()
        HINTS.remove(hint)
