"""Who answers points: what the local pool and the cluster have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from chipmodel.model.study_row import Row
from chipmodel.study.task import Task

DEATHS = 2
"""A point at which so many workers in a row ended is given up as failed."""


class Crew(Protocol):
    """Workers that answer points in any order."""

    @property
    def room(self) -> int:
        """How many points it would take now."""
        ...

    @property
    def busy(self) -> bool:
        """Whether a point that was given has not been answered."""
        ...

    def give(self, tasks: Sequence[Task]) -> None:
        """Have ``tasks`` answered, more or less in this order."""
        ...

    def take(self, seconds: float) -> list[Row]:
        """Answers since the last call; where there are none, those that come within ``seconds``."""
        ...


@dataclass
class Pace:
    """How many points make a stretch of ``seconds`` of work, going by the slowest of the last few.

    One, where a planner searches: nobody knows how long it takes, and others should not wait behind it.
    """

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


def gave_up(task: Task, how: str) -> str:
    """The error of a point at which workers ended."""
    return (
        f"the worker {how} at this point, {DEATHS} times\n"
        f"  hint: it may need more memory than there is; --retry-failed tries again ({task.point.workload})"
    )
