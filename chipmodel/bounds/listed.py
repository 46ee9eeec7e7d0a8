"""The bound of a result over the listed ways to run its ops, where it is higher than that of any plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from chipmodel.answers.result import Result
from chipmodel.bounds.columns import listed_bound
from chipmodel.errors import TimeIsOver
from chipmodel.model.time_bound import TimeBound, has_turns
from chipmodel.rewrites.steady_state import inferences_of, unrolled
from dma.columns.plan_ways import plan_ways
from solvers.core.deadline import NO_DEADLINE, Deadline

PART = "a bound over the listed ways"


def with_listed_bound(result: Result, deadline: Deadline = NO_DEADLINE) -> Result:
    """Return ``result`` with the higher bound of the listed plans, its own plan among them, if there is one:
    on one core, with the compiled kernel, and in time."""
    try:
        bound = higher_bound(result, result.bound, result.trace.path, result.trace.cycles, deadline)
    except TimeIsOver:
        deadline.ended(PART)
        return result
    return replace(result, bound=bound)


def higher_bound(
    result: Result,
    bound: TimeBound,
    path: Mapping[str, str],
    cycles: int,
    deadline: Deadline = NO_DEADLINE,
) -> TimeBound:
    """Return the bound along ``path`` over the listed ways, if it is higher than the one of any plan, and not
    above the ``cycles`` of the result's own: its plan runs ops twice, or in some way that is not listed."""
    if result.cores:
        return bound
    made = inferences_of(result.program, path)
    program, own = unrolled(result.program, made), plan_ways(result.schedule)
    listed = listed_bound(program, result.chip, path, has_turns(bound.space), own, made or 1, deadline)
    if listed is None or not bound.of_any_plan < listed.cycles <= cycles:
        return bound
    return replace(listed, any_plan=bound.of_any_plan)
