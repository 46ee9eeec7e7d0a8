"""A quick plan of a program of which the weights alone are too many for the chip: no search can help it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from chipmodel.errors import DoesNotFit
from chipmodel.machine.simulate import simulate
from chipmodel.model.fit import too_many_weights
from chipmodel.pipeline.choices import CASCADE_AUTO, CASCADE_OFF
from chipmodel.pipeline.quickest import rank
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.rows_choice import plan_with_stripes
from dma.stream import streamer_named

ESTIMATES = ("weight-pipeline", "sync")
"""The streamers that estimate it."""


def plan_or_estimate(request: PlanRequest, path: Mapping[str, str] | None) -> Planned:
    """Plan as ``plan_with_stripes`` does; estimate the plan of a program of which the weights alone are too
    many for the chip, where there is a ``path`` to simulate. Raises DoesNotFit where there is no plan."""
    return (path is not None and _estimate(request, path)) or plan_with_stripes(request, path)


def _estimate(request: PlanRequest, path: Mapping[str, str]) -> Planned | None:
    """Return the faster of two quick plans instead of a searched one where no plan can fit: what the run
    would take is an estimate then. None for other programs and streamers."""
    if not streamer_named(request.streamer).paths or not too_many_weights(request.program, request.chip):
        return None
    cascade = CASCADE_OFF if request.cascade == CASCADE_AUTO else request.cascade
    asked = [replace(request, streamer=name, cascade=cascade, stop=None) for name in ESTIMATES]
    try:
        found = [_simulated(plan_with_stripes(each, path), request, path) for each in asked]
    except DoesNotFit:  # SharedMemory has no room for a plan without cascades.
        return None
    return min(found, key=lambda each: rank(request, path, each))


def _simulated(planned: Planned, request: PlanRequest, path: Mapping[str, str]) -> Planned:
    return replace(planned, trace=planned.trace or simulate(planned.commands, request.chip, path))
