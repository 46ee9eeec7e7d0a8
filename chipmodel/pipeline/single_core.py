"""The whole way from a program to a simulated, checked plan.

Each stage is a pure function; this file only calls them in order, and repeats schedule and solve with
fewer bytes where the packer's fragmentation does not leave the streamer's budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter

from chipmodel.bounds.time_bound import time_bound
from chipmodel.chip.chip import Chip
from chipmodel.errors import DoesNotFit
from chipmodel.machine.simulate import simulate
from chipmodel.model.commands import Command
from chipmodel.model.plan import Problem, Solved
from chipmodel.model.program import Op, Program
from chipmodel.model.result import Attempt, Result
from chipmodel.model.schedule import Schedule, steps
from chipmodel.model.time_bound import TimeBound
from chipmodel.model.trace import Trace
from chipmodel.passes.liveness import liveness, scopes
from chipmodel.passes.lower import lower
from chipmodel.passes.skipped_results import refuse_skipped_results
from chipmodel.passes.steady_state import inferences_of, unrolled
from chipmodel.pipeline.partition import assigned
from chipmodel.verify.offsets_sweep import check_fast
from dma.schedule.build import StreamRequest
from dma.schedule.effort import StopCriterion
from dma.stream import streamer_named
from dma.streamers.race import StreamerRace
from solvers.branches.mergers import DEFAULT_MERGE, merge_arms, merger_named
from solvers.core.outcome import Limits
from solvers.registry import packer_named
from solvers.squeeze import squeezed

TRUE_CONFLICTS = ("conflict", "exact")
"""The mergers that ask for nothing but that buffers alive together lie apart."""
ROUNDS = 16
"""Rounds of schedule and solve; each gives up at least 1/64 of the memory."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A schedule with its offsets, and the rounds that led to it."""

    schedule: Schedule
    problem: Problem
    solved: Solved
    attempts: tuple[Attempt, ...]
    bound: TimeBound | None = None
    """Cycles that no plan beats, where the streamer needed to know."""

    @property
    def commands(self) -> tuple[Command, ...]:
        return lower(self.schedule, self.solved.plan)


def plan(
    program: Program,
    chip: Chip,
    packer: str,
    streamer: str,
    spill: bool = True,
    merge: str = DEFAULT_MERGE,
    limits: Limits | None = None,
    stop: StopCriterion | None = None,
) -> Planned:
    """The first plan that fits SharedMemory, or else the one with the smallest peak.

    ``limits`` are for a packer that searches, its own if None; their seconds are for all rounds together.
    Raises DoesNotFit where no schedule is found at all, and, with ``spill`` off, where no plan fits:
    that message names the smallest capacity that would do.
    """
    try:
        planned = _rounds(program, chip, packer, streamer, spill, merge, limits, stop)
    except DoesNotFit as refusal:
        if spill:
            raise
        hint = _smallest(program, chip, packer, streamer, merge)
        raise DoesNotFit(refusal.what, where=refusal.where, hint=hint) from None
    if not spill and planned.solved.peak > chip.shared_memory.bytes:
        raise DoesNotFit(
            f"packer {packer} needs {planned.solved.peak:,} B of {chip.shared_memory.bytes:,} B; "
            + largest_live_set(planned.problem, planned.schedule),
            hint=_smallest(program, chip, packer, streamer, merge),
        )
    return planned


def largest_live_set(problem: Problem, schedule: Schedule) -> str:
    """The step with the most live bytes and its buffers, in words."""
    listed = list(steps(schedule.body))
    live = [sum(b.bytes for b in problem.buffers if any(s.position in i for i in b.live)) for s in listed]
    worst = max(range(len(live)), key=live.__getitem__)
    buffers = [b for b in problem.buffers if any(listed[worst].position in i for i in b.live)]
    buffers.sort(key=lambda b: -b.bytes)
    names = ", ".join(f"{b.name} {b.bytes:,} B" for b in buffers[:8])
    more = f" and {len(buffers) - 8} more" if len(buffers) > 8 else ""
    return f"op {listed[worst].op!r} has the largest live set, {live[worst]:,} B: {names}{more}"


def smallest_capacity(
    program: Program, chip: Chip, packer: str, streamer: str, merge: str = DEFAULT_MERGE
) -> int | None:
    """The smallest SharedMemory, in bytes, that a bisection finds a plan without spilling for; None
    where even 4 GiB do not do. The plan for the returned size has been made and fits."""

    def does(size: int) -> bool:
        roomy = replace(chip, shared_memory=replace(chip.shared_memory, bytes=size))
        try:
            planned = _rounds(program, roomy, packer, streamer, False, merge)
        except DoesNotFit:
            return False
        return planned.solved.peak <= size

    step = chip.shared_memory.alignment
    high = 1
    while not does(high * step):
        high *= 2
        if high * step > 1 << 32:
            return None
    low = high // 2
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if does(middle * step) else (middle, high)
    return high * step


def _smallest(program: Program, chip: Chip, packer: str, streamer: str, merge: str) -> str:
    size = smallest_capacity(program, chip, packer, streamer, merge)
    if size is None:
        return "no SharedMemory of up to 4 GiB would do without spilling"
    return (
        f"the smallest capacity that would do without spilling is {size:,} B: "
        f"--set shared_memory.bytes={size}; or leave out --no-spill"
    )


def _rounds(
    program: Program,
    chip: Chip,
    packer: str,
    streamer: str,
    spill: bool,
    merge: str,
    limits: Limits | None = None,
    stop: StopCriterion | None = None,
) -> Planned:
    began = perf_counter()
    capacity = chip.shared_memory.bytes
    portfolio = streamer_named(streamer)
    bound = one_path_bound(program, chip, True) if portfolio.searches_offsets else None
    stop = replace(stop or StopCriterion(), bound=bound.cycles if bound else 0)
    request = StreamRequest(program, chip, capacity, spill, packer_named(packer).tiers)
    race = StreamerRace(request, portfolio, stop)
    best: Planned | None = None
    attempts: list[Attempt] = []
    while len(attempts) < ROUNDS * race.rounds:
        entry = race.next()
        if entry is None:
            break
        left = None if limits is None else replace(limits, seconds=limits.left(began))
        tried = _packed(entry.schedule, chip, packer, merge, left)
        if race.portfolio.searches_offsets and merge in TRUE_CONFLICTS:
            tried = replace(tried, solved=squeezed(tried.problem, tried.solved, capacity))
        attempts.append(Attempt(entry.budget, tried.solved.peak, tried.solved.lower_bound))
        excess = tried.solved.peak - capacity
        if best is None or excess <= 0 or tried.solved.peak < best.solved.peak:
            best = tried
        if excess > 0:
            race.does_not_fit(entry, entry.budget - max(excess // 4, capacity // 64, 1))
        elif race.fits(entry):
            break
    assert best is not None
    faults = check_fast(Problem(best.problem.buffers), best.solved.plan)
    if faults:
        raise AssertionError(f"packer {packer} made a wrong plan: {faults[0]}")
    return Planned(best.schedule, best.problem, best.solved, tuple(attempts), bound)


def one_path_bound(program: Program, chip: Chip, residency: bool) -> TimeBound | None:
    """``bound.time_bound`` of a program that has one path; None of one with branches or loops."""
    program = unrolled(program)
    one_path = all(isinstance(node, Op) for node in program.body)
    return time_bound(program, chip, {}, residency) if one_path else None


def _packed(schedule: Schedule, chip: Chip, packer: str, merge: str, limits: Limits | None) -> Planned:
    problem = liveness(schedule, chip)
    solved = merge_arms(problem, scopes(schedule.body).section, packer, merge, limits)
    return Planned(schedule, problem, solved, ())


def run(
    program: Program,
    chip: Chip,
    packer: str,
    streamer: str,
    *,
    spill: bool = True,
    choices: Mapping[str, str] | None = None,
    merge: str = DEFAULT_MERGE,
    limits: Limits | None = None,
    stop: StopCriterion | None = None,
) -> Result:
    """Plan and simulate ``program``, and its synchronous twin beside it. ``limits`` are for the packer, and
    ``stop`` for a streamer that tries many ways; on several cores, for each plan of a core that is tried.

    Raises DoesNotFit (see ``plan``) and BadInput for unknown names and impossible ``choices``.
    """
    refuse_skipped_results(program, choices or {})
    merger_named(merge)
    if chip.cores > 1:
        from chipmodel.pipeline.multicore import run_cores

        return run_cores(
            *(program, chip, packer, streamer),
            spill=spill,
            choices=choices,
            merge=merge,
            limits=limits,
            stop=stop,
        )
    assigned(program, chip.cores)
    planned = plan(program, chip, packer, streamer, spill, merge, limits, stop)
    trace = simulate(planned.commands, chip, choices)
    return Result(
        program=program,
        chip=chip,
        schedule=planned.schedule,
        problem=planned.problem,
        solved=planned.solved,
        trace=trace,
        sync_cycles=_sync_cycles(program, chip, packer, streamer, spill, choices, trace, merge),
        bound=_bound(program, chip, trace, planned, streamer_named(streamer).searches_offsets),
        attempts=planned.attempts,
        merge=merge,
    )


def _bound(program: Program, chip: Chip, trace: Trace, planned: Planned, residency: bool) -> TimeBound:
    made = inferences_of(program, trace.path)
    if planned.bound and made == program.inferences:
        return planned.bound
    return time_bound(unrolled(program, made), chip, trace.path, residency)


def _sync_cycles(
    program: Program,
    chip: Chip,
    packer: str,
    streamer: str,
    spill: bool,
    choices: Mapping[str, str] | None,
    trace: Trace,
    merge: str,
) -> int:
    if streamer == "sync":
        return trace.cycles
    return simulate(plan(program, chip, packer, "sync", spill, merge).commands, chip, choices).cycles
