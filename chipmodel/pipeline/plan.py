"""A program on one core to a plan: schedule it, pack it, check it; with less memory where packing fails.

Each stage is a pure function. A streamer assumes that packing wastes no byte; where the packer's
fragmentation leaves less than that, the schedule is made again for fewer bytes.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

from chipmodel.bounds.time_bound import time_bound
from chipmodel.chip.chip import Chip
from chipmodel.errors import DoesNotFit
from chipmodel.model.plan import Problem
from chipmodel.model.program import Op, Program
from chipmodel.model.result import Attempt
from chipmodel.model.schedule import Schedule, steps
from chipmodel.model.time_bound import TimeBound
from chipmodel.passes.liveness import liveness, scopes
from chipmodel.passes.steady_state import unrolled
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.smallest_peak import with_smallest_peak
from chipmodel.verify.offsets_sweep import check_fast
from dma.schedule.build import StreamRequest
from dma.schedule.effort import StopCriterion
from dma.stream import streamer_named
from dma.streamers.race import StreamerRace
from solvers.branches.mergers import merge_arms
from solvers.core.deadline import NO_DEADLINE, Deadline
from solvers.core.outcome import Limits
from solvers.registry import packer_named
from solvers.squeeze import squeezed

TRUE_CONFLICTS = ("conflict", "exact")
"""The mergers that ask for nothing but that buffers alive together lie apart."""
ROUNDS = 16
"""Rounds of scheduling and packing; each gives up at least 1/64 of the memory."""
BOUND_SHARE = 0.35
"""Of the time until a deadline, what the bound that streamers stop at may take. Chosen."""
SCHEDULES_SHARE = 0.7
"""Of the rest, what the first schedules may take; then comes the packer. Chosen."""
LARGEST_SHARED_MEMORY = 1 << 32
"""Bytes up to which a capacity that would do is sought: 4 GiB, what 32-bit addresses reach."""


def plan(request: PlanRequest) -> Planned:
    """The first plan that fits SharedMemory, or else the one with the smallest peak.

    Raises DoesNotFit where no schedule is found at all, and, without spilling, where no plan fits: that
    message names the smallest capacity that would do.
    """
    began = perf_counter()
    try:
        planned = _rounds(request)
    except DoesNotFit as refusal:
        if request.spill:
            raise
        raise DoesNotFit(refusal.what, where=refusal.where, hint=_larger_memory(request)) from None
    capacity = request.chip.shared_memory.bytes
    if not request.spill and planned.solved.peak > capacity:
        raise DoesNotFit(
            f"packer {request.packer} needs {planned.solved.peak:,} B of {capacity:,} B; "
            + largest_live_set(planned.problem, planned.schedule),
            hint=_larger_memory(request),
        )
    if request.smallest_peak:
        return with_smallest_peak(planned, request, _left(request, began))
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


def smallest_capacity(request: PlanRequest) -> int | None:
    """The smallest SharedMemory, in bytes, that a bisection finds a plan without spilling for; None
    where even 4 GiB are too few, or where the deadline comes first. The plan for the returned size has been
    made and fits."""
    asked = replace(request, spill=False, limits=None, stop=None, smallest_peak=False)

    def does(size: int) -> bool:
        try:
            planned = _rounds(asked.with_chip(_with_memory(request.chip, size)))
        except DoesNotFit:
            return False
        return planned.solved.peak <= size

    step = request.chip.shared_memory.alignment
    high = 1
    while not does(high * step):
        high *= 2
        if high * step > LARGEST_SHARED_MEMORY or request.deadline.over:
            return None
    low = high // 2
    while low + 1 < high and not request.deadline.ends("the search for the smallest capacity"):
        middle = (low + high) // 2
        low, high = (low, middle) if does(middle * step) else (middle, high)
    return high * step


def one_path_bound(
    program: Program, chip: Chip, residency: bool, deadline: Deadline = NO_DEADLINE
) -> TimeBound | None:
    """``time_bound`` of a program that has one path; None of one with branches or loops. With ``residency``
    the sharper bound that knows which tensors must leave SharedMemory."""
    program = unrolled(program)
    one_path = all(isinstance(node, Op) for node in program.body)
    return time_bound(program, chip, {}, residency, deadline) if one_path else None


def _with_memory(chip: Chip, size: int) -> Chip:
    return replace(chip, shared_memory=replace(chip.shared_memory, bytes=size))


def _larger_memory(request: PlanRequest) -> str:
    size = None if request.deadline.over else smallest_capacity(request)
    if size is None and request.deadline.over:
        return (
            "more SharedMemory, --set shared_memory.bytes=..., or a longer --time-limit, which says how much "
            "is enough; or leave out --no-spill"
        )
    if size is None:
        return "no SharedMemory of up to 4 GiB would do without spilling"
    return (
        f"the smallest capacity that would do without spilling is {size:,} B: "
        f"--set shared_memory.bytes={size}; or leave out --no-spill"
    )


def _left(request: PlanRequest, began: float) -> Limits | None:
    """The limits of the next run of the packer."""
    limits = request.limits
    if request.deadline.left is None:
        return None if limits is None else replace(limits, seconds=limits.left(began))
    limits = replace(limits or packer_named(request.packer).limits, deadline=request.deadline)
    return replace(limits, seconds=limits.left(began))


def _rounds(request: PlanRequest) -> Planned:
    """Schedule and pack, in rounds: whoever finds no room tries again with less memory."""
    began = perf_counter()
    program, chip, deadline = request.program, request.chip, request.deadline
    capacity = chip.shared_memory.bytes
    portfolio = streamer_named(request.streamer)
    bound = None
    if portfolio.searches_offsets:
        bound = one_path_bound(program, chip, True, deadline.share(BOUND_SHARE))
    stop = request.stop or StopCriterion()
    stop = replace(stop, bound=bound.cycles if bound else 0, deadline=deadline.share(SCHEDULES_SHARE))
    asked = StreamRequest(program, chip, capacity, request.spill, packer_named(request.packer).tiers)
    race = StreamerRace(asked, portfolio, stop)
    best: Planned | None = None
    attempts: list[Attempt] = []
    while len(attempts) < ROUNDS * race.rounds:
        if attempts and deadline.ends("further rounds of scheduling and packing"):
            break
        entry = race.next()
        if entry is None:
            break
        tried = _packed(request, entry.schedule, _left(request, began))
        if portfolio.searches_offsets and request.merge in TRUE_CONFLICTS:
            solved = squeezed(tried.problem, tried.solved, capacity, deadline=deadline)
            tried = replace(tried, solved=solved)
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
        raise AssertionError(f"packer {request.packer} made a wrong plan: {faults[0]}")
    return replace(best, attempts=tuple(attempts), bound=bound)


def _packed(request: PlanRequest, schedule: Schedule, limits: Limits | None) -> Planned:
    problem = liveness(schedule, request.chip)
    section = scopes(schedule.body).section
    solved = merge_arms(problem, section, request.packer, request.merge, limits)
    return Planned(schedule, problem, solved, ())
