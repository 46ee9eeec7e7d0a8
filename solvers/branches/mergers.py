"""The table of mergers: how the arms of a branch share memory, each with any packer.

A merger gets the problem with the true conflicts (see ``chipmodel.passes.liveness``) and the nesting of arms
and loops; whatever it decides, the offsets that it returns keep every true conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from chipmodel.model.nesting import Section
from chipmodel.model.plan import Problem, Solved
from chipmodel.model.planner_table import no_setting, row_named
from solvers.core.outcome import Limits
from solvers.planner import Planner, by_name, read_planners

DEFAULT_MERGE = "conflict"
EXACT = "exact"
"""The merger, and the packer that it runs."""
Merge = Callable[[Problem, Section, str, Limits | None], Solved]

MERGERS = tuple(row for row in read_planners() if row.kind == "merger")


def mergers() -> Mapping[str, Planner]:
    """Return the mergers by name, in the order in which they are listed."""
    return by_name(MERGERS)


def merger_named(name: str) -> Planner:
    """Return the merger of that name. Raises BadInput where there is none."""
    merger, setting = row_named("merger", name, mergers())
    if setting is not None:
        raise no_setting("merger", merger.name, setting)
    return merger


def packer_of_merge(merge: str, packer: str) -> str:
    """Return the packer that merger ``merge`` runs where ``packer`` is asked for: ``exact`` has its own."""
    return EXACT if merge == EXACT else packer


def merge_arms(
    problem: Problem, nesting: Section, packer: str, merge: str, limits: Limits | None = None
) -> Solved:
    """Plan ``problem``, whose positions ``nesting`` describes, with the packer and the merger of these names.

    ``exact`` ignores the packer. ``limits`` hold for every search. Raises BadInput for unknown names, and
    where the packer, or a block, does not support the problem's constraints.
    """
    function: Merge = merger_named(merge).load()
    return function(problem, nesting, packer, limits)
