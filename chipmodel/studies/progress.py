"""Progress of a running study: on a terminal a live line, elsewhere a line every few seconds."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from chipmodel.answers.study_row import Point, Row
from chipmodel.terminal.printing import console, remark
from chipmodel.terminal.streams import stderr_is_a_terminal

if TYPE_CHECKING:
    from rich.text import Text

WINDOW_SECONDS = 20.0
"""Seconds over which the rate is averaged."""
LOG_SECONDS = 15.0
"""Between two lines where stderr is no terminal."""
Similar = tuple[str, str, str]
"""The planners that decide how long a point takes."""


def _similar(point: Point) -> Similar:
    return point.packer, point.merge, point.streamer


class StudyStatus:
    """Progress of a study: counts, rate, and the time left by what similar points took. Rows stored before
    this run count in the times, not in the rate."""

    def __init__(self, points: Sequence[Point], before: Iterable[Row]) -> None:
        self.points = len(points)
        self.done = self.failed = 0
        self.began = monotonic()
        self._open = Counter(map(_similar, points))
        self._taken: dict[Similar, tuple[float, int]] = {}
        self._worked = 0.0
        self._recent: deque[tuple[float, int]] = deque()
        for row in before:
            self._count(row)
        self._worked = 0.0
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

    @property
    def seconds_left(self) -> float:
        """Work of the open points, as similar ones took, by this run's work a second; 0 where not known."""
        seconds, number = (
            (sum(column) for column in zip(*self._taken.values(), strict=True)) if self._taken else (0, 0)
        )
        if not number or not self._worked:
            return 0.0
        work = 0.0
        for similar, open_points in self._open.items():
            took, of = self._taken.get(similar, (seconds, number))
            work += open_points * took / of
        return work * (monotonic() - self.began) / self._worked

    def words(self) -> str:
        """``120/1,000 points  84/s  0:00:10 left``."""
        parts = [f"{self.done:,}/{self.points:,} points", f"{self.rate:.3g}/s"]
        if self.done < self.points and self.seconds_left:
            seconds = round(self.seconds_left)
            parts.append(f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02} left")
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        return "  ".join(parts)

    def __rich__(self) -> Text:
        from rich.text import Text

        return Text(self.words(), no_wrap=True, overflow="ellipsis")

    def _count(self, row: Row) -> None:
        self.done += 1
        self.failed += row.status == "failed"
        similar = _similar(row.point)
        seconds, number = self._taken.get(similar, (0.0, 0))
        self._taken[similar] = seconds + row.seconds, number + 1
        self._open[similar] = max(0, self._open[similar] - 1)
        self._worked += row.seconds


@contextmanager
def show_progress(points: Sequence[Point], before: Iterable[Row]) -> Generator[StudyStatus]:
    """A ``StudyStatus``, shown on stderr where that is a terminal."""
    status = StudyStatus(points, before)
    if not stderr_is_a_terminal():
        yield status
        return
    from rich.live import Live

    with Live(status, console=console(stderr=True), refresh_per_second=4, transient=True):
        yield status
