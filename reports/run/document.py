"""The result of a simulation as JSON values: numbers in bytes and cycles, the same for the same input."""

from __future__ import annotations

from dataclasses import asdict

from chipmodel.answers.result import Attempt, Result
from chipmodel.files.document import plain
from chipmodel.machine.energy import RunEnergy, result_energy
from chipmodel.rewrites.weights_in_place import in_place_ops
from reports.result_file import FORMAT
from reports.run.cascade_totals import cascades_document
from reports.run.cores import cores_document
from reports.run.energy import energy_document
from reports.run.further_memories import memories_document
from reports.run.paths import paths_document
from reports.run.states import search_document
from reports.run.steady_state import steady_document
from reports.run.totals import OpTotals, RunTotals, run_totals
from reports.run.track_record import accuracy, record_document
from reports.run.vendor import vendor_document
from reports.words import ratio


def document(result: Result) -> dict[str, object]:
    """``result`` as JSON values. Sizes in bytes, times in cycles of the core clock unless a key says
    otherwise, shares of 1. Nothing depends on the machine or on how long planning took.

    ``executed_macs`` and everything in ``ops`` but ``macs`` and ``steps`` are for the simulated path;
    ``macs`` counts every arm of every ``if``.
    """
    sums, energy = run_totals(result), result_energy(result)
    return {
        "format": FORMAT,
        "workload": result.program.name,
        "source": result.program.source,
        "chip": result.chip.name,
        "chip_fields": {path: figure.value for path, figure in result.chip.figures.items()},
        "core_mhz": float(result.chip.core_mhz),
        "packer": result.solved.planner,
        "merge": result.merge,
        "streamer": result.schedule.streamer,
        "asked": result.asked._asdict() if result.asked else None,
        "default_streamer_cycles": result.default_cycles,
        "accuracy": accuracy(result),
        **record_document(result),
        "fits": result.fits,
        "status": result.solved.status,
        **_memory(result),
        **_time(result, sums),
        **_work(result, sums),
        **energy_document(result, energy),
        "path": dict(sorted(result.trace.path.items())),
        **paths_document(result),
        **({"order": plain(result.ordering)} if result.ordering else {}),
        **steady_document(result),
        "spilled": list(result.schedule.spilled),
        "striped": list(result.schedule.striped),
        "in_place_by_rows": dict(result.schedule.in_rows),
        **_weights_in_place(result),
        "state_search": search_document(search) if (search := result.schedule.state_search) else None,
        **cascades_document(result),
        **vendor_document(result),
        "late_weights": [asdict(late) for late in result.schedule.late],
        "attempts": [_attempt(a) for a in result.attempts],
        **_left_to_cpu(result),
        "notes": list(result.notes),
        **cores_document(result),
        "ops": [_op(o, energy) for o in sums.ops],
        "bank_conflicts": [asdict(each) for each in sums.bank_conflicts],
    }


def _left_to_cpu(result: Result) -> dict[str, object]:
    """The ops that are left to the CPU, none of which is timed; nothing but on Ethos-U."""
    ops = [{"name": op.name, "kind": op.kind, "timed": False} for op in result.left_to_cpu]
    return {"left_to_cpu": ops} if result.chip.npu.ethos else {}


def _weights_in_place(result: Result) -> dict[str, object]:
    """The ops that read their weights in place; nothing on a chip on which none may."""
    if result.chip.in_place.wish == "no":
        return {}
    return {"weights_in_place": list(in_place_ops(result.program))}


def _memory(result: Result) -> dict[str, object]:
    fit = result.fit
    return {
        "fits_shared_memory": fit.shared_memory.fits,
        "fits_psram": fit.psram.fits,
        "capacity_bytes": result.capacity,
        "peak_bytes": result.solved.peak,
        **({"arena_bytes": arena} if (arena := result.solved.plan.arena) else {}),
        "peak_lower_bound_bytes": result.solved.lower_bound,
        "peak_gap": result.solved.gap,
        "psram_bytes": fit.psram.bytes,
        "psram_capacity_bytes": fit.psram.capacity_bytes,
        **memories_document(result),
    }


def _time(result: Result, sums: RunTotals) -> dict[str, object]:
    total = result.trace.cycles
    return {
        "milliseconds": result.chip.milliseconds(total),
        "total_cycles": total,
        **({} if result.sync_cycles is None else {"sync_cycles": result.sync_cycles}),
        "lower_bound_cycles": result.lower_bound_cycles,
        "bound_space": result.bound.space,
        "lower_bound": [asdict(binding) for binding in result.bound.bindings],
        "compute_cycles": sums.compute_cycles,
        "dma_cycles": sums.dma_cycles,
        "stall_cycles": result.npu_cycles - sums.compute_cycles,
        "stalls": dict(sums.stalls),
        "dma_idle": dict(sums.idle),
        "hidden_cycles": result.hidden_cycles,
        "npu_utilisation": ratio(sums.compute_cycles, result.npu_cycles),
        "dma_utilisation": ratio(sums.dma_cycles, total),
        "array_utilisation": sums.array_utilisation,
    }


def _work(result: Result, sums: RunTotals) -> dict[str, object]:
    return {
        "loaded_bytes": sums.loaded_bytes,
        "stored_bytes": sums.stored_bytes,
        "moved_bytes": dict(sums.moved_bytes),
        "macs": result.program.macs,
        "executed_macs": sums.executed_macs,
        "parameters": result.program.parameters,
        "weight_bytes": result.program.weight_bytes,
    }


def _attempt(attempt: Attempt) -> dict[str, object]:
    return {
        "budget_bytes": attempt.budget,
        "peak_bytes": attempt.peak,
        "lower_bound_bytes": attempt.lower_bound,
    }


def _op(op: OpTotals, energy: RunEnergy | None) -> dict[str, object]:
    return {
        "name": op.name,
        "kind": op.kind,
        "macs": op.macs,
        "runs": op.runs,
        "steps": op.steps,
        "compute_cycles": op.compute_cycles,
        "stall_cycles": op.stall_cycles,
        "stalls": dict(op.stalls),
        "loaded_bytes": op.loaded_bytes,
        "stored_bytes": op.stored_bytes,
        **({"microjoules": energy.op_microjoules(op.name)} if energy else {}),
    }
