"""Run a planner that supports lifetimes and alignment only: on a plain problem, on one with boxes around its
groups of colocated buffers, or for each memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import lcm

from chipmodel.errors import BadInput
from chipmodel.geometry.interval import merged
from chipmodel.model.certificate import excludes, rests_on
from chipmodel.model.plan import Buffer, Plan, Problem, Status
from solvers.core.anytime import status_of
from solvers.core.bounds import rigid
from solvers.core.bounds_certified import quick_bound
from solvers.core.by_memory import by_memory, pack_by_memory, search_by_memory
from solvers.core.outcome import Limits, Outcome, Report

Search = Callable[[Problem, Limits, Report | None], Outcome]


def pack_plain(problem: Problem, packer: str, pack: Callable[[Problem], Plan]) -> Plan:
    """Return the plan that ``pack`` makes of ``problem``, or of the part in each of its memories. A group of
    colocated buffers is packed as one, which is alive while any of them is.

    Raises BadInput where the problem has other constraints, MemoryOverflow where a part does not fit.
    """
    if problem.plain:
        return pack(problem)
    if problem.nested:
        return _of_members(problem, pack(_boxes(problem)))
    parts = by_memory(problem)
    if parts is None:
        raise _keeps_no_constraints(packer)
    return pack_by_memory(problem, parts, pack)


def search_plain(
    problem: Problem, packer: str, search: Search, limits: Limits, report: Report | None
) -> Outcome:
    """Return the outcome of ``search`` for ``problem``, or for the part in each of its memories. Groups of
    colocated buffers are packed as ``pack_plain`` does."""
    if problem.plain:
        return search(problem, limits, report)
    if problem.nested:
        return _of_boxes(problem, search(_boxes(problem), limits, report))
    parts = by_memory(problem)
    if parts is None:
        raise _keeps_no_constraints(packer)
    return search_by_memory(problem, parts, search, limits, report)


def _of_boxes(problem: Problem, found: Outcome) -> Outcome:
    """The answer for ``_boxes`` as one for ``problem``, of which its bound says nothing."""
    certificate = quick_bound(problem)
    bound = certificate.bytes or 0
    plan = None if found.plan is None else _of_members(problem, found.plan)
    status: Status = "infeasible" if excludes(certificate, problem.capacity) else "unknown"
    if plan is not None:
        status = status_of(problem, plan.peak(problem), bound)
    proof = rests_on(certificate) if status in ("optimal", "infeasible") else ""
    return replace(found, status=status, plan=plan, lower_bound=bound, proof=proof, certificate=certificate)


def _boxes(problem: Problem) -> Problem:
    """``problem`` with one buffer, named after the first, for each group of colocated buffers."""
    groups = ([problem.buffers[i] for i in group] for group in rigid(problem))
    return Problem(tuple(_box(group) for group in groups), problem.capacity)


def _box(members: Sequence[Buffer]) -> Buffer:
    live = merged(interval for member in members for interval in member.live)
    alignment = lcm(*(member.alignment for member in members))
    return Buffer(members[0].name, max(member.bytes for member in members), live, alignment)


def _of_members(problem: Problem, plan: Plan) -> Plan:
    """The plan of ``_boxes`` as one of ``problem``."""
    buffers, offsets = problem.buffers, plan.offsets
    of_first = {i: offsets[buffers[group[0]].name] for group in rigid(problem) for i in group}
    return Plan({buffer.name: of_first[i] for i, buffer in enumerate(buffers)})


def _keeps_no_constraints(packer: str) -> BadInput:
    return BadInput(
        f"packer {packer!r} keeps no constraints",
        hint="use --packer exact, which keeps them all; every packer keeps one memory for each buffer",
    )
