"""The best peak and bound so far, and the reports of their changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from threading import Lock
from time import perf_counter

from chipmodel.model.plan import PackingProgress
from solvers.core.outcome import Limits, Report


class Incumbent:
    """The best known peak and bound; every change is recorded and reported. Safe for two threads."""

    def __init__(self, report: Report | None) -> None:
        self.began = perf_counter()
        self.points: list[PackingProgress] = []
        self._report = report
        self._lock = Lock()
        self._now = PackingProgress(0.0, None, 0, "bounds")

    @property
    def bound(self) -> int:
        return self._now.lower_bound

    def left(self, limits: Limits) -> float | None:
        return limits.left(self.began)

    def stage(self, words: str) -> None:
        self._write(self._now.peak, 0, words)

    def raise_bound(self, bound: int) -> None:
        self._write(None, bound, None)

    def found(self, peak: int) -> None:
        self._write(peak, 0, None)

    def part_report(self, own: int | None, others: Sequence[int | None], fits: bool) -> Report:
        """A report for the solver of one component: the whole's peak is the largest of all components'.

        ``own`` is the component's peak so far, ``others`` are the peaks of the other components; ``fits``:
        only a fit is searched, so bounds say nothing of the whole.
        """
        known = [peak for peak in others if peak is not None]
        complete = len(known) == len(others)

        def report(progress: PackingProgress) -> None:
            peak = progress.peak if own is None or (progress.peak or own) <= own else own
            best = max([*known, peak]) if complete and peak is not None else None
            self._write(best, 0 if fits else progress.lower_bound, progress.stage)

        return report

    def _write(self, peak: int | None, bound: int, stage: str | None) -> None:
        with self._lock:
            now = self._now
            if peak is None or (now.peak is not None and now.peak <= peak):
                peak = now.peak
            new = replace(now, peak=peak, lower_bound=max(bound, now.lower_bound), stage=stage or now.stage)
            if new == now and self.points:
                return
            self._now = replace(new, seconds=perf_counter() - self.began)
            self.points.append(self._now)
            if self._report is not None:
                self._report(self._now)
