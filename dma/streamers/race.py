"""Several policies on one program: the quickest is taken, by the forecast where nothing contends.

A packer may find no room for a schedule. Then that policy tries again with less memory, and whoever is
quickest then is next. So the plan that comes out is forecast to be at least as quick as every rival's with
the memory that it was last given.

Where a rival has rivals of its own it goes first, for it holds the least: once there is room for its
schedule, they begin with the same memory; one that finds no room gives way to its ``leaner``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from math import inf
from time import perf_counter

from chipmodel.chip.chip import Chip
from chipmodel.errors import DoesNotFit
from chipmodel.model.program import Program
from chipmodel.model.schedule import Schedule, steps
from chipmodel.passes.liveness import scopes
from dma.residency.tiling import Tiling
from dma.schedule.build import Known, room_of, stream_one
from dma.schedule.effort import Standing, Stop
from dma.schedule.expected_forecast import Expectation, Load
from dma.schedule.forecast import transfer_times
from dma.schedule.policy import Policy
from dma.schedule.refine import refined
from dma.streamers.ping_pong_across import odds_of

NEVER = Stop(gap=-1.0)


@dataclass(frozen=True, slots=True)
class Entry:
    """A rival's schedule with at most ``budget`` bytes alive at once."""

    rival: Policy
    budget: int
    schedule: Schedule
    cycles: float
    """Forecast; 0 where nobody compares."""
    first: bool = False
    """Whether others wait to hear if there is room for it."""
    second: bool = False
    """Whether it waited so."""


class Race:
    """The rivals of ``policy``, or it alone where it has none; the first schedules are for ``budget`` bytes.
    ``spill`` and ``tiers`` are those of ``dma.stream.stream``; ``stop`` says when there are enough."""

    def __init__(
        self,
        program: Program,
        chip: Chip,
        policy: Policy,
        budget: int,
        spill: bool,
        tiers: bool,
        stop: Stop = NEVER,
    ) -> None:
        policy = _with_loops(policy, program)
        self.program, self.chip, self.policy = program, chip, policy
        self.spill, self.tiers = spill, tiers
        self.rivals = policy.rivals or (policy,)
        self.forecasts = Forecasts(program, chip)
        self.known: Known = {}
        self.waiting: list[tuple[bool, float, int, Entry]] = []
        self.entered = 0
        self.refusal: DoesNotFit | None = None
        self.began, self.budget, self.stop = perf_counter(), budget, stop
        self.left = list(reversed(policy.rivals or (policy,)))
        self._try_more()
        self._refine()

    @property
    def least(self) -> float:
        """The quickest forecast that waits."""
        return min((entry.cycles for *_, entry in self.waiting), default=inf)

    @property
    def rounds(self) -> int:
        """How many schedules a packer should try for each that it would try of one policy alone."""
        return max(1, len(self.policy.rivals))

    def next(self) -> Entry | None:
        """The schedule to pack next, which does not take part any more; None where there is none left. Raises
        DoesNotFit where there was none at all."""
        if not self.entered and self.refusal:
            raise self.refusal
        return heappop(self.waiting)[-1] if self.waiting else None

    def fits(self, entry: Entry) -> bool:
        """There is room for ``entry``. Whether it is the quickest; if not, others come first."""
        if not entry.first:
            return True
        self._wait(replace(entry, first=False))
        for rival in entry.rival.rivals:
            self._enter(rival, entry.budget, second=True)
        return False

    def does_not_fit(self, entry: Entry, budget: int) -> None:
        """There is no room for ``entry``; a rival on its own tries with ``budget`` bytes, if that is any."""
        if not entry.second:
            if budget > 0:
                self._enter(entry.rival, budget, first=entry.first)
        elif entry.rival.leaner:
            self._enter(entry.rival.leaner, entry.budget, second=True)
        self._try_more()

    def _try_more(self) -> None:
        """Rivals that have not been tried, until there are enough."""
        ways = len(self.policy.rivals or (self.policy,))
        while self.left:
            tried = ways - len(self.left)
            if tried >= self.policy.sure and self.stop.enough(self.least, self._spent):
                return
            rival = self.left.pop()
            self._enter(rival, self.budget, first=bool(rival.rivals))
            if self.stop.report and self.waiting:
                self.stop.report(Standing(tried + 1, ways, self.least, self.stop.bound))

    def _refine(self) -> None:
        """The quickest of those that can be cut again, so cut, if that is quicker than itself."""
        able = (entry for *_, entry in self.waiting if entry.rival.recut)
        best = min(able, key=lambda entry: entry.cycles, default=None)
        recut = best.rival.recut if best else None
        if best is None or recut is None or self.stop.enough(best.cycles, self._spent):
            return
        known = room_of(best.rival, best.budget, self.known)

        def attempt(cuts: Mapping[str, Tiling]) -> float | None:
            schedule = self._stream(recut(cuts, True), best.budget, dict(known))
            return None if schedule is None else self.forecasts.cycles(schedule)

        def enough() -> bool:
            return self.stop.enough(best.cycles, self._spent)

        room, _ = next(iter(known.values()))
        cuts = refined(room, best.schedule, best.rival.refines, attempt, enough)
        settled = recut(cuts, False)
        schedule = self._stream(settled, best.budget, dict(known)) if cuts else None
        if schedule is not None and (cycles := self.forecasts.cycles(schedule)) < best.cycles:
            schedule = replace(schedule, streamer=self.policy.name, late=())
            # What it is cut for is this memory: with less it does not try again.
            self._wait(Entry(settled, best.budget, schedule, cycles, second=True))

    @property
    def _spent(self) -> float:
        return perf_counter() - self.began

    def _enter(self, rival: Policy, budget: int, first: bool = False, second: bool = False) -> None:
        schedule = self._stream(rival, budget, self.known)
        if schedule is None:
            return
        cycles = 0.0
        if self.policy.rivals:
            schedule = replace(schedule, streamer=self.policy.name, late=())
            cycles = self.forecasts.cycles(schedule)
        self._wait(Entry(rival, budget, schedule, cycles, first, second))

    def _stream(self, rival: Policy, budget: int, known: Known) -> Schedule | None:
        try:
            return stream_one(self.program, self.chip, rival, budget, self.spill, self.tiers, known)
        except DoesNotFit as refusal:
            self.refusal = refusal
            return None

    def _wait(self, entry: Entry) -> None:
        self.entered += 1
        heappush(self.waiting, (not entry.first, entry.cycles, self.entered, entry))


def _with_loops(policy: Policy, program: Program) -> Policy:
    if not policy.in_loops or not odds_of(program).iterations:
        return policy
    sure = policy.sure + len(policy.in_loops)
    return replace(policy, rivals=(*policy.in_loops, *policy.rivals), sure=sure)


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
