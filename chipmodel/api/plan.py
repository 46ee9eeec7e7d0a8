"""Plan a workload: offsets and commands, without a simulation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from chipmodel.answers.result import Ordering
from chipmodel.api.answer import TableAnswer
from chipmodel.api.arguments import checked_with
from chipmodel.api.effort import observing
from chipmodel.api.settings import PlanOptions, PlanSettings
from chipmodel.api.target import ChipSource, chip as chip_of
from chipmodel.api.workload import WorkloadSource, load
from chipmodel.bounds.time_bound import time_bound
from chipmodel.errors import BadInput
from chipmodel.files.atomic_write import write_atomically
from chipmodel.hardware.chip import Chip
from chipmodel.model.commands import Command
from chipmodel.model.fit import Fit
from chipmodel.model.program import Program
from chipmodel.model.time_bound import TimeBound
from chipmodel.pipeline.choices import DEFAULT_CHIP
from chipmodel.pipeline.order_choice import order_of_plan
from chipmodel.pipeline.plan import plan as plan_program
from chipmodel.pipeline.plan_export import plan_of_planned
from chipmodel.pipeline.request import Planned
from chipmodel.plan_file.contents import PlanFile
from chipmodel.plan_file.text import write_plan
from chipmodel.records import dataclass
from chipmodel.rewrites.op_order import names_in_order
from chipmodel.rewrites.steady_state import unrolled
from chipmodel.terminal.progress import stage
from dma.schedule.path_forecast import ScheduleForecast
from reports.ordering import order_words
from reports.page_parts import PageTable, TablePage

ORDER_SHARE = 0.4
"""The share of the time left that each of several orders of ops may take, so that a second one has some."""


@dataclass(frozen=True, slots=True, repr=False)
class ProgramPlan(TableAnswer):
    """An offset for every buffer, and the commands of the sequencer and the DMA engine."""

    program: Program
    """The program that was planned, in the order in which it runs."""
    chip: Chip
    planned: Planned
    forecast_cycles: float
    """Cycles where nothing contends for a memory."""
    bound: TimeBound | None
    """A lower bound on the cycles of every plan in ``bound.space``; None where there was no time for one."""
    ordering: Ordering | None = None
    """The result of each order of ops, if one was asked for."""
    cut_short: tuple[str, ...] = ()
    """The parts that a time limit ended early or left out."""

    @property
    def fit(self) -> Fit:
        """The bytes that it needs in the memories of the chip."""
        return self.planned.fit(self.chip)

    @property
    def fits(self) -> bool:
        """Whether it is within all memories of the chip."""
        return self.fit.fits

    @property
    def peak_bytes(self) -> int:
        """Bytes of SharedMemory that it takes."""
        return self.planned.solved.peak

    @property
    def gap(self) -> float | None:
        """The cycles of the forecast above the bound, as a share of it; None without one."""
        return self.forecast_cycles / self.bound.cycles - 1 if self.bound and self.bound.cycles else None

    @property
    def commands(self) -> tuple[Command, ...]:
        """The commands of the sequencer and the DMA engine."""
        return self.planned.commands

    @property
    def file(self) -> PlanFile:
        """The content of a plan file."""
        names = names_in_order(self.program) if self.ordering else ()
        chip = self.chip
        called = chip.source or chip.name
        return plan_of_planned(self.planned, chip, called, chip.overrides, names)

    def headline(self) -> str:
        """Peak, forecast and bound in a sentence."""
        peak = f"peak {self.peak_bytes:,} B of {self.chip.shared_memory.bytes:,} B"
        times = f"forecast {self.forecast_cycles:,.0f} cycles"
        if self.bound:
            gap = "" if self.gap is None else f", gap {self.gap:.1%}"
            times += f", bound {self.bound.cycles:,}{gap} ({self.bound.space})"
        return f"{self.program.name} on {self.chip.name}: {peak}; {times}"

    def remarks(self) -> tuple[str, ...]:
        """The order of ops and the cascades, where there are any."""
        named = ", ".join(cascade.name for cascade in self.planned.schedule.cascades)
        ordered = (f"order of ops: {order_words(self.ordering)}",) if self.ordering else ()
        return (*ordered, f"cascades: {named}") if named else ordered

    def to_dict(self) -> dict[str, Any]:
        """The document of ``chipmodel plan``."""
        document: dict[str, Any] = json.loads(self.to_json())
        return document

    def to_json(self) -> str:
        """The text of a plan file, as ``check`` reads it."""
        return write_plan(self.file)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """A buffer a row."""
        return [
            {
                "buffer": buffer.name,
                "offset": buffer.offset,
                "bytes": buffer.bytes,
                "first_position": min((live.start for live in buffer.live), default=0),
                "end_position": max((live.stop for live in buffer.live), default=0),
            }
            for buffer in self.file.buffers
        ]

    def table_page(self) -> TablePage:
        """What the page says, with the offset and lifetime of every buffer."""
        rows = [[row["buffer"], *(f"{row[key]:,}" for key in list(row)[1:])] for row in self.rows()]
        heads = ("buffer", ">offset", ">bytes", ">first position", ">end position")
        hint = "A buffer is alive from its first position up to its end; a position is a step of the plan."
        table = PageTable("buffers", "Buffers", heads, rows, hint)
        sentences = (self.headline(), *self.remarks())
        return TablePage("plan", self.program.name, f"on {self.chip.name}", sentences, (table,))

    def write(self, path: str | Path) -> None:
        """Write a plan file, whole or not at all. Raises BadInput where that cannot be."""
        write_atomically(Path(path), self.to_json())


@checked_with(streamer="exact")
def plan(
    workload: WorkloadSource, chip: ChipSource = DEFAULT_CHIP, **options: Unpack[PlanOptions]
) -> ProgramPlan:
    """Plan a workload on a chip of one core: offsets and commands, without a simulation.

    The default streamer is ``exact``, which searches longer than ``auto``, that of ``simulate``: a plan is
    made once and kept.

    A plan that is too large for the chip is an answer, with ``fits`` False.

    Parameters
    ----------
    workload
        A .yaml, .onnx or .tflite file, ``zoo:NAME``, the contents of such a file, an ``onnx.ModelProto``, a
        ``Network`` or a ``Program``: whatever ``load`` takes.
    chip
        A preset's name, the path of a chip file, a mapping with its keys, or a ``Chip``.
    **options
        Those of ``PlanOptions``.

    Raises
    ------
    BadInput
        If the workload or chip cannot be read, or an option is not known.
    DoesNotFit
        If there is no plan at all.

    Examples
    --------
    >>> plan("zoo:ds_cnn", "gap9").fits
    True
    """
    options.setdefault("streamer", "exact")
    settings = PlanSettings(**options)
    limit = settings.limit
    with observing(settings.progress):
        target = chip_of(chip)
        loaded = load(workload, time_limit=settings.limit)
        asked = settings.request(loaded, target)
        if target.cores > 1:
            command, call = "chipmodel simulate WORKLOAD --plan FILE", "simulate(WORKLOAD).write_plan(FILE)"
            hint = f"plan it by {command}, or {call}"
            raise BadInput(f"the chip has {target.cores} cores", hint=hint)

        def planned_in(program: Program) -> Planned:
            with stage(f"planning {program.name}") as say:
                until = limit.deadline.share(ORDER_SHARE if settings.order != "given" else 1.0)
                return plan_program(replace(asked, program=program, stop=settings.stop(say), deadline=until))

        with settings.naming_enough_memory(loaded, target):
            chosen = order_of_plan(settings.order_of(asked.program), target, planned_in)
            planned = chosen.planned or planned_in(chosen.program)
        program = planned.program
        with stage(f"bounding the cycles of {program.name}"):
            once = unrolled(program)
            bound = (
                time_bound(once, target, {}, asked.cascades, program.inferences) if once.is_straight else None
            )
    return ProgramPlan(
        program=program,
        chip=target,
        planned=planned,
        forecast_cycles=ScheduleForecast(program, target).cycles(planned.schedule),
        bound=bound,
        ordering=chosen.ordering,
        cut_short=limit.cut_short,
    )
