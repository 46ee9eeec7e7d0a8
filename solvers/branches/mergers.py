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
from solvers.planner import Planner, by_name

DEFAULT_MERGE = "conflict"
EXACT = "exact"
"""The merger, and the packer that it runs."""
Merge = Callable[[Problem, Section, str, Limits | None], Solved]

ALGORITHM_2 = "Wang et al. 2025, Algorithm 2"
BEFORE = "Wang et al. 2025, before Algorithm 2 (a reading)"
MERGERS = tuple(
    Planner(name, "merger", f"solvers.branches.merge:{function}", title, source)
    for name, function, title, source in (
        ("none", "separate_blocks", "one block of memory for each arm", BEFORE),
        ("straight-line", "straight_line", "arms as straight code, one after another", BEFORE),
        ("unified-block", "unified_block", "one block for all arms, as large as the largest", ALGORITHM_2),
        (
            "unified-results",
            "unified_results",
            "one block for all arms, with their results",
            f"{ALGORITHM_2} as in its figure 2",
        ),
        ("conflict", "by_conflicts", "buffer by buffer; never worse than unified-block", "chipmodel"),
        ("exact", "proven", "the smallest peak, with proof; ignores the packer", "chipmodel"),
    )
)


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
