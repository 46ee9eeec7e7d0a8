"""Several policies on one program: the quickest is taken, by the forecast where nothing contends.

A packer may find no room for a schedule. Then that policy tries again with less memory, and whoever is
quickest then is next. So the plan that comes out is forecast to be at least as quick as every rival's with the
memory that it was last given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from chipmodel.chip import Chip
from chipmodel.errors import DoesNotFit
from chipmodel.liveness import scopes
from chipmodel.program import Program
from chipmodel.schedule import Schedule, steps
from dma.forecast import transfer_times
from dma.ping_pong_across import odds_of
from dma.ping_pong_across_forecast import Expectation, Load
from dma.policy import Policy

if TYPE_CHECKING:
    from dma.stream import Known


@dataclass(frozen=True, slots=True)
class Entry:
    """A rival's schedule with at most ``budget`` bytes alive at once."""

    rival: Policy
    number: int
    budget: int
    schedule: Schedule


class Race:
    """The rivals of ``policy``, or it alone where it has none; the first schedules are for ``budget`` bytes.
    ``spill`` and ``tiers`` are those of ``dma.stream.stream``."""

    def __init__(
        self, program: Program, chip: Chip, policy: Policy, budget: int, spill: bool, tiers: bool
    ) -> None:
        self.program, self.chip, self.policy = program, chip, policy
        self.spill, self.tiers = spill, tiers
        self.rivals = policy.rivals or (policy,)
        self.forecasts = Forecasts(program, chip)
        self.known: Known = {}
        self.waiting: list[tuple[float, int, Entry]] = []
        self.refusal: DoesNotFit | None = None
        for number, rival in enumerate(self.rivals):
            self._enter(rival, number, budget)

    @property
    def runners(self) -> int:
        """How many policies there are."""
        return len(self.rivals)

    def quickest(self) -> Entry:
        """The quickest schedule that is left; it does not take part any more. Raises DoesNotFit, why the last
        one was refused, where none is left."""
        if not self.waiting:
            assert self.refusal is not None, "every rival has a schedule or is refused"
            raise self.refusal
        return heappop(self.waiting)[2]

    def again(self, entry: Entry, budget: int) -> None:
        """Let the rival of ``entry`` try with ``budget`` bytes; with none it is out."""
        if budget > 0:
            self._enter(entry.rival, entry.number, budget)

    def _enter(self, rival: Policy, number: int, budget: int) -> None:
        from dma.stream import stream

        try:
            schedule = stream(self.program, self.chip, rival, budget, self.spill, self.tiers, self.known)
        except DoesNotFit as refusal:
            self.refusal = refusal
            return
        cycles = 0.0
        if self.policy.rivals:
            schedule = replace(schedule, streamer=self.policy.name, late=())
            cycles = self.forecasts.cycles(schedule)
        heappush(self.waiting, (cycles, number, Entry(rival, number, budget, schedule)))


class Forecasts:
    """Of schedules of one program on one chip."""

    def __init__(self, program: Program, chip: Chip) -> None:
        self.odds = odds_of(program)
        self.cycles_of = transfer_times(chip)

    def cycles(self, schedule: Schedule) -> float:
        """The expected core cycles of one run over all paths; of a program with one path where nothing
        contends, those that the simulator measures."""
        computes = [step.cycles for step in steps(schedule.body)]
        expectation = Expectation(scopes(schedule.body).section, computes, self.odds)
        moved = schedule.transfers
        return expectation.cycles(
            Load(t.direction, t.issues, t.due, self.cycles_of(t.direction, t.bytes)) for t in moved
        )
