"""One status line on stderr for a solver: elapsed time, best plan, lower bound, and the gap between them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

from chipmodel.terminal.printing import console
from chipmodel.terminal.streams import stderr_is_a_terminal

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

    def update(self, peak: int | None, lower_bound: int, stage: str) -> None:
        """Set the best peak and the lower bound, in bytes, and what the solver is doing."""
        self.peak = peak
        self.lower_bound = lower_bound
        self.stage = stage

    def line(self) -> str:
        """``12.3 s  best 1,050,624 B  bound 1,048,576 B  gap 0.2%  searching``."""
        parts = [f"{perf_counter() - self.began:.1f} s"]
        parts.append("no plan yet" if self.peak is None else f"best {self.peak:,} B")
        if self.lower_bound:
            parts.append(f"bound {self.lower_bound:,} B")
            if self.peak is not None:
                parts.append(f"gap {(self.peak - self.lower_bound) / self.lower_bound:.2%}")
        return "  ".join([*parts, self.stage] if self.stage else parts)

    def __rich__(self) -> Text:
        from rich.text import Text

        return Text(self.line(), no_wrap=True, overflow="ellipsis")


@contextmanager
def solver_status() -> Generator[SolverStatus]:
    """A status that is shown after ``DELAY_SECONDS``, where stderr is a terminal, and removed at the end."""
    line = SolverStatus()
    if not stderr_is_a_terminal():
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
