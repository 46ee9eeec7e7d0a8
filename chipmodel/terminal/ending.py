"""The end of a command's process, whatever it is doing: at Ctrl-C, at SIGTERM, or when its time is over.

A signal that nobody waits for (``stopping``) ends the process where it is. One that asks for the best found
so far, or that comes while code outside of Python runs, does so a little later, from a thread of its own.
"""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from threading import Thread, Timer
from time import perf_counter, sleep
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
PATIENCE_SECONDS = 0.7
"""Between the wish to end, or the end of a time limit, and the end: what the last answer may take."""
LAST_STREAM = 2
"""The number of stderr."""
SHOW_CURSOR = b"\x1b[?25h"
"""A spinner hides it."""


class _Command:
    """What this process has been told, if a command is all that it is."""

    began: float | None = None
    timer: Timer | None = None


def end_at_signals() -> None:
    """Let Ctrl-C and SIGTERM end this process, a command that begins, with one line, no traceback. A signal
    that the parent process ignores stays ignored."""
    _Command.began = perf_counter()
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end_now)
    if os.name == "posix":  # Elsewhere only sockets wake a thread up.
        reading, writing = map(_beyond_streams, os.pipe())
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        Thread(target=_end_later, args=(reading,), daemon=True).start()


def _beyond_streams(end: int) -> int:
    """Move an end of a pipe to where no closed stream of the command's would be taken for it."""
    if end > LAST_STREAM:
        return end
    moved = _beyond_streams(os.dup(end))
    os.close(end)
    return moved


def seconds_since_start() -> float:
    """Return how long this command has run; 0 where the process is no command."""
    return 0.0 if _Command.began is None else perf_counter() - _Command.began


def end_after(seconds: float, words: str, code: int) -> None:
    """End this command with ``words`` once it has run for so many seconds and ``PATIENCE_SECONDS``, unless an
    answer is there. Nothing happens where the process is no command."""
    if _Command.began is not None:
        left = max(0.0, seconds + PATIENCE_SECONDS - seconds_since_start())
        _Command.timer = Timer(left, end, (words, code))
        _Command.timer.daemon = True
        _Command.timer.start()


def answer_is_there() -> None:
    """Take back ``end_after``: who reads the answer may take any time."""
    if _Command.timer is not None:
        _Command.timer.cancel()


def end(words: str, code: int) -> None:
    """End this process at once, with ``words`` on stderr if that takes them."""
    with suppress(OSError):
        if select.select([], [2], [], 0)[1]:
            os.write(2, SHOW_CURSOR * os.isatty(2) + f"{words}\n".encode())
    os._exit(code)


def end_interrupted(number: int) -> None:
    """End this process at once by signal ``number``, with the exit code that shells give it."""
    end("interrupted", exit_code(number))


def exit_code(number: int) -> int:
    """Return what a shell gives as exit code of a process that signal ``number`` ended."""
    return 128 + number


def _end_now(number: int, frame: FrameType | None) -> None:
    end_interrupted(number)


def _end_later(reading: int) -> None:
    number = 0
    while number not in SIGNALS:
        number = os.read(reading, 1)[0]
    sleep(PATIENCE_SECONDS)
    end_interrupted(number)
