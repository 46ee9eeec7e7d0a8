"""Several planners on one workload: all packers get the same problem, and all streamers the same program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from chipmodel.errors import BadInput, DoesNotFit
from chipmodel.progress import stage
from reports.compare import Comparison, Packed, Streamed, unused_bytes

if TYPE_CHECKING:
    from chipmodel.chip import Chip
    from chipmodel.program import Program
    from solvers.outcome import Limits
    from workloads.packing_csv import PackingTable


@dataclass(frozen=True, slots=True)
class Setting:
    """A program on a chip, the planners that are not varied, and the path of the runs."""

    program: Program
    chip: Chip
    packer: str
    streamer: str
    spill: bool
    choices: Mapping[str, str]


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


def compare_program(
    setting: Setting, packers: Sequence[str], streamers: Sequence[str], limits: Limits
) -> Comparison:
    """The ``packers`` on the buffers of the setting's streamer, which may use the whole SharedMemory; and
    whole runs of the setting's packer with each of ``streamers``. Raises DoesNotFit where the setting's
    streamer has no schedule.
    """
    from chipmodel.liveness import liveness
    from chipmodel.plan import Problem
    from dma.stream import stream
    from workloads.packing_csv import PackingTable

    program, chip = setting.program, setting.chip
    capacity = chip.shared_memory.bytes
    problem = Problem(())
    if packers:
        with stage(f"scheduling {program.name}"):
            schedule = stream(program, chip, setting.streamer, capacity, setting.spill)
        problem = Problem(liveness(schedule, chip).buffers)
    return Comparison(
        source=program.name,
        chip=chip.name,
        problem=problem,
        capacity=capacity,
        streamer=setting.streamer,
        packer=setting.packer,
        packed=_packed(PackingTable(problem, (), (), {}), program.name, packers, limits),
        streamed=tuple(_streamed(setting, name) for name in streamers),
    )


def _packed(table: PackingTable, source: str, names: Sequence[str], limits: Limits) -> tuple[Packed, ...]:
    _load(names)
    return tuple(_pack(table, source, name, limits) for name in names)


def _load(names: Sequence[str]) -> None:
    """Everything that is imported or compiled once, so that no packer's seconds have it in them."""
    from chipmodel.interval import Interval
    from chipmodel.plan import Buffer, Problem
    from solvers.registry import solve

    with stage("loading the packers"):
        for name in names:
            solve(Problem((Buffer("one", 1, (Interval(0, 1),)),)), name)
        if not {"exact", "search"}.isdisjoint(names):
            from solvers import search

            search.warm()


def _pack(table: PackingTable, source: str, name: str, limits: Limits) -> Packed:
    from chipmodel.pack_run import run
    from reports.packing import compile_seconds

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


def _streamed(setting: Setting, name: str) -> Streamed:
    from chipmodel import pipeline

    began = perf_counter()
    try:
        with stage(f"planning and simulating {setting.program.name} with {name}"):
            result = pipeline.run(
                setting.program,
                setting.chip,
                setting.packer,
                name,
                spill=setting.spill,
                choices=setting.choices,
            )
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
