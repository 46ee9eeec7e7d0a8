"""What is going on, on stderr, for work that takes over a second on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status
    from rich.text import Text

DELAY_SECONDS = 1.0


@contextmanager
def stage(text: str) -> Generator[Callable[[object], None]]:
    """Show ``text`` with a spinner once the body has run for a second; nothing off a terminal. The body is
    given a function that says how far it is."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    shown: list[Status] = []
    said = [""]

    def words() -> Text:
        from rich.text import Text

        return Text(f"{text}: {said[0]}" if said[0] else text)

    def show() -> None:
        from rich.console import Console

        status = Console(stderr=True).status(words())
        shown.append(status)
        status.start()

    def say(more: object) -> None:
        said[0] = str(more)
        for status in shown:
            status.update(words())

    timer = Timer(DELAY_SECONDS, show)
    timer.daemon = True
    timer.start()
    try:
        yield say
    finally:
        timer.cancel()
        timer.join()
        for status in shown:
            status.stop()
