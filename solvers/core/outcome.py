"""What a searching planner is given besides the problem, and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from chipmodel.model.certificate import Certificate
from chipmodel.model.plan import PackingProgress, Plan, Status
from chipmodel.records import dataclass
from solvers.core.deadline import NO_DEADLINE, Deadline


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop: ``seconds`` of wall time and ``nodes`` of search, whichever comes first.

    With a ``nodes`` limit, no ``seconds`` and no ``deadline``, the same problem and ``seed`` give the same
    answer. The seconds count from when a planner begins, the ``deadline`` is the same moment for all planners
    of a command.
    """

    seconds: float | None = None
    nodes: int | None = None
    seed: int = 0
    threads: int = 2
    deadline: Deadline = NO_DEADLINE

    def left(self, began: float) -> float | None:
        """Seconds left of the limit, for work that began at ``perf_counter()`` time ``began``."""
        until = self.deadline.left
        if self.seconds is None:
            return until
        own = max(0.0, self.seconds - (perf_counter() - began))
        return own if until is None else min(own, until)

    def until(self, began: float) -> Deadline:
        """When the time is over, for work that began at ``perf_counter()`` time ``began``."""
        own = None if self.seconds is None else self.seconds - (perf_counter() - began)
        return self.deadline.within(own)


class MemoryOverflow(Exception):
    """A packer's plan for one memory does not fit into it; another plan might."""


Report = Callable[[PackingProgress], None]
"""Called whenever the best plan, the bound or the stage changes."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A searching planner's answer.

    ``optimal``: no plan has a lower peak. ``feasible``: a plan that satisfies all constraints, capacity
    included. ``infeasible``: proven that none does. ``unknown``: the limits were reached first.
    """

    status: Status
    plan: Plan | None
    lower_bound: int
    nodes: int = 0
    proof: str = ""
    """What the status rests on, in a few words: a kind of certificate, a search, or a solver's claim."""
    explanation: tuple[str, ...] = ()
    """Names of buffers that alone do not fit, where the status is infeasible."""
    certificate: Certificate | None = None
    """The proof of ``lower_bound``, or of infeasibility."""
    trajectory: tuple[PackingProgress, ...] = ()
    """All reports, in order."""
    planner: str = ""
    """The planner that made the plan, where the one that was asked leaves that to others."""


MOST_SECONDS = 1e7
"""The longest time limit that may be set: some 116 days."""
MOST_NODES = 1 << 62
"""The largest node limit; nodes are counted in 64-bit integers."""
MOST_SEED = (1 << 31) - 1
"""The largest seed: OR-Tools takes 32-bit signed integers."""
