"""Ops that run twice (``chipmodel.rewrites.made_twice``), where tensors before a squeeze and excitation move.

The plan with them is made beside the plan without, and kept if it is the only one or the faster one,
simulated. A streamer that searches begins with the ops of the default's plan.

Source: chipmodel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from chipmodel.cascades.recomputed import computed
from chipmodel.errors import DoesNotFit
from chipmodel.model.program import Program
from chipmodel.pipeline.choices import CASCADE_AUTO, VENDOR_STREAMER
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.weight_choice import Judged
from chipmodel.rewrites.made_twice import made_twice, squeezed_blocks, worth_twice
from dma.stream import streamer_named

Make = Callable[[PlanRequest], Planned]
Judge = Callable[[PlanRequest, Planned], Judged]


def asked_of(request: PlanRequest, program: Program) -> PlanRequest:
    """Return ``request`` for other ops, with the same limit on multiply-accumulates."""
    most = request.recompute
    if most is not None and (done := computed(program)):
        most *= computed(request.program) / done
    return replace(request, program=program, recompute=most)


def begins_with_choices(request: PlanRequest) -> bool:
    """Whether the streamer begins with what others chose: a board's own tool, or the default's plan."""
    return request.streamer == VENDOR_STREAMER or streamer_named(request.streamer).searches_offsets


def plan_once_or_twice(request: PlanRequest, make: Make, judge: Judge) -> Planned:
    """Return the better one of the plans that ``make`` gives for ``request`` and for the same with ops that
    run twice, if the request leaves cascades to the planner. Raises DoesNotFit where neither has a plan."""
    if (
        request.cascade != CASCADE_AUTO
        or begins_with_choices(request)
        or not worth_twice(request.program, 0, request.recompute)
    ):
        return make(request)
    plain, refusal = planned_or_refused(request, make)
    names = _moving(request, plain)
    if names and not (plain and request.deadline.ends("plans with ops that run twice")):
        asked = asked_of(request, made_twice(request.program, names))
        other, _ = planned_or_refused(asked, make)
        if other and (plain is None or judge(asked, other).rank < judge(request, plain).rank):
            return other
    if plain is None:
        raise refusal or AssertionError("a plan or a refusal")
    return plain


def planned_or_refused(request: PlanRequest, make: Make) -> tuple[Planned | None, DoesNotFit | None]:
    """Return the plan that ``make`` gives, or its DoesNotFit."""
    try:
        return make(request), None
    except DoesNotFit as refusal:
        return None, refusal


def _moving(request: PlanRequest, plain: Planned | None) -> frozenset[str]:
    """The blocks of which a plan moves tensors that they read or make; all of them where there is no plan."""
    names = worth_twice(request.program, 0, request.recompute)
    if plain is None:
        return names
    moved = {each.part.name for each in plain.schedule.transfers if not each.part.weights}
    moved -= {*request.program.inputs}
    blocks = (block for block in squeezed_blocks(request.program) if block.name in names)
    return frozenset(block.name for block in blocks if not moved.isdisjoint(block.tensors))
