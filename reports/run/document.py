"""The result of a simulation as JSON values: numbers in bytes and cycles, the same for the same input."""

from __future__ import annotations

from typing import Any

from chipmodel.answers.op_totals import OpTotals
from chipmodel.answers.result import ExactProof, Result
from chipmodel.files.document import keyed, plain
from chipmodel.hardware.chip import Chip
from chipmodel.machine.energy import RunEnergy, result_energy
from chipmodel.model.program import Op
from chipmodel.npu.array import cpu_kind
from chipmodel.rewrites.weights_in_place import in_place_ops
from reports.result_file import FORMAT
from reports.run.cascade_totals import cascade_totals
from reports.run.cores import cores_document
from reports.run.energy import energy_document
from reports.run.further_memories import memories_document
from reports.run.paths import paths_document
from reports.run.states import search_document
from reports.run.steady_state import steady_of
from reports.run.totals import run_totals
from reports.run.track_record import accuracy, record_document
from reports.words import ratio

KEYS = (
    "format",
    *("workload=result.program.name", "source=result.program.source", "chip=result.chip.name"),
    *("chip_fields", "core_mhz=result.chip.core_mhz", "packer=result.solved.planner"),
    *("merge=result.merge", "streamer=result.schedule.streamer", "asked"),
    *("default_streamer_cycles=result.default_cycles", "accuracy", "measured?", "fits=fit.fits"),
    *("status=result.solved.status", "fits_shared_memory=fit.shared_memory.fits"),
    *("fits_psram=fit.psram.fits", "capacity_bytes=result.capacity", "peak_bytes=result.solved.peak"),
    *("arena_bytes?", "peak_lower_bound_bytes=result.solved.lower_bound", "peak_gap=result.solved.gap"),
    *("psram_bytes=fit.psram.bytes", "psram_capacity_bytes=fit.psram.capacity_bytes", "*memories"),
    *("milliseconds", "total_cycles=result.trace.cycles", "sync_cycles=result.sync_cycles?"),
    *("lower_bound_cycles=result.bound.cycles", "bound_space=result.bound.space"),
    *("listed_ways?", "any_plan_bound_cycles?", "exact_search?"),
    *("lower_bound=result.bound.bindings", "compute_cycles=sums.compute_cycles"),
    *("dma_cycles=sums.dma_cycles", "stall_cycles", "stalls=sums.stalls", "dma_idle=sums.idle"),
    *("hidden_cycles=result.hidden_cycles", "npu_utilisation", "dma_utilisation"),
    *("array_utilisation=sums.array_utilisation", "loaded_bytes=sums.loaded_bytes"),
    *("stored_bytes=sums.stored_bytes", "moved_bytes=sums.moved_bytes", "macs=result.program.macs"),
    *("executed_macs=sums.executed_macs", "parameters=result.program.parameters"),
    *("weight_bytes=result.program.weight_bytes", "*energy", "path", "*paths", "order=result.ordering?"),
    *("steady_state?", "spilled=result.spilled", "striped=result.schedule.striped"),
    *("in_place_by_rows", "weights_in_place?", "state_search", "cascades", "vendor?"),
    *("late_weights=result.schedule.late", "attempts=result.attempts", "left_to_cpu?"),
    *("notes=result.notes", "*cores", "ops", "bank_conflicts=sums.bank_conflicts"),
)
"""The keys of the document, and where each comes from."""
EXACT_KEYS = (
    *("status", "bound_cycles=proof.bound", "gap", "model_status=proof.model", "listed_ways=proof.listed"),
    *("ways_left=proof.left", "chains_built=proof.tried"),
)
TOOL_KEYS = (
    *("streamer=result.schedule.streamer", "packer=result.solved.planner", "milliseconds"),
    *("total_cycles=result.trace.cycles", "compute_cycles=sums.compute_cycles", "stalls=sums.stalls"),
    *("moved_bytes=sums.moved_bytes", "peak_bytes=result.solved.peak", "cascades"),
)


def document(result: Result) -> dict[str, Any]:
    """``result`` as JSON values. Sizes in bytes, times in cycles of the core clock unless a key says
    otherwise, shares of 1. Nothing depends on the machine or on how long planning took.

    ``executed_macs`` and everything in ``ops`` but ``macs`` and ``steps`` are for the simulated path;
    ``macs`` counts every arm of every ``if``.
    """
    program, schedule, trace, chip = result.program, result.schedule, result.trace, result.chip
    sums, energy = run_totals(result), result_energy(result)
    parts = {
        "format": FORMAT,
        "result": result,
        "sums": sums,
        "fit": result.fit,
        "chip_fields": {path: figure.value for path, figure in chip.figures.items()},
        "asked": result.asked._asdict() if result.asked else None,
        "accuracy": accuracy(result),
        "measured": record_document(result),
        "listed_ways": result.bound.ways or None,
        "any_plan_bound_cycles": result.bound.any_plan,
        "exact_search": keyed(EXACT_KEYS, _exact(result, result.proof)) if result.proof else None,
        "arena_bytes": result.solved.plan.arena or None,
        "memories": memories_document(result),
        "milliseconds": chip.milliseconds(trace.cycles),
        "stall_cycles": result.npu_cycles - sums.compute_cycles,
        "npu_utilisation": ratio(sums.compute_cycles, result.npu_cycles),
        "dma_utilisation": ratio(sums.dma_cycles, trace.cycles),
        "energy": energy_document(result, energy),
        "path": dict(sorted(trace.path.items())),
        "paths": paths_document(result),
        "steady_state": steady_of(result),
        "in_place_by_rows": dict(schedule.in_rows),
        "weights_in_place": None if chip.in_place.wish == "no" else list(in_place_ops(program)),
        "state_search": search_document(search) if (search := schedule.state_search) else None,
        "cascades": cascade_totals(result),
        "vendor": _tool(result.vendor) if result.vendor else None,
        "left_to_cpu": [_left(chip, op) for op in result.left_to_cpu]
        if chip.npu.ethos or chip.npu.costs.on_cpu
        else None,
        "cores": cores_document(result),
        "ops": [plain(op) | _energy(op, energy) for op in sums.ops],
    }
    return keyed(KEYS, parts)


def _exact(result: Result, proof: ExactProof) -> dict[str, object]:
    """What CP-SAT proved of the listed ways, and of the plan."""
    cycles = result.trace.cycles
    gap = ratio(cycles - proof.bound, proof.bound)
    return {"proof": proof, "status": proof.status(cycles), "gap": gap}


def _tool(result: Result) -> dict[str, Any]:
    """The plan of the board's own tool, with keys as of the run itself."""
    time = result.chip.milliseconds(result.trace.cycles)
    names = [plan.name for plan in result.schedule.cascades]
    parts = {"result": result, "sums": run_totals(result), "milliseconds": time, "cascades": names}
    return keyed(TOOL_KEYS, parts)


def _left(chip: Chip, op: Op) -> dict[str, object]:
    path = "npu.ethos.compiler" if chip.npu.ethos else f"cpu.cycles_per_element.{cpu_kind(op)}"
    timed, source = chip.npu.ethos is None, chip.figures[path].source
    return {"name": op.name, "kind": op.kind, "timed": timed, "source": source}


def _energy(op: OpTotals, energy: RunEnergy | None) -> dict[str, float]:
    return {"microjoules": energy.op_microjoules(op.name)} if energy else {}
