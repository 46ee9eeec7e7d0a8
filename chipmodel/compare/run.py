"""Several planners on one workload: all packers get the same problem, and all streamers the same program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter

from chipmodel.chip.chip import Chip
from chipmodel.compare.cores import (
    core_problems,
    merger_row_of_cores,
    one_after_another,
    packer_row_of_cores,
)
from chipmodel.compare.rows import merger_row, packer_row, warm_up
from chipmodel.errors import DoesNotFit
from chipmodel.model.comparison import PackerRow, PlannerComparison, StreamerRow
from chipmodel.model.plan import Problem
from chipmodel.model.program import Program
from chipmodel.model.result import Result
from chipmodel.passes.in_place import InPlace
from chipmodel.passes.liveness import liveness, scopes
from chipmodel.pipeline import multicore, single_core
from chipmodel.pipeline.order_choice import OrderWish
from chipmodel.pipeline.order_plans import order_of_run
from chipmodel.pipeline.partition import assigned
from chipmodel.terminal.progress import stage
from dma.schedule.effort import Stop
from dma.stream import stream
from solvers.core.outcome import Limits
from workloads.packing.problem_csv import PackingTable


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """A program on a chip, the planners to compare, and for each kind the one that the other kinds run with.

    ``choices`` is the path of the runs. ``limits`` are for each packer and merger; its seconds are also for
    each streamer that tries many schedules.
    """

    program: Program
    chip: Chip
    packer: str
    streamer: str
    spill: bool
    choices: Mapping[str, str]
    merge: str = "conflict"
    packers: tuple[str, ...] = ()
    merges: tuple[str, ...] = ()
    streamers: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)

    @property
    def merger_pairs(self) -> list[tuple[str, str]]:
        """Each merger with each packer, or with the one packer of the runs where none are compared."""
        return [(merge, packer) for merge in self.merges for packer in self.packers or (self.packer,)]


def compare_packing(
    table: PackingTable, source: str, packers: Sequence[str], limits: Limits
) -> PlannerComparison:
    """The ``packers`` on the problem of ``table``: each makes the peak small without knowing the capacity,
    which is only compared with the peaks afterwards. Hints are not used."""
    free = replace(table, problem=replace(table.problem, capacity=None), hints={}, notes=())
    return PlannerComparison(
        source=Path(source).name or source,
        chip="",
        problem=free.problem,
        capacity=table.problem.capacity,
        packed=_packer_rows(free, source, packers, limits),
    )


def compare_in_order(request: ComparisonRequest, in_place: InPlace, wish: OrderWish) -> PlannerComparison:
    """``compare_program`` in the order of ops that the request's packer and streamer choose; no op of the
    request's program is marked as in place yet."""

    def run(program: Program, choices: Mapping[str, str]) -> Result:
        with stage(f"planning and simulating {program.name}"):
            return _run(replace(request, program=program, choices=choices), request.streamer)

    chosen = order_of_run(request.program, in_place, wish, run, request.choices)
    comparison = compare_program(replace(request, program=chosen.program))
    return replace(comparison, ordering=chosen.ordering)


def compare_program(request: ComparisonRequest) -> PlannerComparison:
    """Packers and mergers on the buffers of the request's streamer, which may use the whole SharedMemory, and
    whole runs with each streamer. Raises DoesNotFit where the request's streamer has no schedule."""
    if request.chip.cores > 1:
        return _compare_on_cores(request)
    program, chip = request.program, request.chip
    assigned(program, chip.cores)
    capacity = chip.shared_memory.bytes
    problem, merged = Problem(()), []
    if request.packers or request.merges:
        with stage(f"scheduling {program.name}"):
            schedule = stream(program, chip, request.streamer, capacity, request.spill)
        problem = replace(liveness(schedule, chip), capacity=None)
        nesting = scopes(schedule.body).section
        warm_up([packer for _, packer in request.merger_pairs])
        merged = [
            merger_row(problem, nesting, merge, packer, request.limits)
            for merge, packer in request.merger_pairs
        ]
    table = PackingTable(problem, (), (), {})
    return PlannerComparison(
        source=program.name,
        chip=chip.name,
        problem=problem,
        capacity=capacity,
        streamer=request.streamer,
        packer=request.packer,
        packed=_packer_rows(table, program.name, request.packers, request.limits),
        streamed=_streamer_rows(request),
        merged=tuple(merged),
    )


def _compare_on_cores(request: ComparisonRequest) -> PlannerComparison:
    program, chip, limits = request.program, request.chip, request.limits
    pairs = request.merger_pairs
    planners = (request.packer, request.streamer, request.spill, request.choices, request.merge)
    found = core_problems(multicore.Setting(program, chip, *planners)) if request.packers or pairs else []
    warm_up([*request.packers, *(packer for _, packer in pairs)])
    problems = [problem for problem, _ in found]
    return PlannerComparison(
        source=program.name,
        chip=f"{chip.cores} cores of {chip.name}",
        problem=one_after_another(problems),
        capacity=chip.shared_memory.bytes,
        streamer=request.streamer,
        packer=request.packer,
        packed=tuple(packer_row_of_cores(problems, program.name, name, limits) for name in request.packers),
        streamed=_streamer_rows(request),
        merged=tuple(merger_row_of_cores(found, merge, packer, limits) for merge, packer in pairs),
    )


def _packer_rows(
    table: PackingTable, source: str, packers: Sequence[str], limits: Limits
) -> tuple[PackerRow, ...]:
    warm_up(packers)
    return tuple(packer_row(table, source, name, limits) for name in packers)


def _streamer_rows(request: ComparisonRequest) -> tuple[StreamerRow, ...]:
    """A row for each streamer, all with the best lower bound that any of them has."""
    rows = [_streamer_row(request, name) for name in request.streamers]
    best = max((row.lower_bound for row in rows), default=0)
    return tuple(row if row.cycles is None else replace(row, lower_bound=best) for row in rows)


def _run(request: ComparisonRequest, streamer: str) -> Result:
    return single_core.run(
        request.program,
        request.chip,
        request.packer,
        streamer,
        spill=request.spill,
        choices=request.choices,
        merge=request.merge,
        stop=Stop(request.limits.seconds),
    )


def _streamer_row(request: ComparisonRequest, streamer: str) -> StreamerRow:
    began = perf_counter()
    try:
        with stage(f"planning and simulating {request.program.name} with {streamer}"):
            result = _run(request, streamer)
    except DoesNotFit as refusal:
        return StreamerRow(streamer, refused=refusal.what)
    return StreamerRow(
        streamer,
        cycles=result.trace.cycles,
        lower_bound=result.lower_bound_cycles,
        sync_cycles=result.sync_cycles,
        milliseconds=request.chip.milliseconds(result.trace.cycles),
        peak=result.solved.peak,
        fits=result.fits,
        seconds=perf_counter() - began,
    )
