"""Several planners on one workload: all packers get the same problem, and all streamers the same program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from time import perf_counter

from chipmodel.answers.comparison import PackerRow, PlannerComparison, StreamerRow
from chipmodel.answers.result import Result
from chipmodel.comparison.rows import merger_row, packer_row, warm_up
from chipmodel.errors import BadInput, DoesNotFit, PluginFault
from chipmodel.machine.energy import result_energy
from chipmodel.model.fit import psram_bytes
from chipmodel.model.plan import PackingTable, Problem
from chipmodel.model.program import Program
from chipmodel.model.time_bound import PlanSpace
from chipmodel.passes.liveness import liveness, scopes
from chipmodel.pipeline.finer_cuts import with_finer_cuts
from chipmodel.pipeline.order_choice import OrderRequest, order_of_run
from chipmodel.pipeline.partition import assigned
from chipmodel.pipeline.plan import choose_weights
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.records import dataclass
from chipmodel.terminal.progress import stage
from dma.stream import stream
from solvers.branches.mergers import packer_of_merge
from solvers.core.outcome import Limits


@dataclass(frozen=True, slots=True)
class Contenders:
    """The planners to compare, and the limits of each packer and merger."""

    packers: tuple[str, ...] = ()
    merges: tuple[str, ...] = ()
    streamers: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)

    def merger_pairs(self, packer: str) -> list[tuple[str, str]]:
        """Each merger with each packer that it runs; with ``packer`` where no packers are compared."""
        pairs = ((merge, each) for merge in self.merges for each in self.packers or (packer,))
        return list(dict.fromkeys((merge, packer_of_merge(merge, each)) for merge, each in pairs))


def compare_packing(
    table: PackingTable, source: str, packers: Sequence[str], limits: Limits
) -> PlannerComparison:
    """The ``packers`` on the problem of ``table``: each makes the peak small without knowing the capacity,
    which is only compared with the peaks afterwards. Hints are not used."""
    free = replace(table, problem=replace(table.problem, capacity=None), hints={}, notes=())
    return PlannerComparison(
        source=Path(source).name or source,
        chip=None,
        problem=free.problem,
        capacity=table.problem.capacity,
        packed=_packer_rows(free, source, packers, limits),
    )


def compare_in_order(
    request: PlanRequest, order: OrderRequest, choices: Mapping[str, str], contenders: Contenders
) -> PlannerComparison:
    """``compare_program`` in the order of ops that the packer and streamer of ``request`` choose."""

    def run_along(program: Program, path: Mapping[str, str]) -> Result:
        with stage(f"planning and simulating {program.name}"):
            return run(replace(request, program=program), path)

    chosen = order_of_run(order, run_along, choices)
    comparison = compare_program(replace(request, program=chosen.program), choices, contenders)
    return replace(comparison, ordering=chosen.ordering)


def compare_program(
    request: PlanRequest, choices: Mapping[str, str], contenders: Contenders
) -> PlannerComparison:
    """Packers and mergers on the buffers in the schedule of the streamer of ``request``, which may use the
    whole SharedMemory, and whole runs along the path ``choices`` with each streamer.

    Raises DoesNotFit where the streamer of ``request`` has no schedule, and BadInput for packers on several
    cores.
    """
    packs = bool(contenders.packers or contenders.merges)
    if request.chip.cores > 1:
        if packs:
            what = f"packers are compared in one memory, and the chip has {request.chip.cores} cores"
            hint = "compare --streamers only, or take one core: --set cores=1 (chip(..., cores=1))"
            raise BadInput(what, hint=hint)
    else:
        request = choose_weights(request, choices)
    program, chip, limits = request.program, request.chip, contenders.limits
    assigned(program, chip.cores)
    capacity = chip.shared_memory.bytes
    problem, merged, in_psram = Problem(()), [], None
    if packs:
        with stage(f"scheduling {program.name}"):
            schedule = with_finer_cuts(
                request,
                lambda asked: stream(asked.program, chip, asked.streamer, capacity, asked.spill),
                lambda _: True,
            )
        problem = replace(liveness(schedule, chip), capacity=None)
        in_psram = psram_bytes(schedule, chip)
        nesting = scopes(schedule.body).section
        pairs = contenders.merger_pairs(request.packer)
        warm_up([packer for _, packer in pairs])
        merged = [merger_row(problem, nesting, merge, packer, limits) for merge, packer in pairs]
    table = PackingTable(problem, (), (), {})
    return PlannerComparison(
        source=program.name,
        chip=chip.name,
        problem=problem,
        capacity=capacity,
        streamer=request.streamer,
        packer=request.packer,
        packed=_packer_rows(table, program.name, contenders.packers, limits),
        streamed=_streamer_rows(request, choices, contenders.streamers),
        merged=tuple(merged),
        psram_bytes=in_psram,
        psram_capacity=chip.psram.bytes,
    )


def _packer_rows(
    table: PackingTable, source: str, packers: Sequence[str], limits: Limits
) -> tuple[PackerRow, ...]:
    warm_up(packers)
    return tuple(packer_row(table, source, name, limits) for name in packers)


def _streamer_rows(
    request: PlanRequest, choices: Mapping[str, str], streamers: Sequence[str]
) -> tuple[StreamerRow, ...]:
    """A row for each streamer, with the best bound on the same plans, and the cycles of ``sync``."""
    rows = [_streamer_row(replace(request, streamer=name), choices) for name in streamers]
    best: dict[PlanSpace | None, int] = {}
    known = [row for row in rows if row.cycles is not None]
    for row in known:
        best[row.bound_space] = max(best.get(row.bound_space, 0), row.lower_bound or 0)
    if known:
        sync = next((row for row in rows if row.streamer == "sync"), None)
        cycles = (sync or _streamer_row(request.with_sync(), choices)).cycles
        known = [replace(row, lower_bound=best[row.bound_space], sync_cycles=cycles) for row in known]
    of_name = {row.streamer: row for row in known}
    return tuple(of_name.get(row.streamer, row) for row in rows)


def _streamer_row(request: PlanRequest, choices: Mapping[str, str]) -> StreamerRow:
    began = perf_counter()
    try:
        with stage(f"planning and simulating {request.program.name} with {request.streamer}"):
            result = run(request, choices)
    except (DoesNotFit, PluginFault) as refusal:
        return StreamerRow(request.streamer, refused=refusal.what)
    energy = result_energy(result)
    return StreamerRow(
        request.streamer,
        cycles=result.trace.cycles,
        lower_bound=result.bound.cycles,
        bound_space=result.bound.space,
        cascades=tuple(cascade.name for cascade in result.schedule.cascades),
        milliseconds=request.chip.milliseconds(result.trace.cycles),
        peak=result.solved.peak,
        psram_bytes=result.fit.psram.bytes,
        fits=result.fits,
        fits_psram=result.fit.psram.fits,
        seconds=perf_counter() - began,
        microjoules=energy.microjoules if energy else None,
    )
