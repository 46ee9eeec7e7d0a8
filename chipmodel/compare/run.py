"""Several planners on one workload: all packers get the same problem, and all streamers the same program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from chipmodel.errors import BadInput, DoesNotFit
from chipmodel.terminal.progress import stage
from reports.compare.rows import Comparison, Merged, Packed, Streamed
from reports.live_sets import unused_bytes

if TYPE_CHECKING:
    from chipmodel.chip.chip import Chip
    from chipmodel.model.nesting import Section
    from chipmodel.model.packing import PackingTable
    from chipmodel.model.plan import Problem
    from chipmodel.model.program import Program
    from chipmodel.model.result import Result
    from chipmodel.passes.in_place import InPlace
    from chipmodel.pipeline.order_choice import OrderWish
    from solvers.core.outcome import Limits


@dataclass(frozen=True, slots=True)
class Setting:
    """A program on a chip, the planners that are not varied, and the path of the runs."""

    program: Program
    chip: Chip
    packer: str
    streamer: str
    spill: bool
    choices: Mapping[str, str]
    merge: str = "conflict"
    seconds: float | None = None
    """For each streamer that tries many ways."""


def compare_packing(table: PackingTable, source: str, packers: Sequence[str], limits: Limits) -> Comparison:
    """The ``packers`` on the problem of ``table``: the peak is made small, and only then held against the
    capacity. Hints are not used."""
    free = replace(table, problem=replace(table.problem, capacity=None), hints={}, notes=())
    return Comparison(
        source=Path(source).name or source,
        chip="",
        problem=free.problem,
        capacity=table.problem.capacity,
        packed=_packed(free, source, packers, limits),
    )


def compare_in_order(
    setting: Setting,
    in_place: InPlace,
    wish: OrderWish,
    packers: Sequence[str],
    streamers: Sequence[str],
    limits: Limits,
    merges: Sequence[str],
) -> Comparison:
    """``compare_program`` of the setting's program, of which nothing is marked as in place yet, in the order
    that the setting's packer and streamer choose."""
    from chipmodel.pipeline.order_plans import order_of_run

    def run(program: Program, choices: Mapping[str, str]) -> Result:
        with stage(f"planning and simulating {program.name}"):
            return _run(replace(setting, program=program, choices=choices), setting.streamer)

    chosen = order_of_run(setting.program, in_place, wish, run, setting.choices)
    ordered = replace(setting, program=chosen.program)
    return replace(compare_program(ordered, packers, streamers, limits, merges), ordering=chosen.ordering)


def compare_program(
    setting: Setting,
    packers: Sequence[str],
    streamers: Sequence[str],
    limits: Limits,
    merges: Sequence[str] = (),
) -> Comparison:
    """The ``packers`` on the buffers of the setting's streamer, which may use the whole SharedMemory; each of
    ``merges`` with these packers, or else the setting's; and whole runs of the setting's packer with each of
    ``streamers``. Raises DoesNotFit where the setting's
    streamer has no schedule.
    """
    from chipmodel.model.packing import PackingTable
    from chipmodel.model.plan import Problem
    from chipmodel.passes.liveness import liveness, scopes
    from chipmodel.pipeline.partition import assigned
    from dma.stream import stream

    program, chip = setting.program, setting.chip
    if chip.cores > 1:
        return _compare_on_cores(setting, packers, streamers, limits, merges)
    assigned(program, chip.cores)
    capacity = chip.shared_memory.bytes
    problem, merged = Problem(()), list[Merged]()
    if packers or merges:
        with stage(f"scheduling {program.name}"):
            schedule = stream(program, chip, setting.streamer, capacity, setting.spill)
        problem = replace(liveness(schedule, chip), capacity=None)
        nesting = scopes(schedule.body).section
        pairs = [(merge, packer) for merge in merges for packer in packers or (setting.packer,)]
        _load([packer for _, packer in pairs])
        merged = [merge_problem(problem, nesting, merge, packer, limits) for merge, packer in pairs]
    return Comparison(
        source=program.name,
        chip=chip.name,
        problem=problem,
        capacity=capacity,
        streamer=setting.streamer,
        packer=setting.packer,
        packed=_packed(PackingTable(problem, (), (), {}), program.name, packers, limits),
        streamed=_all_streamed(setting, streamers),
        merged=tuple(merged),
    )


def _compare_on_cores(
    setting: Setting,
    packers: Sequence[str],
    streamers: Sequence[str],
    limits: Limits,
    merges: Sequence[str],
) -> Comparison:
    from chipmodel.compare.cores import core_problems, merge_cores, pack_cores, side_by_side
    from chipmodel.pipeline import multicore as many_cores

    program, chip = setting.program, setting.chip
    pairs = [(merge, packer) for merge in merges for packer in packers or (setting.packer,)]
    tried = many_cores.Setting(
        program, chip, setting.packer, setting.streamer, setting.spill, setting.choices, setting.merge
    )
    found = core_problems(tried) if packers or pairs else []
    _load([*packers, *(packer for _, packer in pairs)])
    problems = [problem for problem, _ in found]
    return Comparison(
        source=program.name,
        chip=f"{chip.cores} cores of {chip.name}",
        problem=side_by_side(problems),
        capacity=chip.shared_memory.bytes,
        streamer=setting.streamer,
        packer=setting.packer,
        packed=tuple(pack_cores(problems, program.name, name, limits) for name in packers),
        streamed=_all_streamed(setting, streamers),
        merged=tuple(merge_cores(found, merge, packer, limits) for merge, packer in pairs),
    )


def _packed(table: PackingTable, source: str, names: Sequence[str], limits: Limits) -> tuple[Packed, ...]:
    _load(names)
    return tuple(pack_table(table, source, name, limits) for name in names)


def _load(names: Sequence[str]) -> None:
    """Everything that is imported or compiled once, so that no packer's seconds have it in them."""
    from chipmodel.model.interval import Interval
    from chipmodel.model.plan import Buffer, Problem
    from solvers.registry import solve

    with stage("loading the packers"):
        for name in names:
            solve(Problem((Buffer("one", 1, (Interval(0, 1),)),)), name)
        if not {"exact", "search"}.isdisjoint(names):
            from solvers.search import complete as search

            search.warm()


def pack_table(table: PackingTable, source: str, name: str, limits: Limits) -> Packed:
    """What the packer of that name makes of ``table``, or why it refuses."""
    from chipmodel.compare.packing import run
    from reports.packing.answer import compile_seconds

    try:
        answer = run(table, source, name, limits)
    except BadInput as refusal:
        packer = name.partition(":")[0]
        return Packed(name, refused=refusal.what.removeprefix(f"packer {packer!r} "))
    unused = None if answer.plan is None else unused_bytes(answer.problem, answer.plan)
    return Packed(
        name,
        peak=answer.peak,
        lower_bound=answer.lower_bound,
        status=answer.status,
        unused=unused,
        seconds=max(0.0, answer.seconds - compile_seconds(answer.trajectory)),
        nodes=answer.nodes,
        trajectory=tuple((p.seconds, p.peak) for p in answer.trajectory if p.peak is not None),
    )


def merge_problem(problem: Problem, nesting: Section, merge: str, packer: str, limits: Limits) -> Merged:
    """What the merger of arms makes of ``problem`` with ``packer``, or why they refuse."""
    from chipmodel.verify.offsets_sweep import check_fast
    from solvers.branches.mergers import merge_arms

    try:
        with stage(f"merging by {merge} with {packer}"):
            solved = merge_arms(problem, nesting, packer, merge, limits)
    except BadInput as refusal:
        return Merged(merge, packer, refused=refusal.what)
    faults = check_fast(problem, solved.plan)
    if faults:
        raise AssertionError(f"merger {merge} with packer {packer} made a wrong plan: {faults[0]}")
    return Merged(merge, packer, solved.peak, solved.lower_bound, solved.status, solved.seconds)


def _all_streamed(setting: Setting, names: Sequence[str]) -> tuple[Streamed, ...]:
    """All against the best bound that one of them has looked for."""
    rows = [_streamed(setting, name) for name in names]
    best = max((row.lower_bound for row in rows), default=0)
    return tuple(row if row.cycles is None else replace(row, lower_bound=best) for row in rows)


def _run(setting: Setting, streamer: str) -> Result:
    from chipmodel.pipeline import single_core as pipeline
    from dma.schedule.effort import StopCriterion

    return pipeline.run(
        setting.program,
        setting.chip,
        setting.packer,
        streamer,
        spill=setting.spill,
        choices=setting.choices,
        merge=setting.merge,
        stop=StopCriterion(setting.seconds),
    )


def _streamed(setting: Setting, name: str) -> Streamed:
    began = perf_counter()
    try:
        with stage(f"planning and simulating {setting.program.name} with {name}"):
            result = _run(setting, name)
    except DoesNotFit as refusal:
        return Streamed(name, refused=refusal.what)
    return Streamed(
        name,
        cycles=result.trace.cycles,
        lower_bound=result.lower_bound_cycles,
        sync_cycles=result.sync_cycles,
        milliseconds=setting.chip.milliseconds(result.trace.cycles),
        peak=result.solved.peak,
        fits=result.fits,
        seconds=perf_counter() - began,
    )
