"""Progress of a running study: on a terminal a live line, elsewhere a line every few seconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

from chipmodel.answers.study_row import Row
from chipmodel.terminal.printing import console, remark
from chipmodel.terminal.streams import stderr_is_a_terminal

if TYPE_CHECKING:
    from rich.text import Text

WINDOW_SECONDS = 20.0
"""Seconds over which the rate is averaged."""
LOG_SECONDS = 15.0
"""Between two lines where stderr is no terminal."""
SHOWN_PLANNERS = 3
"""Planners named with their mean gaps, the best first."""


@dataclass
class Gaps:
    """Mean gaps by planner, of all rows so far."""

    sums: dict[str, tuple[float, int]] = field(default_factory=dict[str, tuple[float, int]])

    def add(self, name: str, gap: float | None) -> None:
        """Count one row's gap; None is skipped."""
        if gap is not None:
            total, number = self.sums.get(name, (0.0, 0))
            self.sums[name] = total + gap, number + 1

    def best(self) -> list[tuple[str, float]]:
        """Planners and their mean gaps, the smallest first."""
        means = [(name, total / number) for name, (total, number) in self.sums.items()]
        return sorted(means, key=lambda each: (each[1], each[0]))

    def words(self) -> str:
        """``exact 0.0%, large-first 3.1%``."""
        return ", ".join(f"{name} {gap:.1%}" for name, gap in self.best()[:SHOWN_PLANNERS])


class StudyStatus:
    """Progress of a study: counts, gaps and rate. Rows stored before this run count in the gaps, not in the
    rate."""

    def __init__(self, points: int, before: Iterable[Row]) -> None:
        self.points = points
        self.done = self.failed = 0
        self.peaks, self.cycles = Gaps(), Gaps()
        self.began = monotonic()
        self._recent: deque[tuple[float, int]] = deque()
        for row in before:
            self._count(row)
        self._logged = self.began

    def __call__(self, rows: Sequence[Row]) -> None:
        """To be called with rows as they are stored, and now and then with none."""
        for row in rows:
            self._count(row)
        now = monotonic()
        if rows:
            self._recent.append((now, len(rows)))
        while self._recent and self._recent[0][0] < now - WINDOW_SECONDS:
            self._recent.popleft()
        if not stderr_is_a_terminal() and now - self._logged > LOG_SECONDS:
            self._logged = now
            remark(self.words())

    @property
    def rate(self) -> float:
        """Points a second, over the last ``WINDOW_SECONDS``."""
        span = min(WINDOW_SECONDS, monotonic() - self.began)
        return sum(number for _, number in self._recent) / max(span, 1e-3)

    def words(self) -> str:
        """``120/1,000 points  84/s  0:10 left  peak gap: exact 0.0%  cycle gap: ping-pong 4.1%``."""
        parts = [f"{self.done:,}/{self.points:,} points", f"{self.rate:.3g}/s"]
        if self.rate and self.done < self.points:
            seconds = round((self.points - self.done) / self.rate)
            parts.append(f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02} left")
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        if self.peaks.sums:
            parts.append(f"peak gap: {self.peaks.words()}")
        if self.cycles.sums:
            parts.append(f"cycle gap: {self.cycles.words()}")
        return "  ".join(parts)

    def __rich__(self) -> Text:
        from rich.text import Text

        return Text(self.words(), no_wrap=True, overflow="ellipsis")

    def _count(self, row: Row) -> None:
        self.done += 1
        self.failed += row.status == "failed"
        self.peaks.add(row.point.packer, row.peak_gap)
        self.cycles.add(row.point.streamer, row.cycle_gap)


@contextmanager
def show_progress(points: int, before: Iterable[Row]) -> Generator[StudyStatus]:
    """A ``StudyStatus``, shown on stderr where that is a terminal."""
    status = StudyStatus(points, before)
    if not stderr_is_a_terminal():
        yield status
        return
    from rich.live import Live

    with Live(status, console=console(stderr=True), refresh_per_second=4, transient=True):
        yield status
