"""Cores with memories of their own: as many plain problems as there are memories, each planned alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import lcm

from chipmodel.model.certificate import excludes, rests_on
from chipmodel.model.plan import Buffer, Memory, Plan, Problem, Status
from solvers.core.alignment import align
from solvers.core.bounds_certified import best_bound
from solvers.core.incumbent import Incumbent
from solvers.core.outcome import Limits, MemoryOverflow, Outcome, Progress, Report
from solvers.core.preprocess import highest_end, legal_offsets


@dataclass(frozen=True, slots=True)
class MemoryPart:
    """What of a problem lies in ``memory``, as a plain problem whose offset 0 is byte ``base`` of the
    whole."""

    memory: Memory
    base: int
    room: int
    """Bytes from ``base`` to the end of the memory or to the whole's capacity; negative where it is not
    reached."""
    problem: Problem


def by_memory(problem: Problem) -> list[MemoryPart] | None:
    """The plain problem of each memory that has buffers, in the order of the memories; None where a buffer
    may lie in several, or where anything else than memories constrains the offsets.

    A part begins at the first byte that is aligned for all of its buffers, so that aligned offsets in it are
    aligned in the whole. Buffers of no bytes are in no part.
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


def _memory_part(memory: Memory, buffers: list[Buffer], capacity: int | None) -> MemoryPart:
    base = align(max(0, memory.start), lcm(*(b.alignment for b in buffers)))
    room = (memory.stop if capacity is None else min(memory.stop, capacity)) - base
    return MemoryPart(memory, base, room, Problem(tuple(buffers), max(0, room)))


def pack_by_memory(problem: Problem, parts: list[MemoryPart], pack: Callable[[Problem], Plan]) -> Plan:
    """Every part planned by ``pack``, a packer of plain problems. Raises MemoryOverflow where a plan does
    not fit."""
    return _joined(problem, [(part, pack(part.problem)) for part in parts])


def _joined(problem: Problem, plans: list[tuple[MemoryPart, Plan]]) -> Plan:
    offsets: dict[str, int] = {}
    for part, plan in plans:
        beyond = plan.peak(part.problem) - part.room
        if beyond > 0:
            raise MemoryOverflow(f"the plan for memory {part.memory.name!r} ends {beyond:,} B beyond it")
        offsets.update({name: part.base + offset for name, offset in plan.offsets.items()})
    for buffer in problem.buffers:
        if not buffer.bytes:
            offsets[buffer.name] = _somewhere(problem, buffer)
    return Plan({b.name: offsets[b.name] for b in problem.buffers})


def _somewhere(problem: Problem, empty: Buffer) -> int:
    """The lowest offset that a buffer of no bytes may have: one at a border is in the first memory listed
    there."""
    limit = highest_end(problem) if problem.capacity is None else problem.capacity
    for ranges in legal_offsets(problem, empty, limit).values():
        for low, high in ranges:
            if align(low, empty.alignment) <= high:
                return align(low, empty.alignment)
    raise MemoryOverflow(f"buffer {empty.name!r} of no bytes has no aligned offset in its memory")


def search_by_memory(
    problem: Problem,
    parts: list[MemoryPart],
    search: Callable[[Problem, Limits, Report | None], Outcome],
    limits: Limits,
    report: Report | None,
) -> Outcome:
    """The same for a packer with limits that always has a plan; every part that is left has an equal share
    of them. A plan that does not fit its memory leaves it unknown whether there is one."""
    board = Incumbent(report)
    certificate = best_bound(problem, problem.capacity)
    bound = certificate.bytes or 0
    board.raise_bound(bound)
    if excludes(certificate, problem.capacity):
        points = tuple(board.points)
        return Outcome("infeasible", None, bound, 0, rests_on(certificate), (), certificate, points)
    plans: list[tuple[MemoryPart, Plan]] = []
    nodes = 0
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        own = _share(limits, board.left(limits), nodes, len(parts) - number)
        outcome = search(part.problem, own, _raised(board, part, plans) if last else None)
        nodes += outcome.nodes
        assert outcome.plan is not None
        plans.append((part, outcome.plan))
    try:
        plan = _joined(problem, plans)
    except MemoryOverflow as overflow:
        points = tuple(board.points)
        return Outcome("unknown", Plan({}), bound, nodes, str(overflow), (), certificate, points)
    board.found(plan.peak(problem))
    status: Status = "optimal" if plan.peak(problem) == bound else "feasible"
    proof = rests_on(certificate) if status == "optimal" else "a plan that fits"
    return Outcome(status, plan, bound, nodes, proof, (), certificate, tuple(board.points))


def _share(limits: Limits, seconds: float | None, nodes: int, parts: int) -> Limits:
    left = None if limits.nodes is None else (limits.nodes - nodes) // parts
    return replace(limits, seconds=None if seconds is None else seconds / parts, nodes=left)


def _raised(board: Incumbent, part: MemoryPart, plans: list[tuple[MemoryPart, Plan]]) -> Report:
    """What the last part's packer reports, as a peak of the whole; the bound of the whole is known
    already."""
    fit = all(plan.peak(other.problem) <= other.room for other, plan in plans)
    others = max((other.base + plan.peak(other.problem) for other, plan in plans), default=0)

    def tell(progress: Progress) -> None:
        board.stage(progress.stage)
        if fit and progress.peak is not None and progress.peak <= part.room:
            board.found(max(others, part.base + progress.peak))

    return tell
