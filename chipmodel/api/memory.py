"""The smallest SharedMemory that a workload runs in, and the cycles with more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from chipmodel.answers.memory import MemoryAnswer, MemoryPlan
from chipmodel.api.answer import Telling, ToldAnswer
from chipmodel.api.arguments import checked
from chipmodel.api.effort import Cancel, Progress, TimeLimit, observing
from chipmodel.api.settings import PlanSettings
from chipmodel.api.target import ChipSource, chip_of_one_core
from chipmodel.api.workload import WorkloadSource, load
from chipmodel.pipeline.choices import (
    CASCADE_AUTO,
    CASCADE_OFF,
    DEFAULT_CHIP,
    DEFAULT_PACKER,
    DEFAULT_STREAMER,
    MEMORY_POINTS,
)
from chipmodel.pipeline.smallest_memory import smallest_memory as find_smallest
from chipmodel.records import dataclass
from chipmodel.rewrites.in_place import reuse
from chipmodel.terminal.progress import stage
from reports.memory import headline, page


@dataclass(frozen=True, slots=True, repr=False)
class MemoryFront(ToldAnswer):
    """The least SharedMemory in which no tensor goes to Psram, layer by layer and with cascades, and the
    cycles for more of it. ``answer`` has every detail."""

    answer: MemoryAnswer
    telling = Telling(headline, page)

    @property
    def smallest_bytes(self) -> int:
        """Bytes of SharedMemory that suffice with cascades."""
        return self.answer.with_cascades.shared_memory_bytes

    @property
    def smallest_bytes_layer_by_layer(self) -> int:
        """Bytes of SharedMemory that suffice without cascades."""
        return self.answer.layer_by_layer.shared_memory_bytes

    @property
    def lower_bound_bytes(self) -> int:
        """Bytes below which no plan is, of the kind that ``headline`` says."""
        return self.answer.lower_bound_bytes

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """A size of SharedMemory a row, with cycles of both kinds of plans."""
        return [
            {
                "shared_memory_bytes": point.shared_memory_bytes,
                "cycles_layer_by_layer": _cycles(point.layer_by_layer),
                "cycles_with_cascades": _cycles(point.with_cascades),
            }
            for point in self.answer.front
        ]


def _cycles(plan: MemoryPlan | None) -> int | None:
    return None if plan is None else plan.total_cycles


@checked
def smallest_memory(
    workload: WorkloadSource,
    chip: ChipSource = DEFAULT_CHIP,
    *,
    packer: str = DEFAULT_PACKER,
    streamer: str = DEFAULT_STREAMER,
    gap: float | None = None,
    recompute: float | None = None,
    points: int = MEMORY_POINTS,
    time_limit: float | TimeLimit | None = None,
    cancel: Cancel | None = None,
    progress: Progress | None = None,
) -> MemoryFront:
    """Return the smallest SharedMemory that a workload runs in, and the cycles with more.

    Parameters
    ----------
    workload
        A .yaml, .onnx or .tflite file, ``zoo:NAME``, the contents of such a file, an ``onnx.ModelProto``, a
        ``Network`` or a ``Program``: whatever ``load`` takes.
    chip
        The chip, whatever the size of its SharedMemory; of one core.
    packer, streamer
        Names of planners.
    gap
        The share above the bound at which streamer ``exact`` ends.
    recompute
        The most multiply-accumulates of a plan, in multiples of the workload's, if cascades may compute rows
        again for less memory; None: they keep rows.
    points
        How many sizes are planned, from the smallest to one in which everything fits.
    time_limit
        Seconds, or a ``TimeLimit`` that several calls share; then the search ends with what it has.
    cancel
        Is asked now and then whether to end so.
    progress
        Receives a line for every stage.

    Raises
    ------
    BadInput
        If the workload or chip cannot be read, or the chip has several cores.
    DoesNotFit
        If no size suffices.
    """
    settings = PlanSettings(
        packer,
        streamer,
        cascade=CASCADE_OFF if recompute is None else CASCADE_AUTO,
        gap=gap,
        recompute=recompute,
        time_limit=time_limit,
        cancel=cancel,
        progress=progress,
    )
    with observing(settings.progress):
        target = chip_of_one_core(chip, "memory")
        asked = settings.request(load(workload, time_limit=settings.limit), target, fits=False)
        with stage(f"planning {asked.program.name}") as say:
            program = reuse(asked.program, settings.in_place)
            asked = replace(asked, program=program, stop=settings.stop(), deadline=settings.limit.deadline)
            answer = find_smallest(asked, points, say)
    return MemoryFront(replace(answer, cut_short=settings.limit.cut_short))
