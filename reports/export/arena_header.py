"""An arena in two memories as a C++ header: a planner of TensorFlow Lite Micro's ``MicroMemoryPlanner``.

``MicroAllocator::Create`` takes it beside the arena (tensorflow/lite/micro/micro_allocator.h,
memory_planner/micro_memory_planner.h).
"""

from __future__ import annotations

from chipmodel.answers.arena import SplitArenaAnswer
from reports.export.c_names import commented, prefix_of
from reports.template import render_text


def arena_header(answer: SplitArenaAnswer) -> str:
    """The header's text; its namespace is called after the model."""
    tensors = [place for place in answer.places if place.request.tensor is not None]
    values = {"answer": answer, "tensors": tensors, "space": f"{prefix_of(answer.source)}_arena"}
    return render_text("arena.h.j2", values, {"commented": commented})
