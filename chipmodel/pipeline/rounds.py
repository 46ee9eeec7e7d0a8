"""Schedules in the order of their forecasts, packed one by one, until one is chosen.

A streamer assumes that packing wastes no byte. Where the packer's fragmentation leaves less than that, the
schedule is made again for fewer bytes. A forecast knows no contention, so a portfolio that chooses by cycles
has the plans that fit simulated, and keeps the fastest.

A deadline only ends the sequence of schedules: what was made until then is packed, in the order of the
forecasts, as long as one may be faster. A longer limit packs the same ones, or has a plan that is faster than
their forecast. So no plan is slower for more time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from time import perf_counter

from chipmodel.answers.result import Attempt
from chipmodel.bounds.time_bound import time_bound
from chipmodel.cascades.recomputed import computed, steps_macs
from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.commands import Command
from chipmodel.model.program import Program
from chipmodel.model.schedule import Schedule, steps
from chipmodel.model.time_bound import TimeBound
from chipmodel.model.trace import Trace
from chipmodel.passes.liveness import liveness, scopes
from chipmodel.pipeline.choices import VENDOR_STREAMER
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.rewrites.steady_state import unrolled
from dma.schedule.buffer_names import with_readable_names
from dma.schedule.build import StreamRequest
from dma.schedule.streamer import StreamerPortfolio
from dma.stream import streamer_named
from dma.streamers import sync
from dma.streamers.race import RankedSchedule, StreamerRace
from solvers.branches.mergers import merge_arms, packer_of_merge
from solvers.core.deadline import Deadline
from solvers.core.outcome import Limits
from solvers.registry import packer_named
from solvers.squeeze import squeezed
from solvers.tiers.settings import STANDARD, TierSettings

TRUE_CONFLICTS = ("conflict", "exact")
"""The mergers that ask for nothing but that buffers alive together lie apart."""
ROUNDS = 16
"""Rounds of scheduling and packing; each gives up at least 1/64 of the memory."""
SCHEDULES_SHARE = 0.7
"""The share of the rest after which no more schedules are made if a plan fits; the rest is for packing."""


def one_path_bound(program: Program, chip: Chip, cascades: bool) -> TimeBound | None:
    """``time_bound`` of a program that has one path; None of one with branches or loops. With ``cascades``
    one that also holds for plans with cascades."""
    inferences, program = program.inferences, unrolled(program)
    return time_bound(program, chip, {}, cascades, inferences) if program.is_straight else None


def plan_in_rounds(
    request: PlanRequest,
    simulated: Mapping[str, str] | None = None,
    cascaded: Program | None = None,
    portfolio: StreamerPortfolio | None = None,
) -> Planned:
    """The first plan that fits, the fastest one where the portfolio chooses by cycles, or else the one with
    the smallest peak. Raises DoesNotFit where no schedule is found at all, or where the plan computes more
    than the request allows.

    ``simulated`` is the path along which plans are compared; None: the first plan that fits is chosen.
    ``cascaded`` is the program with some of its ops as cascades. ``portfolio`` is used in place of the
    streamer of the request.
    """
    portfolio = portfolio or streamer_named(request.streamer)
    rounds = _Rounds(request, portfolio, cascaded or request.program)
    if simulated is not None and rounds.portfolio.chooses_by_cycles:
        rounds.run_all(simulated)
    else:
        rounds.run_until_one_fits()
    planned = rounds.result()
    if request.recompute is not None:
        refuse_recomputed(planned, request.recompute)
    return planned


def refuse_recomputed(planned: Planned, most: float) -> None:
    """Raise DoesNotFit for a plan whose steps compute more than ``most`` times the multiply-accumulates of
    its program: the choice of cascades is not trusted."""
    needed, done = computed(planned.program), steps_macs(planned.program, steps(planned.schedule.body))
    if done > most * needed:
        what = f"the plan computes {done:,} multiply-accumulates, more than {most:g} times {needed:,}"
        raise DoesNotFit(what, hint="a higher --recompute (recompute=...), or more SharedMemory")


LAST_SHARES = (Fraction(3, 4), Fraction(1, 2))
"""The shares of SharedMemory that the last schedules may take, one after the other, where the deadline comes
before any plan fits: heuristics alone waste less than a quarter of it nearly always."""
LESS_SHARES = (Fraction(15, 16), Fraction(7, 8))
"""The same of the fastest schedule that did not fit, tried at last: heuristics waste 3 % of GoogLeNet's
cascades in a quarter of its memory, and 13 % of MobileNetV2's (measured)."""
LAST_STREAMER = replace(sync.STREAMER, weight_floor_divisors=(16,))
"""The streamer of those: the quickest one, with a single weight floor."""


@dataclass(slots=True)
class _Rounds:
    request: PlanRequest
    portfolio: StreamerPortfolio
    program: Program
    """The program of the request, perhaps with cascades."""
    began: float = field(default_factory=perf_counter)
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    best: Planned | None = None
    simulated: tuple[tuple[Command, ...], Trace] | None = None
    """The last commands that were simulated."""
    last_shares: list[Fraction] = field(default_factory=lambda: list(LAST_SHARES))
    less_shares: list[Fraction] = field(default_factory=lambda: list(LESS_SHARES))
    refused: RankedSchedule | None = None
    """The fastest schedule for which the packer had no plan."""
    schedules: Deadline = field(init=False)
    """When no schedule is made any more where a plan fits."""
    race: StreamerRace = field(init=False)

    def __post_init__(self) -> None:
        request = self.request
        self.schedules = request.deadline.share(SCHEDULES_SHARE)
        packer = packer_named(request.packer)
        settings = packer.options.get("settings", STANDARD)
        tiers = settings if packer.tiers and isinstance(settings, TierSettings) else None
        capacity = request.chip.shared_memory.bytes
        by_bytes = request.streamer == VENDOR_STREAMER
        asked = StreamRequest(self.program, request.chip, capacity, request.spill, tiers, by_bytes=by_bytes)
        self.race = StreamerRace(asked, self.portfolio, self.schedules)

    @property
    def capacity(self) -> int:
        return self.request.chip.shared_memory.bytes

    def run_until_one_fits(self) -> None:
        """Whichever schedule finds no room is made again with less memory."""
        while entry := self._next():
            tried = self._pack(entry)
            if self.best is None or self._fits(tried) or tried.solved.peak < self.best.solved.peak:
                self.best = tried
            if self._reported(entry, tried):
                return

    def run_all(self, path: Mapping[str, str]) -> None:
        """Pack and simulate every schedule that is forecast to be faster than the fastest one."""
        while entry := self._next():
            self._try(entry, path)

    def _try(self, entry: RankedSchedule, path: Mapping[str, str]) -> None:
        """Pack and simulate a schedule that may be faster than the fastest plan."""
        if not self._is_worth_a_simulation(entry):
            return
        tried = self._pack(entry)
        if self._reported(entry, tried):
            tried = replace(tried, trace=self._trace(tried, path))
        if self.best is None or self._rank(tried) < self._rank(self.best):
            self.best = tried

    def _trace(self, planned: Planned, path: Mapping[str, str]) -> Trace:
        """The simulation of a plan. Streamers that find the same commands follow one another."""
        commands = planned.commands
        if self.simulated is None or self.simulated[0] != commands:
            self.simulated = commands, simulate(commands, self.request.chip, path)
        return self.simulated[1]

    def _rank(self, planned: Planned) -> tuple[bool, bool, int]:
        """Smaller is better: a plan that fits SharedMemory, then one that fits Psram too, then the faster
        one, or the one with the smaller peak. Where the weights alone are too many, Psram does not count."""
        fit = planned.fit(self.request.chip)
        last = planned.trace.cycles if planned.trace else planned.solved.peak
        return planned.trace is None, not (fit.psram.fits or fit.too_many_weights), last

    @property
    def _cycles(self) -> int | None:
        """The cycles of the fastest plan that fits both memories."""
        if self.best is None or self.best.trace is None:
            return None
        return None if self._rank(self.best)[1] else self.best.trace.cycles

    def _is_worth_a_simulation(self, entry: RankedSchedule) -> bool:
        """Whether it may be faster: a forecast is hardly ever above the simulated cycles."""
        return self._cycles is None or entry.cycles < self._cycles

    def _next(self) -> RankedSchedule | None:
        if len(self.attempts) >= ROUNDS * self.race.rounds:
            return None
        over = bool(self.attempts) and self.request.deadline.ends("further rounds of scheduling and packing")
        entry = self.race.next()
        return self._last() if entry is None and over and not self._has_plan else entry

    @property
    def _has_plan(self) -> bool:
        """Whether a plan fits."""
        return self.best is not None and self._fits(self.best)

    def _last(self) -> RankedSchedule | None:
        """A schedule for when time is over and none of those made fits: one that is made quickly, for less
        memory than SharedMemory has, and the fastest one that had no room for a little less. None after the
        last of them."""
        found = None
        while found is None and self.last_shares:
            found = self.race.with_less(LAST_STREAMER, int(self.capacity * self.last_shares.pop(0)))
        while found is None and self.refused and self.less_shares:
            budget = int(self.capacity * self.less_shares.pop(0))
            found = self.race.with_less(self.refused.streamer, budget)
        return found

    def _fits(self, planned: Planned) -> bool:
        return planned.solved.peak <= self.capacity

    def _pack(self, entry: RankedSchedule) -> Planned:
        named = with_readable_names(self.program, entry.schedule)
        tried = packed(self.request, named, packer_limits(self.request, self.began))
        self.attempts.append(Attempt(entry.budget, tried.solved.peak, tried.solved.lower_bound))
        return tried

    def _reported(self, entry: RankedSchedule, tried: Planned) -> bool:
        """Whether the plan fits; else the race is told, but late: nothing is made in its place then."""
        excess = tried.solved.peak - self.capacity
        if excess <= 0:
            return True
        self.refused = min((each for each in (self.refused, entry) if each), key=lambda each: each.cycles)
        late = self.schedules.over if self._has_plan else self.request.deadline.over
        if not late:
            self.race.does_not_fit(entry, entry.budget - max(excess // 4, self.capacity // 64, 1))
        return False

    def result(self) -> Planned:
        assert self.best is not None
        return replace(self.best, attempts=tuple(self.attempts))


def packer_limits(request: PlanRequest, began: float, last: bool = False) -> Limits:
    """The limits of the next run of the packer, in a plan that began at that ``perf_counter()`` time. Beside
    seconds a run has the packer's own nodes, unless it is the ``last``: one schedule may not take the time of
    all others."""
    own = packer_named(packer_of_merge(request.merge, request.packer)).limits
    limits = replace(request.limits or own, deadline=request.deadline)
    if limits.nodes is None and not last:
        limits = replace(limits, nodes=own.nodes)
    return replace(limits, seconds=limits.left(began))


def packed(request: PlanRequest, schedule: Schedule, limits: Limits) -> Planned:
    """Return a schedule with the offsets that the request's packer finds within ``limits``; a streamer that
    searches also moves buffers until the live bytes fit."""
    problem = liveness(schedule, request.chip)
    section = scopes(schedule.body).section
    solved = merge_arms(problem, section, request.packer, request.merge, limits)
    if streamer_named(request.streamer).searches_offsets and request.merge in TRUE_CONFLICTS:
        solved = squeezed(problem, solved, request.chip.shared_memory.bytes, deadline=request.deadline)
    return Planned(request.program, schedule, problem, solved, ())
