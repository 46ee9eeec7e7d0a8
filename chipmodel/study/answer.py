"""One point of a study, answered: whatever goes wrong is a row as well."""

from __future__ import annotations

import traceback
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

from chipmodel.errors import ChipmodelError, DoesNotFit
from chipmodel.model.study_row import Improved, Point, Row, Status

if TYPE_CHECKING:
    from chipmodel.chip.chip import Chip
    from chipmodel.model.packing_answer import PackingAnswer
    from chipmodel.model.plan import Problem
    from chipmodel.model.program import Program
    from chipmodel.model.result import Result
    from chipmodel.model.time_bound import TimeBound
    from chipmodel.model.trace import Trace
    from chipmodel.pipeline.single_core import Planned
    from chipmodel.study.task import Task
    from chipmodel.study.workload import Source
    from solvers.core.outcome import Limits
    from workloads.packing.problem_csv import PackingTable

    Workload = Program | PackingTable

K = TypeVar("K")
V = TypeVar("V")

KEPT_WORKLOADS = 4
KEPT_BOUNDS = 256
NODES = 2_000_000
"""Of a search for which the study sets no limit: by nodes, so that it has the same answer every time."""


@dataclass
class Desk:
    """What a worker has at hand from earlier points, and how it gets workloads."""

    load: Callable[[Source], Workload]
    workloads: OrderedDict[Source, Workload] = field(default_factory=lambda: OrderedDict())
    bounds: OrderedDict[tuple[object, ...], TimeBound] = field(default_factory=lambda: OrderedDict())

    def workload(self, source: Source) -> Workload:
        """The workload, loaded once for the points that follow one another."""
        return _kept(self.workloads, source, lambda: self.load(source), KEPT_WORKLOADS)

    def bound(self, task: Task, program: Program, chip: Chip, path: Mapping[str, str]) -> TimeBound:
        """Cycles that no plan beats, whatever the planners."""
        from chipmodel.bounds.time_bound import time_bound
        from chipmodel.passes.steady_state import inferences_of, unrolled

        key = task.source, task.chip_digest, tuple(sorted(path.items()))
        made = unrolled(program, inferences_of(program, path))
        return _kept(self.bounds, key, lambda: time_bound(made, chip, path), KEPT_BOUNDS)


def _kept(known: OrderedDict[K, V], key: K, make: Callable[[], V], most: int) -> V:
    if key not in known:
        known[key] = make()
        if len(known) > most:
            known.popitem(last=False)
    known.move_to_end(key)
    return known[key]


def answer(task: Task, desk: Desk) -> Row:
    """The row of ``task``. Never raises but for what ends a process."""
    began = perf_counter()
    status: Status
    try:
        row = _answer(task, desk)
        return replace(row, seconds=row.seconds or perf_counter() - began)
    except DoesNotFit as refusal:
        status, error = "does not fit", str(refusal)
    except ChipmodelError as refusal:
        status, error = "failed", str(refusal)
    except Exception as fault:
        status, error = "failed", f"internal error: {type(fault).__name__}: {fault}\n{traceback.format_exc()}"
    return Row(task.point, task.key, status, perf_counter() - began, error=error)


def failed(task: Task, error: str) -> Row:
    """The row of a point that nobody could answer."""
    return Row(task.point, task.key, "failed", 0.0, error=error)


def _answer(task: Task, desk: Desk) -> Row:
    from workloads.packing.problem_csv import PackingTable

    if task.error:
        return failed(task, task.error)
    workload = desk.workload(task.source)
    _warm(task.point.packer, task.point.merge)
    if isinstance(workload, PackingTable):
        return _packed(task, workload)
    assert task.chip is not None, "a program runs on a chip"
    return _simulated(task, workload, task.chip, desk)


def _packed(task: Task, table: PackingTable) -> Row:
    """The peak is made small, whatever the capacity, and only then held against it."""
    from chipmodel.model.packing_answer import compile_seconds

    capacity = table.problem.capacity
    found = pack_task(task, table)
    return Row(
        point=task.point,
        key=task.key,
        status=_packing_status(found, capacity, task.searches),
        seconds=max(0.0, found.seconds - compile_seconds(found.trajectory)),
        peak_bytes=found.peak,
        peak_lower_bound_bytes=found.lower_bound,
        capacity_bytes=capacity,
        trajectory=_trajectory([(p.seconds, p.peak, p.lower_bound) for p in found.trajectory]),
        problem=_digest(table.problem),
    )


def pack_task(task: Task, table: PackingTable) -> PackingAnswer:
    """The smallest peak that the point's packer finds, whatever the capacity."""
    from chipmodel.compare.packing import checked_answer

    free = replace(table, problem=replace(table.problem, capacity=None), hints={})
    return checked_answer(free, task.point.workload, task.point.packer, _limits(task.point))


def _packing_status(found: PackingAnswer, capacity: int | None, searches: bool) -> Status:
    if capacity is not None and found.lower_bound > capacity:
        return "infeasible"
    if found.peak is None or (capacity is not None and found.peak > capacity):
        return "unknown" if searches else "does not fit"
    return found.status


def _simulated(task: Task, program: Program, chip: Chip, desk: Desk) -> Row:
    """What ``chipmodel simulate`` answers, without the synchronous twin of every other streamer; and a packer
    that searches does not stop at the first plan that fits, so that peaks can be compared."""
    from chipmodel.machine.simulate import simulate

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
        trajectory=_trajectory(solved.trajectory),
        problem=_digest(planned.problem),
    )
    if not row.fits:
        return row
    trace = simulate(planned.commands, chip, {})
    row = replace(row, status=solved.status, seconds=perf_counter() - began)
    twin = trace.cycles if point.streamer == "sync" else None
    # A streamer that asks what no plan is below has a sharper bound; rows of the same question share it.
    bound = planned.bound or desk.bound(task, program, chip, trace.path)
    return _timed(row, chip, trace, bound.cycles, twin)


def plan_task(task: Task, program: Program, chip: Chip) -> Planned:
    """The plan of the point on one core, within the study's limits."""
    from chipmodel.pipeline.partition import assigned
    from chipmodel.pipeline.single_core import plan
    from chipmodel.pipeline.smallest_peak import with_smallest_peak

    point, limits, began = task.point, _limits(task.point), perf_counter()
    assigned(program, chip.cores)
    planned = plan(program, chip, point.packer, point.streamer, True, point.merge, limits)
    left = replace(limits, seconds=limits.left(began))
    return with_smallest_peak(planned, point.packer, point.merge, left)


def cores_task(task: Task, program: Program, chip: Chip) -> Result:
    """The point on several cores; the study's limits are for each plan of a core that is tried."""
    from chipmodel.pipeline.multicore import run_cores

    point = task.point
    return run_cores(
        *(program, chip, point.packer, point.streamer),
        merge=point.merge,
        limits=_limits(point),
        smallest=True,
    )


def _on_cores(task: Task, program: Program, chip: Chip) -> Row:
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
        trajectory=_trajectory(result.solved.trajectory),
        problem=_digest(result.problem),
    )
    if not result.fits:
        return row
    return _timed(row, chip, result.trace, result.lower_bound_cycles, result.sync_cycles)


def _timed(row: Row, chip: Chip, trace: Trace, bound: int, twin: int | None) -> Row:
    return replace(
        row,
        total_cycles=trace.cycles,
        lower_bound_cycles=bound,
        sync_cycles=twin,
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
    from solvers.core.outcome import Limits
    from solvers.registry import packer_named

    own = packer_named(point.packer).limits
    nodes = point.node_limit
    if point.time_limit is None and nodes is None:
        nodes = NODES if point.merge == "exact" else own.nodes
    return Limits(point.time_limit, nodes, point.seed, 1)


@cache
def _warm(packer: str, merge: str) -> None:
    """Import and compile, so that no point's seconds have it in them."""
    from chipmodel.model.interval import Interval
    from chipmodel.model.plan import Buffer, Problem
    from solvers.registry import solve

    solve(Problem((Buffer("one", 1, (Interval(0, 1),)),)), packer)
    if packer in ("exact", "search") or merge == "exact":
        from solvers.search import complete as search

        search.warm()
