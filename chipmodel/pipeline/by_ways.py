"""A plan in the fastest of the listed ways: one schedule, packed and simulated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter

from chipmodel.answers.result import Attempt
from chipmodel.bounds.columns import fastest_ways
from chipmodel.errors import DoesNotFit
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Op
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.rounds import packed, packer_limits
from dma.schedule.buffer_names import with_readable_names
from dma.schedule.build import StreamRequest
from dma.streamers.by_ways import program_in_ways, schedule_in_ways


def plan_by_ways(request: PlanRequest, path: Mapping[str, str]) -> Planned | None:
    """Return the plan of the fastest of the listed ways along ``path``.

    None where it does not fit SharedMemory, where the ways of an op are not listed, and for programs with
    branches, loops or several inferences, where nothing may leave SharedMemory, or on several cores. Raises
    TimeIsOver.
    """
    began = perf_counter()
    straight = all(isinstance(node, Op) for node in request.program.body) and request.program.inferences == 1
    if not straight or not request.spill or request.chip.cores > 1:
        return None
    chip, size = request.chip, request.chip.shared_memory.bytes
    ways = fastest_ways(request.program, chip, path, request.cascades, request.deadline)
    if ways is None:
        return None
    try:
        program = program_in_ways(request.program, ways)
        schedule = schedule_in_ways(StreamRequest(program, chip, size, request.spill), ways)
    except (DoesNotFit, ValueError):  # Other tensors leave too little room; too many steps for a cascade.
        return None
    planned = packed(request, with_readable_names(program, schedule), packer_limits(request, began))
    if planned.solved.peak > size:
        return None
    attempt = Attempt(size, planned.solved.peak, planned.solved.lower_bound)
    return replace(planned, trace=simulate(planned.commands, chip, path), attempts=(attempt,))
