"""A plan packed for the smallest peak, where its packer stopped at the first one that fits the chip."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chipmodel.passes.liveness import scopes
from solvers.branches.mergers import merge_arms
from solvers.registry import judge, packer_named

if TYPE_CHECKING:
    from chipmodel.pipeline.single_core import Planned
    from solvers.core.outcome import Limits


def with_smallest_peak(planned: Planned, packer: str, merge: str, limits: Limits | None = None) -> Planned:
    """``planned``, its schedule and so its packing problem the same, with the lowest peak that ``packer``
    finds within ``limits``.

    What asks nothing more is left as it is: an optimal plan, that of a packer that does not search, for which
    the capacity is no aim, and of merge ``exact``, which did not stop there.
    """
    known = planned.solved
    if known.status == "optimal" or not packer_named(packer).searches or merge == "exact":
        return planned
    free = replace(planned.problem, capacity=None)
    found = merge_arms(free, scopes(planned.schedule.body).section, packer, merge, limits)
    best = found if _lower(found.peak, known.peak) else known
    bound = found if found.lower_bound >= known.lower_bound else known
    solved = replace(
        best,
        lower_bound=bound.lower_bound,
        certificate=bound.certificate,
        proof=bound.proof,
        status=judge(free, best.peak, bound.lower_bound) if best.peak else best.status,
        seconds=known.seconds + found.seconds,
        nodes=known.nodes + found.nodes,
        trajectory=found.trajectory,
    )
    return replace(planned, solved=solved)


def _lower(found: int, known: int) -> bool:
    """Whether a peak counts before another, where 0 is that of no plan."""
    return bool(found) and (found <= known or not known)
