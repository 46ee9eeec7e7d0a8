"""When a command's time is over: one moment on a clock that never goes back, handed to every slow part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from time import perf_counter
from typing import TypeVar

from chipmodel.errors import TimeIsOver
from chipmodel.records import dataclass

T = TypeVar("T")
BETWEEN_LOOKS = 64
"""Items of a long loop between two looks at the clock."""
FEW_PARTS = 1_000
"""Parts of lifetimes that heuristics place in a tenth of a second, whatever the time: where a search for
schedules has used all its time, there is still a plan with reuse."""


def _to_nobody(part: str) -> None:
    """Keep quiet about what was left out."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment ``until`` on ``clock``, both in seconds; None: there is no limit.

    A part that works in steps looks at ``over`` between them and returns its best so far. A step that cannot
    be interrupted is begun only where it ``allows`` as many seconds as its size suggests. What is cut short
    or left out is reported to ``ended``, in a few words for the command's answer.
    """

    until: float | None = None
    clock: Callable[[], float] = perf_counter
    ended: Callable[[str], None] = _to_nobody

    @property
    def left(self) -> float | None:
        """Seconds until then, 0 once it is over; None without a limit."""
        return None if self.until is None else max(0.0, self.until - self.clock())

    @property
    def over(self) -> bool:
        """Whether no time is left."""
        return self.left == 0.0

    def ends(self, part: str) -> bool:
        """Whether no time is left; if so, ``part`` is reported as cut short."""
        if self.over:
            self.ended(part)
            return True
        return False

    def allows(self, seconds: float, part: str) -> bool:
        """Whether work of about so many seconds would end before; if not, ``part`` counts as left out."""
        left = self.left
        if left is None or left > seconds:
            return True
        self.ended(part)
        return False

    def require(self, part: str) -> None:
        """Raise TimeIsOver where no time is left for ``part``, without which there is no answer."""
        if self.over:
            raise TimeIsOver(f"unknown: the time limit came before {part}", hint="a longer one")

    def during(self, items: Iterable[T], part: str) -> Iterator[T]:
        """Yield ``items``; between two of them raise TimeIsOver as ``require`` does."""
        for number, item in enumerate(items):
            if number % BETWEEN_LOOKS == 0:
                self.require(part)
            yield item

    def to_place(self, parts: int) -> Deadline:
        """The deadline of a heuristic that places so many parts of lifetimes: none for few of them."""
        return NO_DEADLINE if parts <= FEW_PARTS else self

    def before(self, seconds: float) -> Deadline:
        """An earlier one, so many seconds before this: for work that comes after it."""
        return self if self.until is None else replace(self, until=self.until - seconds)

    def share(self, part: float) -> Deadline:
        """An earlier one, after that part (0 to 1) of the time that is left."""
        left = self.left
        return self if left is None else replace(self, until=self.clock() + part * left)

    def within(self, seconds: float | None) -> Deadline:
        """This one, or so many seconds from now if that is earlier."""
        if seconds is None:
            return self
        then = self.clock() + seconds
        return replace(self, until=then if self.until is None else min(self.until, then))


NO_DEADLINE = Deadline()
"""All the time in the world."""


def deadline_in(seconds: float | None, clock: Callable[[], float] = perf_counter) -> Deadline:
    """So many seconds from now; without ``seconds`` there is none."""
    return Deadline(None, clock).within(seconds)
