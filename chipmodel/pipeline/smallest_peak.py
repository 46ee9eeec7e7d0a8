"""The lowest peak of a schedule, whatever the memory that it was made for."""

from __future__ import annotations

from dataclasses import replace

from chipmodel.passes.liveness import scopes
from chipmodel.pipeline.request import Planned, PlanRequest
from solvers.branches.mergers import merge_arms
from solvers.core.anytime import status_of
from solvers.core.outcome import Limits
from solvers.registry import packer_named


def with_smallest_peak(planned: Planned, request: PlanRequest, limits: Limits) -> Planned:
    """``planned``, its schedule and so its packing problem the same, with the lowest peak that the request's
    packer finds within ``limits``.

    Left as they are: an optimal plan, the plan of a packer that does not search (the capacity is no aim for
    it), and that of merge ``exact``, which did not stop at the first plan that fits.
    """
    known = planned.solved
    if known.status == "optimal" or not packer_named(request.packer).searches or request.merge == "exact":
        return planned
    free = replace(planned.problem, capacity=None)
    section = scopes(planned.schedule.body).section
    found = merge_arms(free, section, request.packer, request.merge, limits)
    best = found if _lower(found.peak, known.peak) else known
    bound = found if found.lower_bound >= known.lower_bound else known
    solved = replace(
        best,
        lower_bound=bound.lower_bound,
        certificate=bound.certificate,
        proof=bound.proof,
        status=status_of(free, best.peak, bound.lower_bound) if best.peak else best.status,
        seconds=known.seconds + found.seconds,
        nodes=known.nodes + found.nodes,
        trajectory=found.trajectory,
    )
    return replace(planned, solved=solved, trace=None)  # The trace is of the offsets before.


def _lower(found: int, known: int) -> bool:
    """Whether the peak ``found`` is to be preferred to ``known``; 0 stands for no plan."""
    return bool(found) and (found <= known or not known)
