"""Workers that answer points: what the local pool and a cluster have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from chipmodel.answers.study_row import Row
from chipmodel.studies.task import PointTask

MOST_DEATHS = 2
"""Workers that may die in a row at one point before it is stored as failed."""


class WorkerGroup(Protocol):
    """Workers that answer points in any order."""

    @property
    def room(self) -> int:
        """Points that it would accept now."""
        ...

    @property
    def busy(self) -> bool:
        """Whether a submitted point has no answer yet."""
        ...

    def give(self, tasks: Sequence[PointTask]) -> None:
        """Submit ``tasks``, to be answered in roughly this order."""
        ...

    def take(self, seconds: float) -> list[Row]:
        """Answers since the last call; if there are none, those that arrive within ``seconds``."""
        ...


@dataclass
class BatchSize:
    """How many points make about ``seconds`` of work, judged by the slowest of the last eight answers."""

    seconds: float
    most: int
    last: list[float] = field(default_factory=list[float])

    def saw(self, row: Row) -> None:
        """Learn from an answer."""
        self.last = [*self.last[-7:], row.seconds]

    @property
    def points(self) -> int:
        """At least 1, at most ``most``."""
        slowest = max(self.last, default=self.seconds)
        return max(1, min(self.most, int(self.seconds / max(slowest, 1e-6))))


def death_error(task: PointTask, how: str) -> str:
    """The error of a point at which workers died; ``how`` the last one did."""
    return (
        f"the worker {how} at this point, {MOST_DEATHS} times\n"
        f"  hint: it may need more memory than there is; --retry-failed tries again "
        f"({task.point.workload})"
    )
