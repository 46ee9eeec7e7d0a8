"""What long work says of itself: to a spinner of the command line, to a caller's function, or to nobody.

Work is cut into stages. Each names itself to the observer of the thread that it runs in, by default to
nobody: a library is silent. ``chipmodel.cli`` observes with ``spinner``, ``chipmodel.api`` with a caller's
function.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from threading import Timer
from typing import TYPE_CHECKING, TypeAlias

from chipmodel.terminal.printing import console
from chipmodel.terminal.streams import stderr_is_a_terminal

if TYPE_CHECKING:
    from rich.status import Status
    from rich.text import Text

Say: TypeAlias = Callable[[object], None]
"""Says how far a stage is."""
Observer: TypeAlias = Callable[[str], AbstractContextManager[Say]]
"""Follows one stage of that name."""

DELAY_SECONDS = 1.0
"""Assumed: shorter work needs no message."""

STOP = "chipmodel.stop"
"""The key of a command's ``StopRequest`` in what its context knows."""
HINTS: list[Callable[[], str]] = []
"""What a spinner says after everything else, while that is not empty."""


@contextmanager
def silence(text: str) -> Generator[Say]:
    """Say nothing of the stage called ``text``."""
    yield lambda _: None


def calling(progress: Callable[[str], None]) -> Observer:
    """Call ``progress`` with the name of each stage as it begins, and each time it says how far it is."""

    @contextmanager
    def observer(text: str) -> Generator[Say]:
        progress(text)
        yield lambda more: progress(f"{text}: {more}")

    return observer


_OBSERVER: ContextVar[Observer] = ContextVar("observer", default=silence)


@contextmanager
def observed_by(observer: Observer) -> Generator[None]:
    """Let ``observer`` follow all stages of the body that run in this thread."""
    token = _OBSERVER.set(observer)
    try:
        yield
    finally:
        _OBSERVER.reset(token)


def stage(text: str) -> AbstractContextManager[Say]:
    """Name the body ``text`` to whoever observes; the body receives a function that says how far it is."""
    return _OBSERVER.get()(text)


@contextmanager
def spinner(text: str) -> Generator[Say]:
    """Show ``text`` on stderr once the body has run for ``DELAY_SECONDS``, on a terminal only."""
    if not stderr_is_a_terminal():
        yield lambda _: None
        return
    shown: list[Status] = []
    detail = [""]

    def line() -> Text:
        from rich.text import Text

        said = f"{text}: {detail[0]}" if detail[0] else text
        return Text("; ".join(filter(None, (said, *(hint() for hint in HINTS)))))

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
