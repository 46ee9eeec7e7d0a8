"""One point of a study, answered: whatever goes wrong is a row as well."""

from __future__ import annotations

import traceback
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from time import perf_counter, process_time
from typing import TypeVar

from chipmodel.answers.packing import PackingAnswer
from chipmodel.answers.result import Result
from chipmodel.answers.study_results import KEY_DIGITS, contradictions
from chipmodel.answers.study_row import Improved, Point, Row, Status
from chipmodel.bounds.plugin_check import refuse_beaten
from chipmodel.bounds.time_bound import time_bound
from chipmodel.comparison.packing import checked_answer
from chipmodel.comparison.rows import warm_up
from chipmodel.errors import ChipmodelError, DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.machine.energy import result_energy
from chipmodel.machine.simulate import simulate
from chipmodel.model.fit import MemoryNeed, psram_bytes, used_weight_bytes
from chipmodel.model.plan import PackingTable, Problem
from chipmodel.model.program import Program
from chipmodel.model.time_bound import TimeBound
from chipmodel.passes.liveness import scopes
from chipmodel.passes.run_length import refuse_long_run
from chipmodel.pipeline.choices import DEFAULT_PACKER
from chipmodel.pipeline.multicore import run_cores
from chipmodel.pipeline.partition import assigned
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.quickest import TRUE_CONFLICTS
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.run import run_planned
from chipmodel.records import dataclass
from chipmodel.rewrites.compiled_weights import compiled
from chipmodel.rewrites.steady_state import inferences_of, unrolled
from chipmodel.studies.code_version import code_version, origin
from chipmodel.studies.task import PointTask
from chipmodel.studies.workload import Source
from chipmodel.verify.fast_offsets import check_fast
from dma.residency.fitted import fitted
from solvers.branches.mergers import DEFAULT_MERGE, merge_arms
from solvers.core.deadline import deadline_in
from solvers.core.outcome import Limits
from solvers.registry import packer_named

Workload = Program | PackingTable

K = TypeVar("K")
V = TypeVar("V")

KEPT_WORKLOADS = 4
KEPT_BOUNDS = 256
KEPT_SCHEDULES = 32
SCHEDULE_SHARE = 0.5
"""The share of a point's time limit that its schedule may take; the rest is the packer's (assumed)."""


@dataclass(frozen=True, slots=True)
class CaseSchedule:
    """The schedule whose buffers all packers of a case pack, or why there is none."""

    planned: Planned | DoesNotFit
    seconds: float
    """Processor time."""
    wall: float


@dataclass(frozen=True, slots=True)
class PlannedPoint:
    """A point's plan, and the seconds that went into it (see ``Row``)."""

    planned: Planned
    schedule_seconds: float
    packer_seconds: float


@dataclass
class WorkerCache:
    """Workloads, schedules and bounds that a worker keeps from earlier points, and how it loads workloads."""

    load: Callable[[Source], Workload]
    workloads: OrderedDict[Source, Workload] = field(default_factory=lambda: OrderedDict())
    schedules: OrderedDict[object, CaseSchedule] = field(default_factory=lambda: OrderedDict())
    bounds: OrderedDict[tuple[object, ...], tuple[TimeBound, float]] = field(
        default_factory=lambda: OrderedDict()
    )

    def workload(self, source: Source) -> Workload:
        """The workload, loaded once for the points that follow one another."""
        return _kept(self.workloads, source, lambda: self.load(source), KEPT_WORKLOADS)

    def schedule(self, task: PointTask, program: Program, chip: Chip) -> CaseSchedule:
        """The schedule of the point's case, made once for the packers that follow one another."""
        return _kept(self.schedules, task.case, lambda: _scheduled(task, program, chip), KEPT_SCHEDULES)

    def bound(
        self, task: PointTask, program: Program, chip: Chip, path: Mapping[str, str]
    ) -> tuple[TimeBound, float]:
        """Cycles that no plan of the point's space beats, and the processor time of the proof."""
        cascades = request_of(task, program, chip).cascades
        key = task.chip_digest, tuple(sorted(path.items())), cascades, tuple(program.ops())
        made = inferences_of(program, path)
        each = unrolled(program, made)

        def make() -> tuple[TimeBound, float]:
            began = process_time()
            bound = time_bound(each, chip, path, cascades=cascades, inferences=made or 1)
            return bound, process_time() - began

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
    try:
        row = _answer(task, kept)
        if faults := [*contradictions([row]).values()]:
            row = row.refused(_fault_words(task, faults[0]))
    except DoesNotFit as refusal:
        row = _without_plan(task, "does not fit", str(refusal))
    except ChipmodelError as refusal:
        row = failed(task, str(refusal))
    except Exception as fault:
        error = f"internal error: {type(fault).__name__}: {fault}\n{traceback.format_exc()}"
        row = failed(task, error)
    return replace(row, seconds=perf_counter() - began)


def _fault_words(task: PointTask, fault: str) -> str:
    """What a planner says that cannot be, of which point, and the command that answers it again."""
    point = task.point
    changes = (f"{name}={value}" for name, value in point.overrides)
    chosen = ", ".join(filter(None, (point.packer, point.merge, point.streamer, *changes)))
    where = f"{point.workload}{f' on {point.chip}' if point.chip else ''} with {chosen}"
    return f"{where}: {fault}; again: chipmodel study STUDY.yaml --only {task.key[:KEY_DIGITS]}"


def failed(task: PointTask, error: str) -> Row:
    """The row of a point that could not be answered."""
    return _without_plan(task, "failed", error)


def _without_plan(task: PointTask, status: Status, error: str) -> Row:
    return replace(_new_row(task, status), error=error)


def _new_row(task: PointTask, status: Status) -> Row:
    """The row of ``task`` with what it is known to come from."""
    return Row(
        task.point,
        task.key,
        status,
        0.0,
        code=code_version(),
        origin=origin(),
        answered=datetime.now(UTC).isoformat(timespec="seconds"),
        workload_digest=task.source.digest,
        chip_digest=task.chip_digest,
    )


def _answer(task: PointTask, kept: WorkerCache) -> Row:
    if task.error:
        return failed(task, task.error)
    workload = kept.workload(task.source)
    _warm(task.point.packer)
    if isinstance(workload, PackingTable):
        return _packed(task, workload)
    assert task.chip is not None, "a program runs on a chip"
    return _simulated(task, fitted(compiled(workload, task.chip), task.chip), task.chip, kept)


def _packed(task: PointTask, table: PackingTable) -> Row:
    """The peak is made small, whatever the capacity, and only then compared with it."""
    capacity = table.problem.capacity
    began = process_time()
    packing = pack_task(task, table)
    return replace(
        _new_row(task, _packing_status(packing, capacity, task.searches)),
        packer_seconds=process_time() - began,
        peak_bytes=packing.peak,
        peak_lower_bound_bytes=packing.lower_bound,
        capacity_bytes=capacity,
        trajectory=_trajectory([(p.seconds, p.peak, p.lower_bound) for p in packing.trajectory]),
        problem=_digest(table.problem),
    )


def pack_task(task: PointTask, table: PackingTable) -> PackingAnswer:
    """The smallest peak that the point's packer finds, whatever the capacity."""
    free = replace(table, problem=replace(table.problem, capacity=None), hints={})
    return checked_answer(free, task.point.workload, task.point.packer, _limits(task.point))


def _packing_status(packing: PackingAnswer, capacity: int | None, searches: bool) -> Status:
    if capacity is not None and packing.lower_bound > capacity:
        return "infeasible"
    if packing.peak is None or (capacity is not None and packing.peak > capacity):
        return "unknown" if searches else "does not fit"
    return packing.status


def _simulated(task: PointTask, program: Program, chip: Chip, kept: WorkerCache) -> Row:
    """What ``chipmodel simulate`` answers, but without the run with ``sync`` to compare with; and a packer
    that searches does not stop at the first plan that fits, so that peaks can be compared."""
    if reason := impossible(program, chip):
        return _without_plan(task, "impossible", reason)
    if chip.cores > 1:
        return _on_cores(task, program, chip)
    stages = plan_task(task, program, chip, kept)
    planned = stages.planned
    row = replace(
        _planned_row(task, planned, chip),
        schedule_seconds=stages.schedule_seconds,
        packer_seconds=stages.packer_seconds,
    )
    if not planned.solved.plan.offsets:
        return replace(row, error=f"packer {task.point.packer} has no plan within its limits")
    if exceeded := planned.fit(chip).exceeded:
        return replace(row, error=_too_large(exceeded))
    began = process_time()
    trace = planned.trace or simulate(planned.commands, chip, {})
    simulated = process_time() - began
    bound, seconds = kept.bound(task, planned.program, chip, trace.path)  # shared by rows of a question
    refuse_beaten(bound, chip, trace.cycles)
    result = run_planned(request_of(task, program, chip), replace(planned, trace=trace), {}, bound)
    return _timed(replace(row, bound_seconds=seconds, simulation_seconds=simulated), result)


def impossible(program: Program, chip: Chip) -> str:
    """Why no plan can fit, by bytes alone; empty where one may."""
    memory = "Psram" if chip.weights is None else "the memory of the weights"
    capacity = (chip.weights.memory if chip.weights else chip.psram).bytes
    weights = used_weight_bytes(program)
    if weights <= capacity:
        return ""
    return f"{memory}: {weights:,} B of weights, and {capacity:,} B of memory"


def _too_large(exceeded: Sequence[MemoryNeed]) -> str:
    return "; ".join(
        f"{need.memory}: {need.bytes:,} B needed, and {need.capacity_bytes:,} B of memory"
        for need in exceeded
    )


def _planned_row(task: PointTask, planned: Planned | Result, chip: Chip) -> Row:
    """The row of a plan that does not fit."""
    solved = planned.solved
    return replace(
        _new_row(task, "does not fit"),
        peak_bytes=solved.peak if solved.plan.offsets else None,
        peak_lower_bound_bytes=solved.lower_bound,
        merger_lower_bound_bytes=(
            solved.lower_bound if task.point.merge in TRUE_CONFLICTS else solved.merger_bound
        ),
        capacity_bytes=chip.shared_memory.bytes,
        psram_bytes=psram_bytes(planned.schedule, chip),
        psram_capacity_bytes=chip.psram.bytes,
        trajectory=_trajectory(solved.trajectory),
        problem=_digest(planned.problem),
    )


def request_of(task: PointTask, program: Program, chip: Chip) -> PlanRequest:
    """What the point asks of the pipeline: the smallest peak, within the study's limits."""
    point = task.point
    return PlanRequest(
        program,
        chip,
        point.packer,
        point.streamer,
        point.merge,
        limits=_limits(point),
        smallest_peak=True,
        cascade=point.cascade,
        deadline=deadline_in(point.time_limit),
    )


def _scheduled(task: PointTask, program: Program, chip: Chip) -> CaseSchedule:
    """The schedule that ``simulate`` makes with its own packer: the first one that this finds room for."""
    wall, began = perf_counter(), process_time()
    asked = replace(
        request_of(task, program, chip),
        packer=DEFAULT_PACKER,
        merge=DEFAULT_MERGE,
        limits=None,
        smallest_peak=False,
    )
    planned: Planned | DoesNotFit
    try:
        planned = plan(asked.until(asked.deadline.share(SCHEDULE_SHARE)))
    except DoesNotFit as refusal:
        planned = refusal
    return CaseSchedule(planned, process_time() - began, perf_counter() - wall)


def plan_task(task: PointTask, program: Program, chip: Chip, kept: WorkerCache) -> PlannedPoint:
    """The plan of the point on one core. Raises DoesNotFit where there is no schedule."""
    refuse_long_run(program, {})
    assigned(program, chip.cores)
    if task.point.buffers == "same":
        return _packed_again(task, kept.schedule(task, program, chip))
    began = process_time()
    planned = plan(request_of(task, program, chip))
    packer = planned.solved.seconds
    return PlannedPoint(planned, max(0.0, process_time() - began - packer), packer)


def _packed_again(task: PointTask, case: CaseSchedule) -> PlannedPoint:
    """The smallest peak that the point's packer finds for the buffers of its case."""
    if isinstance(case.planned, DoesNotFit):
        raise case.planned
    began = process_time()
    point, free = task.point, replace(case.planned.problem, capacity=None)
    section = scopes(case.planned.schedule.body).section
    limits = _limits(point)
    left = None if limits.seconds is None else max(0.0, limits.seconds - case.wall)
    solved = merge_arms(free, section, point.packer, point.merge, replace(limits, seconds=left))
    faults = check_fast(free, solved.plan) if solved.plan.offsets else ()
    if faults:
        raise AssertionError(f"packer {point.packer} made a wrong plan: {faults[0]}")
    planned = replace(case.planned, solved=solved, trace=None)
    return PlannedPoint(planned, case.seconds, process_time() - began)


def cores_task(task: PointTask, program: Program, chip: Chip) -> Result:
    """The point on several cores; the study's limits are for each plan of a core that is tried."""
    return run_cores(request_of(task, program, chip), {})


def _on_cores(task: PointTask, program: Program, chip: Chip) -> Row:
    """Peak, bound and problem are those of the core with the highest peak."""
    began = process_time()
    result = cores_task(task, program, chip)
    row = replace(
        _planned_row(task, result, chip),
        schedule_seconds=process_time() - began,
        capacity_bytes=result.capacity,
    )
    return _timed(row, result) if result.fits else replace(row, error=_too_large(result.fit.exceeded))


def _timed(row: Row, result: Result) -> Row:
    """The row of a plan that fits."""
    trace, energy = result.trace, result_energy(result)
    return replace(
        row,
        status=result.solved.status,
        total_cycles=trace.cycles,
        lower_bound_cycles=result.bound.cycles,
        bound_space=result.bound.space,
        sync_cycles=result.sync_cycles,
        npu_busy_cycles=trace.busy("npu"),
        dma_busy_cycles=trace.busy("dma"),
        milliseconds=result.chip.milliseconds(trace.cycles),
        microjoules=energy.microjoules if energy else None,
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
    free = point.time_limit is None and point.node_limit is None
    nodes = packer_named(point.packer).limits.nodes if free else point.node_limit
    return Limits(point.time_limit, nodes, point.seed, 1)


@cache
def _warm(packer: str) -> None:
    """Import and compile, so that no point's seconds have it in them."""
    warm_up([packer])
