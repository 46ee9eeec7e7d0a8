"""The plan of a streamer that searches, beside that of the default one: the faster one simulated.

A search compares forecasts, which know no contention for banks or Psram, and a deadline may end it before it
has found anything good. So the whole plan of ``auto`` is made first, with the time that it has alone, and the
search begins with what that plan decided: which ops run twice, read their weights in place or are cut finer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from chipmodel.errors import DoesNotFit
from chipmodel.machine.simulate import simulate
from chipmodel.model.fit import too_many_weights
from chipmodel.model.program import Program
from chipmodel.pipeline.cascade_search import CascadeSearch
from chipmodel.pipeline.choices import CASCADE_AUTO, CASCADE_OFF, DEFAULT_STREAMER
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.rows_choice import plan_with_stripes
from chipmodel.pipeline.twice_choice import asked_of
from dma.stream import streamer_named

T = TypeVar("T")

ESTIMATES = ("weight-pipeline", "sync")
"""Streamers that estimate a program whose weights alone are too many for the chip: no search can help it."""
LEAST_SECONDS = 1.0
"""Seconds that the default's plan has in any case: networks of up to twenty ops take 0.6 to 1.3 s
(measured)."""


def begun_with_default(
    request: PlanRequest,
    make: Callable[[PlanRequest], T],
    rank: Callable[[T], tuple[bool, int]],
    program: Callable[[T], Program],
) -> tuple[T, T | None]:
    """Return the better of what ``make`` gives for ``request`` and for it with the default streamer, and the
    latter; None for that if the streamer does not search, or the default has no plan. The search has
    the ``program`` of the default's plan, which has ``LEAST_SECONDS`` at least; it is left out where the
    deadline comes before it. ``rank`` has first whether a plan does not fit. Raises DoesNotFit where neither
    has a plan."""
    if not streamer_named(request.streamer).searches_offsets:
        return make(request), None
    deadline = request.deadline
    if deadline.left is not None and deadline.left < LEAST_SECONDS:
        deadline = replace(deadline, until=None).within(LEAST_SECONDS)
    try:
        default = make(replace(request, streamer=DEFAULT_STREAMER, stop=None, deadline=deadline))
    except DoesNotFit:
        return make(request), None
    if not rank(default)[0] and request.deadline.ends(f"the search of streamer {request.streamer}"):
        return default, default
    try:
        own = make(asked_of(request, program(default)))
    except DoesNotFit:
        return default, default
    return min(own, default, key=rank), default


def plan_or_estimate(request: PlanRequest, path: Mapping[str, str] | None) -> Planned:
    """Plan as ``plan_with_stripes`` does; estimate the plan of a program of which the weights alone are too
    many for the chip, where there is a ``path`` to simulate. Raises DoesNotFit where there is no plan."""
    return (path is not None and _estimate(request, path)) or plan_with_stripes(request, path)


def _estimate(request: PlanRequest, path: Mapping[str, str]) -> Planned | None:
    """Return the faster of two quick plans instead of a searched one where no plan can fit, as the weights
    alone are too many: what the run would take is an estimate then. None for other programs and streamers."""
    streamer = streamer_named(request.streamer)
    searches = streamer.chooses_by_cycles or streamer.searches_offsets
    if not searches or not too_many_weights(request.program, request.chip):
        return None
    cascade = CASCADE_OFF if request.cascade == CASCADE_AUTO else request.cascade
    asked = [replace(request, streamer=name, cascade=cascade, stop=None) for name in ESTIMATES]
    try:
        found = [_simulated(plan_with_stripes(each, path), request, path) for each in asked]
    except DoesNotFit:  # SharedMemory has no room for a plan without cascades.
        return None
    return min(found, key=CascadeSearch(request, path, None).rank)


def _simulated(planned: Planned, request: PlanRequest, path: Mapping[str, str]) -> Planned:
    return replace(planned, trace=planned.trace or simulate(planned.commands, request.chip, path))
