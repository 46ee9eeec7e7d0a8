"""One point of a study, answered: whatever goes wrong is a row as well."""

from __future__ import annotations

import traceback
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from time import perf_counter
from typing import TypeVar

from chipmodel.answers.packing import PackingAnswer
from chipmodel.answers.result import Result
from chipmodel.answers.study_row import Improved, Point, Row, Status
from chipmodel.bounds.plugin_check import refuse_beaten
from chipmodel.bounds.time_bound import time_bound
from chipmodel.comparison.packing import checked_answer
from chipmodel.comparison.rows import warm_up
from chipmodel.errors import ChipmodelError, DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.fit import psram_bytes
from chipmodel.model.packing import PackingTable
from chipmodel.model.plan import Problem
from chipmodel.model.program import Program
from chipmodel.model.time_bound import TimeBound
from chipmodel.model.trace import Trace
from chipmodel.passes.run_length import refuse_long_run
from chipmodel.pipeline.multicore import run_cores
from chipmodel.pipeline.partition import assigned
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.rewrites.compiled_weights import compiled
from chipmodel.rewrites.steady_state import inferences_of, unrolled
from chipmodel.studies.task import PointTask
from chipmodel.studies.workload import Source
from dma.residency.fitted import fitted
from solvers.core.outcome import Limits
from solvers.registry import packer_named

Workload = Program | PackingTable

K = TypeVar("K")
V = TypeVar("V")

KEPT_WORKLOADS = 4
KEPT_BOUNDS = 256
NODES = 2_000_000
"""The limit of a search for which the study sets none: by nodes, so that it has the same answer every
time."""


@dataclass
class WorkerCache:
    """Workloads and bounds that a worker keeps from earlier points, and how it loads workloads."""

    load: Callable[[Source], Workload]
    workloads: OrderedDict[Source, Workload] = field(default_factory=lambda: OrderedDict())
    bounds: OrderedDict[tuple[object, ...], TimeBound] = field(default_factory=lambda: OrderedDict())

    def workload(self, source: Source) -> Workload:
        """The workload, loaded once for the points that follow one another."""
        return _kept(self.workloads, source, lambda: self.load(source), KEPT_WORKLOADS)

    def bound(self, task: PointTask, program: Program, chip: Chip, path: Mapping[str, str]) -> TimeBound:
        """Cycles that no plan of the point's space beats, whatever the planners."""
        cascades = request_of(task, program, chip).cascades
        key = task.chip_digest, tuple(sorted(path.items())), cascades, tuple(program.ops())
        made = inferences_of(program, path)
        each = unrolled(program, made)

        def make() -> TimeBound:
            return time_bound(each, chip, path, cascades=cascades, inferences=made or 1)

        return _kept(self.bounds, key, make, KEPT_BOUNDS)


def _kept(known: OrderedDict[K, V], key: K, make: Callable[[], V], most: int) -> V:
    if key not in known:
        known[key] = make()
        if len(known) > most:
            known.popitem(last=False)
    known.move_to_end(key)
    return known[key]


def answer(task: PointTask, kept: WorkerCache) -> Row:
    """The row of ``task``. Never raises but for what ends a process."""
    began = perf_counter()
    status: Status
    try:
        row = _answer(task, kept)
        return replace(row, seconds=row.seconds or perf_counter() - began)
    except DoesNotFit as refusal:
        status, error = "does not fit", str(refusal)
    except ChipmodelError as refusal:
        status, error = "failed", str(refusal)
    except Exception as fault:
        status, error = "failed", f"internal error: {type(fault).__name__}: {fault}\n{traceback.format_exc()}"
    return Row(task.point, task.key, status, perf_counter() - began, error=error)


def failed(task: PointTask, error: str) -> Row:
    """The row of a point that could not be answered."""
    return Row(task.point, task.key, "failed", 0.0, error=error)


def _answer(task: PointTask, kept: WorkerCache) -> Row:
    if task.error:
        return failed(task, task.error)
    workload = kept.workload(task.source)
    _warm(task.point.packer, task.point.merge)
    if isinstance(workload, PackingTable):
        return _packed(task, workload)
    assert task.chip is not None, "a program runs on a chip"
    return _simulated(task, fitted(compiled(workload, task.chip), task.chip), task.chip, kept)


def _packed(task: PointTask, table: PackingTable) -> Row:
    """The peak is made small, whatever the capacity, and only then compared with it."""
    capacity = table.problem.capacity
    found = pack_task(task, table)
    return Row(
        point=task.point,
        key=task.key,
        status=_packing_status(found, capacity, task.searches),
        seconds=found.seconds,
        peak_bytes=found.peak,
        peak_lower_bound_bytes=found.lower_bound,
        capacity_bytes=capacity,
        trajectory=_trajectory([(p.seconds, p.peak, p.lower_bound) for p in found.trajectory]),
        problem=_digest(table.problem),
    )


def pack_task(task: PointTask, table: PackingTable) -> PackingAnswer:
    """The smallest peak that the point's packer finds, whatever the capacity."""
    free = replace(table, problem=replace(table.problem, capacity=None), hints={})
    return checked_answer(free, task.point.workload, task.point.packer, _limits(task.point))


def _packing_status(found: PackingAnswer, capacity: int | None, searches: bool) -> Status:
    if capacity is not None and found.lower_bound > capacity:
        return "infeasible"
    if found.peak is None or (capacity is not None and found.peak > capacity):
        return "unknown" if searches else "does not fit"
    return found.status


def _simulated(task: PointTask, program: Program, chip: Chip, kept: WorkerCache) -> Row:
    """What ``chipmodel simulate`` answers, but without the run with ``sync`` to compare with; and a packer
    that searches does not stop at the first plan that fits, so that peaks can be compared."""
    if chip.cores > 1:
        return _on_cores(task, program, chip)
    point = task.point
    began = perf_counter()
    planned = plan_task(task, program, chip)
    solved = planned.solved
    row = Row(
        point=point,
        key=task.key,
        status="does not fit",
        seconds=perf_counter() - began,
        peak_bytes=solved.peak if solved.plan.offsets else None,
        peak_lower_bound_bytes=solved.lower_bound,
        capacity_bytes=chip.shared_memory.bytes,
        psram_bytes=psram_bytes(planned.schedule, chip),
        psram_capacity_bytes=chip.psram.bytes,
        trajectory=_trajectory(solved.trajectory),
        problem=_digest(planned.problem),
    )
    if not row.fits:
        return row
    trace = planned.trace or simulate(planned.commands, chip, {})
    row = replace(row, status=solved.status, seconds=perf_counter() - began)
    sync = trace.cycles if point.streamer == "sync" else None
    # A streamer that asks what no plan is below has a sharper bound; rows of the same question share it.
    bound = planned.bound or kept.bound(task, planned.program, chip, trace.path)
    refuse_beaten(bound, chip, trace.cycles)
    return _timed(row, chip, trace, bound, sync)


def request_of(task: PointTask, program: Program, chip: Chip) -> PlanRequest:
    """What the point asks of the pipeline: the smallest peak, within the study's limits."""
    point = task.point
    limits = _limits(point)
    return PlanRequest(
        program,
        chip,
        point.packer,
        point.streamer,
        point.merge,
        limits=limits,
        smallest_peak=True,
        cascade=point.cascade,
    )


def plan_task(task: PointTask, program: Program, chip: Chip) -> Planned:
    """The plan of the point on one core."""
    refuse_long_run(program, {})
    assigned(program, chip.cores)
    return plan(request_of(task, program, chip))


def cores_task(task: PointTask, program: Program, chip: Chip) -> Result:
    """The point on several cores; the study's limits are for each plan of a core that is tried."""
    return run_cores(request_of(task, program, chip), {})


def _on_cores(task: PointTask, program: Program, chip: Chip) -> Row:
    """Peak, bound and problem are those of the core with the highest peak."""
    began = perf_counter()
    result = cores_task(task, program, chip)
    row = Row(
        point=task.point,
        key=task.key,
        status=result.solved.status if result.fits else "does not fit",
        seconds=perf_counter() - began,
        peak_bytes=result.solved.peak,
        peak_lower_bound_bytes=result.solved.lower_bound,
        capacity_bytes=result.capacity,
        psram_bytes=psram_bytes(result.schedule, chip),
        psram_capacity_bytes=chip.psram.bytes,
        trajectory=_trajectory(result.solved.trajectory),
        problem=_digest(result.problem),
    )
    if not result.fits:
        return row
    return _timed(row, chip, result.trace, result.bound, result.sync_cycles)


def _timed(row: Row, chip: Chip, trace: Trace, bound: TimeBound, sync: int | None) -> Row:
    return replace(
        row,
        total_cycles=trace.cycles,
        lower_bound_cycles=bound.cycles,
        bound_space=bound.space,
        sync_cycles=sync,
        npu_busy_cycles=trace.busy("npu"),
        dma_busy_cycles=trace.busy("dma"),
        milliseconds=chip.milliseconds(trace.cycles),
    )


def _digest(problem: Problem) -> str:
    return sha256(repr(replace(problem, capacity=None)).encode()).hexdigest()[:16]


def _trajectory(steps: Sequence[tuple[float, int | None, int]]) -> tuple[Improved, ...]:
    """Where the best plan or the bound changed."""
    kept: list[Improved] = []
    for step in steps:
        new = Improved(*step)
        if not kept or replace(kept[-1], seconds=new.seconds) != new:
            kept.append(new)
    return tuple(kept)


def _limits(point: Point) -> Limits:
    """Those of the study, or what the packer has of its own. One thread: the points run side by side."""
    own = packer_named(point.packer).limits
    nodes = point.node_limit
    if point.time_limit is None and nodes is None:
        nodes = NODES if point.merge == "exact" else own.nodes
    return Limits(point.time_limit, nodes, point.seed, 1)


@cache
def _warm(packer: str, merge: str) -> None:
    """Import and compile, so that no point's seconds have it in them."""
    warm_up([packer, "exact"] if merge == "exact" else [packer])
