"""Run a planner that supports lifetimes and alignment only: on a plain problem, or for each memory."""

from __future__ import annotations

from collections.abc import Callable

from chipmodel.errors import BadInput
from chipmodel.model.plan import Plan, Problem
from solvers.core.by_memory import by_memory, pack_by_memory, search_by_memory
from solvers.core.outcome import Limits, Outcome, Report

Search = Callable[[Problem, Limits, Report | None], Outcome]


def pack_plain(problem: Problem, packer: str, pack: Callable[[Problem], Plan]) -> Plan:
    """Return the plan that ``pack`` makes of ``problem``, or of the part in each of its memories.

    Raises BadInput where the problem has other constraints, MemoryOverflow where a part does not fit.
    """
    if problem.plain:
        return pack(problem)
    parts = by_memory(problem)
    if parts is None:
        raise _keeps_no_constraints(packer)
    return pack_by_memory(problem, parts, pack)


def search_plain(
    problem: Problem, packer: str, search: Search, limits: Limits, report: Report | None
) -> Outcome:
    """Return the outcome of ``search`` for ``problem``, or for the part in each of its memories."""
    if problem.plain:
        return search(problem, limits, report)
    parts = by_memory(problem)
    if parts is None:
        raise _keeps_no_constraints(packer)
    return search_by_memory(problem, parts, search, limits, report)


def _keeps_no_constraints(packer: str) -> BadInput:
    return BadInput(
        f"packer {packer!r} keeps no constraints",
        hint="use --packer exact, which keeps them all; every packer keeps one memory for each buffer",
    )
