"""The best plan of several schedules: packed one after another, and simulated if they may be faster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from time import perf_counter

from chipmodel.answers.result import Attempt
from chipmodel.cascades.recomputed import computed, steps_macs
from chipmodel.errors import DoesNotFit
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program
from chipmodel.model.schedule import Schedule, steps
from chipmodel.passes.liveness import liveness, scopes
from chipmodel.pipeline.psram_of_cores import within_psram
from chipmodel.pipeline.request import Planned, PlanRequest
from dma.schedule.buffer_names import with_readable_names
from dma.schedule.path_forecast import ScheduleForecast
from dma.stream import streamer_named
from solvers.branches.mergers import merge_arms, packer_of_merge
from solvers.core.outcome import Limits
from solvers.registry import packer_named
from solvers.squeeze import squeezed

TRUE_CONFLICTS = ("conflict", "exact")
"""The mergers that ask for nothing but that buffers alive together lie apart."""
PLACED = 30_000_000
"""Buffers of all nodes of a search for one schedule, some seconds (assumed): another schedule may be packed
in no time."""


@dataclass(slots=True)
class QuickestPlan:
    """The best plan so far. Plans are simulated along ``path``; None: they are packed alone."""

    request: PlanRequest
    path: Mapping[str, str] | None
    best: Planned | None = None
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    began: float = field(default_factory=perf_counter)
    path_cycles: int | None = None
    last: Planned | None = None
    """The last schedule that was packed, simulated if it fits; None where none was."""

    @property
    def cycles(self) -> float:
        """The cycles of the best plan; infinite where none was simulated that fits all memories."""
        if self.best is None or self.best.trace is None:
            return inf
        *too_large, cycles = rank(self.request, self.path, self.best)
        return inf if any(too_large) else cycles

    @property
    def has_room(self) -> bool:
        """Whether the best plan fits SharedMemory."""
        return self.best is not None and self.best.solved.peak <= self.request.chip.shared_memory.bytes

    def forecast(self, program: Program, schedule: Schedule) -> float:
        """The cycles of a schedule without contention."""
        return ScheduleForecast(program, self.request.chip, self.path).cycles(schedule)

    def may_be_faster(self, program: Program, schedule: Schedule) -> bool:
        """Whether a schedule may be faster than the best plan, by its forecast."""
        return self.cycles == inf or self.forecast(program, schedule) < self.cycles

    def fits(self, given: int, program: Program, schedule: Schedule) -> bool:
        """Pack a schedule for so many bytes, and simulate it if it fits SharedMemory; whether it does."""
        request = self.request
        named = with_readable_names(program, schedule)
        planned = packed(request, named, packer_limits(request, self.began))
        self.attempts.append(Attempt(given, planned.solved.peak, planned.solved.lower_bound))
        has_room = planned.solved.peak <= request.chip.shared_memory.bytes
        if has_room and self.path is not None:
            planned = replace(planned, trace=simulate(planned.commands, request.chip, self.path))
        self.last = planned
        if self.best is None or rank(request, self.path, planned) < rank(request, self.path, self.best):
            self.best = planned
        return has_room

    def answer(self) -> Planned | None:
        """The best plan that fits; raises DoesNotFit where it computes more than the request allows."""
        if self.best is None or not self.has_room:
            return None
        refuse_recomputed(self.request, self.best)
        path_cycles = self.path_cycles or self.best.path_cycles
        return replace(self.best, attempts=(*self.best.attempts, *self.attempts), path_cycles=path_cycles)


def rank(request: PlanRequest, path: Mapping[str, str] | None, planned: Planned) -> tuple[bool, bool, float]:
    """How good a plan is, smaller is better: fits SharedMemory, then Psram, unless the weights alone are too
    many for it, then its cycles along ``path``, or over all paths; the peak where it does not fit."""
    if planned.solved.peak > request.chip.shared_memory.bytes:
        return True, True, planned.solved.peak
    forecast, fit = ScheduleForecast(request.program, request.chip, path), planned.fit(request.chip)
    cycles = planned.trace.cycles if planned.trace else forecast.cycles(planned.schedule)
    return False, not (fit.psram.fits or fit.too_many_weights), cycles


def refuse_recomputed(request: PlanRequest, planned: Planned) -> None:
    """Raise DoesNotFit for a plan whose steps compute more than the request allows: the choice of cascades is
    not trusted."""
    if request.recompute is None:
        return
    needed, done = computed(planned.program), steps_macs(planned.program, steps(planned.schedule.body))
    if done > request.recompute * needed:
        more = f"more than {request.recompute:g} times {needed:,}"
        hint = "a higher --recompute (recompute=...), or more SharedMemory"
        raise DoesNotFit(f"the plan computes {done:,} multiply-accumulates, {more}", hint=hint)


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
    if request.chip.cores == 1:  # Cores share one Psram, which is laid out for all of them together.
        schedule = within_psram(request.program, schedule, request.chip)
    problem = liveness(schedule, request.chip)
    section = scopes(schedule.body).section
    if limits.nodes is not None:
        # A node takes longer the more buffers there are.
        limits = replace(limits, nodes=min(limits.nodes, PLACED // max(1, len(problem.buffers))))
    solved = merge_arms(problem, section, request.packer, request.merge, limits)
    if streamer_named(request.streamer).searches_offsets and request.merge in TRUE_CONFLICTS:
        solved = squeezed(problem, solved, request.chip.shared_memory.bytes, deadline=request.deadline)
    return Planned(request.program, schedule, problem, solved, ())
