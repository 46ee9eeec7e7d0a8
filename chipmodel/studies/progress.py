"""Progress of a running study: counts and rate, to whoever observes, or in a line now and then."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

from chipmodel.answers.study_row import Row
from chipmodel.studies.store import StudyCounts
from chipmodel.terminal.printing import remark
from chipmodel.terminal.progress import Say
from chipmodel.terminal.streams import stderr_is_a_terminal

LOG_SECONDS = 15.0
"""Between two lines where stderr is no terminal."""


class StudyStatus:
    """Progress of a study."""

    def __init__(self, counts: StudyCounts, say: Say) -> None:
        self.points, self.failed = counts.points, counts.failed
        self.before = self.done = counts.stored
        self.began = self.logged = monotonic()
        self.say = say

    def __call__(self, rows: Sequence[Row]) -> None:
        """To be called with rows as they are stored, and now and then with none."""
        self.done += len(rows)
        self.failed += sum(row.status == "failed" for row in rows)
        if rows:
            self.say(self.words())
        if not stderr_is_a_terminal() and monotonic() - self.logged > LOG_SECONDS:
            self.logged = monotonic()
            remark(self.words())

    def words(self) -> str:
        """``120/1,000 points  84/s  2 failed``."""
        rate = (self.done - self.before) / max(monotonic() - self.began, 1e-3)
        failed = f"  {self.failed:,} failed" if self.failed else ""
        return f"{self.done:,}/{self.points:,} points  {rate:.3g}/s{failed}"
