"""A spinner on stderr for work that takes more than a second."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING

from chipmodel.terminal.printing import console
from chipmodel.terminal.streams import stderr_is_a_terminal

if TYPE_CHECKING:
    from rich.status import Status
    from rich.text import Text

DELAY_SECONDS = 1.0
"""Assumed: shorter work needs no message."""


@contextmanager
def stage(text: str) -> Generator[Callable[[object], None]]:
    """Show ``text`` with a spinner once the body has run for ``DELAY_SECONDS``, on a terminal only.

    The body receives a function that shows how far the work is.
    """
    if not stderr_is_a_terminal():
        yield lambda _: None
        return
    shown: list[Status] = []
    detail = [""]

    def line() -> Text:
        from rich.text import Text

        return Text(f"{text}: {detail[0]}" if detail[0] else text)

    def show() -> None:
        status = console(stderr=True).status(line())
        shown.append(status)
        status.start()

    def report(more: object) -> None:
        detail[0] = str(more)
        for status in shown:
            status.update(line())

    timer = Timer(DELAY_SECONDS, show)
    timer.daemon = True
    timer.start()
    try:
        yield report
    finally:
        timer.cancel()
        timer.join()
        for status in shown:
            status.stop()
