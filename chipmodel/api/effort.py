"""Time limits of a call, its cancellation, and reports of its progress."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from time import perf_counter
from typing import TypeAlias

from chipmodel.errors import BadInput, TimeIsOver
from chipmodel.files.suggestions import shown
from chipmodel.model.path_costs import MIN_SAMPLES, MOST_SAMPLES
from chipmodel.terminal.progress import calling, observed_by
from solvers.core.deadline import Deadline, deadline_in
from solvers.core.outcome import MOST_SECONDS

Progress: TypeAlias = Callable[[str], None]
"""Receives one line for each stage of a call, and for each step that a stage reports."""
Cancel: TypeAlias = Callable[[], bool]
"""Whether the call is to end now with what it has; asked between the steps of every search."""

FAR_AWAY = 1e9
"""Seconds (thirty years) after which a call that can only be cancelled would end: longer than any call."""
GRACE = 1.0
"""Seconds by which reading a workload and its first plan may be late: what is short is done in any case."""
SECONDS_PER_OP = 0.0003
"""Seconds that a first plan takes for each op at least (measured on a chain of 10,000 in a slow hour)."""


class TimeLimit:
    """The deadline of a call, which begins to run when this is made, and what it cut short.

    One value may be the limit of several calls together. Raises BadInput for less than no time, and for more
    than any search can take. So many seconds of it are ``spent`` already.
    """

    def __init__(
        self, seconds: float | None = None, cancel: Cancel | None = None, spent: float = 0.0
    ) -> None:
        if seconds is not None and not 0 <= seconds <= MOST_SECONDS:
            hint = f"0 to {MOST_SECONDS:,.0f} seconds, or None for no limit"
            raise BadInput(f"time_limit is {shown(seconds)}", hint=hint)
        self.parts: dict[str, None] = {}
        self.seconds: float | None = seconds
        limit = deadline_in(None if seconds is None else seconds - spent)
        if cancel is not None:
            limit = replace(limit.within(FAR_AWAY), clock=_cancellable(cancel))
        self.deadline: Deadline = replace(limit, ended=self._cut)

    def __repr__(self) -> str:
        return "<TimeLimit: none>" if self.seconds is None else f"<TimeLimit: {self.seconds:g} s>"

    def _cut(self, part: str) -> None:
        self.parts[part] = None

    @property
    def grace(self) -> Deadline:
        """The deadline, and a little later, of what there is no answer without."""
        until = self.deadline.until
        return replace(self.deadline, until=None if until is None else until + GRACE)

    def require_first_plan(self, count: int) -> None:
        """Raise TimeIsOver if a first plan of so many ops would end too late; small programs always go on."""
        seconds = count * SECONDS_PER_OP - GRACE
        if seconds > 0 and not self.deadline.allows(seconds, ""):
            raise TimeIsOver(
                f"unknown: the time limit is too short for any plan of {count:,} ops", hint="a longer one"
            )

    @property
    def cut_short(self) -> tuple[str, ...]:
        """The parts that were ended early or left out so far, each once, in a few words."""
        return tuple(self.parts)


def _cancellable(cancel: Cancel) -> Callable[[], float]:
    """A clock that jumps past every deadline once ``cancel`` has said yes."""
    stopped: list[bool] = []

    def clock() -> float:
        if not stopped and cancel():
            stopped.append(True)
        return perf_counter() + 2 * FAR_AWAY if stopped else perf_counter()

    return clock


def observing(progress: Progress | None) -> AbstractContextManager[None]:
    """Let ``progress`` follow the body; None leaves it to whoever follows the caller."""
    return nullcontext() if progress is None else observed_by(calling(progress))


def check_sample(samples: int | None, seed: int) -> None:
    """Raise BadInput for a sample of paths that cannot be drawn."""
    if samples is not None and not MIN_SAMPLES <= samples <= MOST_SAMPLES:
        hint = f"{MIN_SAMPLES} to {MOST_SAMPLES:,}, or None for as many as there is time for"
        raise BadInput(f"samples is {shown(samples)}", hint=hint)
    if seed < 0:
        raise BadInput(f"seed is {shown(seed)}", hint="0 or more")
