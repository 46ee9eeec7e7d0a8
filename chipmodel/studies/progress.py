"""Progress of a running study: counts, rate and time left, to whoever observes, or in a line now and then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from time import monotonic

from chipmodel.answers.study_row import Point, Row
from chipmodel.studies.store import StudyCounts
from chipmodel.terminal.printing import remark
from chipmodel.terminal.progress import Say
from chipmodel.terminal.streams import stderr_is_a_terminal

LOG_SECONDS = 15.0
"""Between two lines where stderr is no terminal."""
Similar = tuple[str, str, str]
"""The planners that decide how long a point takes."""


def _similar(point: Point) -> Similar:
    return point.packer, point.merge, point.streamer


class StudyStatus:
    """Progress of a study. Rows stored before this run count in what similar points take, not in the rate."""

    def __init__(self, counts: StudyCounts, points: Iterable[Point], before: Iterable[Row], say: Say) -> None:
        self.points, self.failed = counts.points, counts.failed
        self.before = self.done = counts.stored
        self.began = self.logged = monotonic()
        self._worked = 0.0
        self.say = say
        self._open = Counter(map(_similar, points))
        self._taken: dict[Similar, tuple[float, int]] = {}
        self._take(before)

    def __call__(self, rows: Sequence[Row]) -> None:
        """To be called with rows as they are stored, and now and then with none."""
        self.done += len(rows)
        self.failed += sum(row.status == "failed" for row in rows)
        self._worked += self._take(rows)
        if rows:
            self.say(self.words())
        if not stderr_is_a_terminal() and monotonic() - self.logged > LOG_SECONDS:
            self.logged = monotonic()
            remark(self.words())

    @property
    def seconds_left(self) -> float:
        """The work of the open points, as similar ones took, by this run's work a second; 0 if not known."""
        if not self._worked:
            return 0.0
        seconds, number = map(sum, zip(*self._taken.values(), strict=True))
        taken = {similar: took / of for similar, (took, of) in self._taken.items()}
        work = sum(count * taken.get(similar, seconds / number) for similar, count in self._open.items())
        return work * (monotonic() - self.began) / self._worked

    def _take(self, rows: Iterable[Row]) -> float:
        """Count ``rows`` among the points that took so long, and return the seconds of all."""
        total = 0.0
        for row in rows:
            similar, total = _similar(row.point), total + row.seconds
            seconds, number = self._taken.get(similar, (0.0, 0))
            self._taken[similar] = seconds + row.seconds, number + 1
            self._open[similar] = max(0, self._open[similar] - 1)
        return total

    def words(self) -> str:
        """``120/1,000 points  84/s  0:00:10 left``."""
        rate = (self.done - self.before) / max(monotonic() - self.began, 1e-3)
        parts = [f"{self.done:,}/{self.points:,} points", f"{rate:.3g}/s"]
        if self.done < self.points and self.seconds_left:
            seconds = round(self.seconds_left)
            parts.append(f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02} left")
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        return "  ".join(parts)
