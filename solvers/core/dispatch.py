"""Run a planner that supports lifetimes and alignment only: on a plain problem, on one with boxes around its
groups of colocated buffers, or for each memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import lcm

from chipmodel.errors import BadInput
from chipmodel.geometry.interval import merged
from chipmodel.geometry.rounding import round_up
from chipmodel.model.certificate import Certificate, excludes, rests_on
from chipmodel.model.plan import Buffer, Memory, Plan, Problem, Status
from chipmodel.records import dataclass
from solvers.core.anytime import status_of
from solvers.core.bounds import rigid
from solvers.core.bounds_certified import best_bound, quick_bound
from solvers.core.incumbent import Incumbent
from solvers.core.outcome import Limits, MemoryOverflow, Outcome, Report
from solvers.core.preprocess import highest_end, legal_offsets

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
    return _joined(problem, [(part, pack(part.problem)) for part in _parts(problem, packer)])


def search_plain(
    problem: Problem, packer: str, search: Search, limits: Limits, report: Report | None
) -> Outcome:
    """Return the outcome of ``search`` for ``problem``, or for the part in each of its memories, which gets
    an equal share of what is left of the limits. Groups of colocated buffers are packed as ``pack_plain``
    does. The status is unknown where a part does not fit its memory."""
    if problem.plain:
        return search(problem, limits, report)
    if problem.nested:
        return _of_boxes(problem, search(_boxes(problem), limits, report))
    parts, progress, nodes = _parts(problem, packer), Incumbent(report), 0
    certificate = best_bound(problem)
    bound = certificate.bytes or 0
    progress.raise_bound(bound)
    plans: list[tuple[MemoryPart, Plan]] = []
    for number, part in enumerate(() if excludes(certificate, problem.capacity) else parts):
        own = _share(limits, progress.left(limits), nodes, len(parts) - number)
        outcome = search(part.problem, own, None)
        nodes += outcome.nodes
        assert outcome.plan is not None
        plans.append((part, outcome.plan))
    plan, status, proof = _outcome(problem, plans, certificate)
    if plan and plan.offsets:
        progress.found(plan.peak(problem))
    return Outcome(status, plan, bound, nodes, proof, (), certificate, tuple(progress.points))


def _outcome(
    problem: Problem, plans: list[tuple[MemoryPart, Plan]], certificate: Certificate
) -> tuple[Plan | None, Status, str]:
    """The plan of the whole, its status, and what that rests on."""
    if excludes(certificate, problem.capacity):
        return None, "infeasible", rests_on(certificate)
    try:
        plan = _joined(problem, plans)
    except MemoryOverflow as overflow:
        return Plan({}), "unknown", str(overflow)
    if plan.peak(problem) == certificate.bytes:
        return plan, "optimal", rests_on(certificate)
    return plan, "feasible", "a plan that fits"


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
    return Plan({buffer.name: of_first[i] for i, buffer in enumerate(buffers)}, plan.arena)


@dataclass(frozen=True, slots=True)
class MemoryPart:
    """The part of a problem in ``memory``, as a plain one whose offset 0 is byte ``base`` of the whole."""

    memory: Memory
    base: int
    space: int
    """Bytes from ``base`` to the end of the memory or the capacity; negative if ``base`` is beyond."""
    problem: Problem


def by_memory(problem: Problem) -> list[MemoryPart] | None:
    """Return the plain problem of each memory that has buffers, in the order of the memories; None where a
    buffer may be in several, or where there are other constraints.

    A part begins at the first byte that is aligned for all of its buffers, so that aligned offsets in it are
    aligned in the whole. Empty buffers are in no part.
    """
    if not problem.memories or not replace(problem, memories=()).plain:
        return None
    only = problem.memories[0].name if len(problem.memories) == 1 else ""
    homes: dict[str, list[Buffer]] = {}
    for buffer in problem.buffers:
        named = set(buffer.memories) or {only}
        if len(named) > 1 or "" in named:
            return None
        homes.setdefault(named.pop(), []).append(replace(buffer, memories=()))
    used = [(m, [b for b in homes.get(m.name, ()) if b.bytes]) for m in problem.memories]
    return [_memory_part(memory, buffers, problem.capacity) for memory, buffers in used if buffers]


def _parts(problem: Problem, packer: str) -> list[MemoryPart]:
    """``by_memory``. Raises BadInput where ``packer`` cannot have its constraints."""
    if (parts := by_memory(problem)) is None:
        raise BadInput(
            f"packer {packer!r} keeps no constraints",
            hint="use --packer exact, which keeps them all; every packer keeps one memory for each buffer",
        )
    return parts


def _memory_part(memory: Memory, buffers: list[Buffer], capacity: int | None) -> MemoryPart:
    base = round_up(max(0, memory.start), lcm(*(b.alignment for b in buffers)))
    space = (memory.stop if capacity is None else min(memory.stop, capacity)) - base
    return MemoryPart(memory, base, space, Problem(tuple(buffers), max(0, space)))


def _joined(problem: Problem, plans: list[tuple[MemoryPart, Plan]]) -> Plan:
    offsets: dict[str, int] = {}
    for part, plan in plans:
        beyond = plan.peak(part.problem) - part.space
        if beyond > 0:
            raise MemoryOverflow(f"the plan for memory {part.memory.name!r} ends {beyond:,} B beyond it")
        offsets.update({name: part.base + offset for name, offset in plan.offsets.items()})
    for buffer in problem.buffers:
        if not buffer.bytes:
            offsets[buffer.name] = _offset_of_empty(problem, buffer)
    arena = max((part.base + plan.arena for part, plan in plans if plan.arena), default=0)
    return Plan({b.name: offsets[b.name] for b in problem.buffers}, arena)


def _offset_of_empty(problem: Problem, empty: Buffer) -> int:
    """The lowest legal offset of an empty buffer; at a border it belongs to the memory listed first."""
    limit = highest_end(problem) if problem.capacity is None else problem.capacity
    for ranges in legal_offsets(problem, empty, limit).values():
        for low, high in ranges:
            if round_up(low, empty.alignment) <= high:
                return round_up(low, empty.alignment)
    raise MemoryOverflow(f"buffer {empty.name!r} of no bytes has no aligned offset in its memory")


def _share(limits: Limits, seconds: float | None, nodes: int, parts: int) -> Limits:
    left = None if limits.nodes is None else (limits.nodes - nodes) // parts
    return replace(limits, seconds=None if seconds is None else seconds / parts, nodes=left)
