"""The progress of a solver: elapsed time, best plan, lower bound, and the gap between them.

On a terminal it is one line on stderr; else it is said as of a stage (``chipmodel.terminal.progress``)."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

from chipmodel.terminal.printing import console
from chipmodel.terminal.progress import Say, shows_spinner, stage

if TYPE_CHECKING:
    from rich.text import Text

DELAY_SECONDS = 0.5
"""Assumed: a shorter search needs no status."""
REFRESHES_PER_SECOND = 8


@dataclass
class SolverStatus:
    """A solver's progress. A thread of its own draws it while ``solver_status`` is open."""

    peak: int | None = None
    lower_bound: int = 0
    stage: str = ""
    began: float = field(default_factory=perf_counter)
    say: Say | None = None
    """Who is told of every change."""

    def update(self, peak: int | None, lower_bound: int, stage: str) -> None:
        """Set the best peak and the lower bound, in bytes, and what the solver is doing."""
        self.peak = peak
        self.lower_bound = lower_bound
        self.stage = stage
        if self.say:
            self.say("  ".join(self._parts()))

    def line(self) -> str:
        """``12.3 s  best 1,050,624 B  bound 1,048,576 B  gap 0.2%  searching``."""
        return "  ".join([f"{perf_counter() - self.began:.1f} s", *self._parts()])

    def _parts(self) -> list[str]:
        parts = ["no plan yet" if self.peak is None else f"best {self.peak:,} B"]
        if self.lower_bound:
            parts.append(f"bound {self.lower_bound:,} B")
            if self.peak is not None:
                parts.append(f"gap {(self.peak - self.lower_bound) / self.lower_bound:.2%}")
        return [*parts, self.stage] if self.stage else parts

    def __rich__(self) -> Text:
        from rich.text import Text

        return Text(self.line(), no_wrap=True, overflow="ellipsis")


@contextmanager
def solver_status() -> Generator[SolverStatus]:
    """A status that is shown after ``DELAY_SECONDS``, where stages have a spinner, and removed at the end."""
    line = SolverStatus()
    if not shows_spinner():
        with stage("packing") as say:
            line.say = say
            yield line
        return
    from threading import Timer

    stop: list[Callable[[], None]] = []

    def show() -> None:
        from rich.live import Live

        live = Live(
            line, console=console(stderr=True), refresh_per_second=REFRESHES_PER_SECOND, transient=True
        )
        stop.append(live.stop)
        live.start()

    timer = Timer(DELAY_SECONDS, show)
    timer.daemon = True
    timer.start()
    try:
        yield line
    finally:
        timer.cancel()
        timer.join()
        for end in stop:
            end()
