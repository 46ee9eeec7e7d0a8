"""How a packer that keeps no constraints is run: on a plain problem, or on that of each memory."""

from __future__ import annotations

from collections.abc import Callable

from chipmodel.errors import BadInput
from chipmodel.model.plan import Plan, Problem
from solvers.core.outcome import Limits, Outcome, Report

Search = Callable[[Problem, Limits, Report | None], Outcome]


def plainly(problem: Problem, packer: str, pack: Callable[[Problem], Plan]) -> Plan:
    """What ``pack``, which keeps no constraints, makes of ``problem``, or of the part in each of its
    memories."""
    if problem.plain:
        return pack(problem)
    from solvers.core.by_memory import by_memory, pack_by_memory

    parts = by_memory(problem)
    if parts is None:
        raise _keeps_none(packer)
    return pack_by_memory(problem, parts, pack)


def climbing(problem: Problem, packer: str, search: Search, limits: Limits, report: Report | None) -> Outcome:
    """The same for one that keeps limits."""
    if problem.plain:
        return search(problem, limits, report)
    from solvers.core.by_memory import by_memory, search_by_memory

    parts = by_memory(problem)
    if parts is None:
        raise _keeps_none(packer)
    return search_by_memory(problem, parts, search, limits, report)


def _keeps_none(packer: str) -> BadInput:
    return BadInput(
        f"packer {packer!r} keeps no constraints",
        hint="use --packer exact, which keeps them all; every packer keeps one memory for each buffer",
    )
