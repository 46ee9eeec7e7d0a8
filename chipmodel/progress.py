"""What is going on, on stderr, for work that takes over a second on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status

DELAY_SECONDS = 1.0


@contextmanager
def stage(text: str) -> Generator[None]:
    """Show ``text`` with a spinner once the body has run for a second; nothing off a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    shown: list[Status] = []

    def show() -> None:
        from rich.console import Console
        from rich.text import Text

        status = Console(stderr=True).status(Text(text))
        shown.append(status)
        status.start()

    timer = Timer(DELAY_SECONDS, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        for status in shown:
            status.stop()
