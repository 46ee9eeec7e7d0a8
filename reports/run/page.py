"""The result of a simulation as one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from chipmodel.answers.op_totals import OpTotals
from chipmodel.answers.result import Result
from chipmodel.machine.energy import RunEnergy, result_energy
from chipmodel.records import dataclass
from chipmodel.rewrites.weights_in_place import in_place_ops
from reports.instructions import result_listing
from reports.ordering import FOR_THIS_ORDER, order_words
from reports.page_parts import PageColumn, SummaryTile
from reports.run.bars import MOST_BARS
from reports.run.cascade_totals import CascadeTotals, cascade_totals, heights_words, kept_words, ops_words
from reports.run.charts import charts_data, of_merging, over_time
from reports.run.cores import CoreTotals, core_of_ops, core_totals, core_waits, speed_up_factor
from reports.run.energy import energy_rows
from reports.run.figures import EVENTS, Category
from reports.run.further_memories import further_words
from reports.run.limits import bound_words, proof_words, psram_words, space_words
from reports.run.network import network
from reports.run.paths import part_lines, path_lines
from reports.run.states import search_words
from reports.run.steady_state import resident_words, steady_of
from reports.run.totals import RunTotals, run_totals
from reports.run.track_record import accuracy, board_rows
from reports.run.vendor import vendor_rows, vendor_words
from reports.template import PageScript, render
from reports.words import (
    AWAITED,
    CAUSES,
    MINUS,
    count,
    duration,
    headline,
    in_arena,
    magnitude,
    microjoules,
    off_chip,
    peak_gap,
    percent,
    planned_by,
    ratio,
    size,
    verdict,
    weight_memory,
)

MOST_CONFLICTS = 25
"""Rows of the table of bank conflicts; there may be thousands."""
MOST_INSTRUCTIONS = 2000
"""Lines of the listing of instructions; ``chipmodel export`` writes all of them."""
MOST_ROWS = 400
"""Rows of the table of ops in the HTML; a script adds more when a reader scrolls, sorts or filters."""

SCRIPTS = ("charts.js", "timeline.js", "network.js", "page.js")
LAYOUT = "dagre"


NumberedOp = tuple[int, OpTotals]


@dataclass(frozen=True, slots=True)
class TimeShare:
    """The cycles that a unit spent on one category, and their ``share`` of the run."""

    category: Category
    cycles: int
    share: float
    bytes: int = 0


def render_page(
    result: Result, most_bars: int = MOST_BARS, plotly: Literal["inside", "beside"] = "inside"
) -> str:
    """The page as text, with at most ``most_bars`` bars a chart; ``plotly`` says where its script is."""
    sums, energy = run_totals(result), result_energy(result)
    columns = _columns(result, sums, energy)
    rows = [[column.value(row) for column in columns] for row in enumerate(sums.ops, 1)]
    idle = [index for index, op in enumerate(sums.ops, 1) if not op.runs]
    timed = over_time(result, most_bars)
    saved, merged = of_merging(result)
    cascades = cascade_totals(result)
    graph = network(result, sums, energy)
    values: dict[str, object] = {
        "result": result,
        "verdict": verdict(result),
        "headline": headline(result),
        "accuracy": accuracy(result),
        "board_rows": board_rows(result),
        "tiles": [*_tiles(result, sums), *_energy_tile(energy)],
        "cores": core_totals(result),
        "core_waits": core_waits(result),
        "core_causes": _core_causes(core_totals(result)),
        "timed": timed,
        "merged": merged,
        "saved": saved,
        "cascades": [_cascade_row(cascade, sums) for cascade in cascades],
        "kept": kept_words(cascades) if cascades else "",
        "units": {_npus(result): _npu_slices(result, sums), "DMA": _dma_slices(result, sums)},
        "vendor_rows": vendor_rows(result),
        "vendor_words": vendor_words(result) if result.vendor else "",
        "changed": bool(result.chip.overrides),
        "measures": list(graph["measures"]),
        "columns": columns,
        "rows": rows[:MOST_ROWS],
        "number_of_rows": len(rows),
        "idle": idle,
        "facts": [*_facts(result, sums), *_energy_facts(result, energy)],
        "instructions": (instructions := result_listing(result))[:MOST_INSTRUCTIONS],
        "more_instructions": len(instructions[MOST_INSTRUCTIONS:]),
        "path_lines": path_lines(result),
        "path_parts": part_lines(result.paths) if result.paths else [],
        "bank_conflicts": sums.bank_conflicts[:MOST_CONFLICTS],
        "more_bank_conflicts": len(sums.bank_conflicts[MOST_CONFLICTS:]),
        "chip_figures": list(result.chip.figures.items()),
        "names": {
            "spilled": result.spilled,
            "striped": result.schedule.striped,
            **({"weights read in place": in_place} if (in_place := in_place_ops(result.program)) else {}),
        },
    }
    data = {
        "cycles": result.trace.cycles,
        "numeric": [column.numeric for column in columns],
        "rows": rows[MOST_ROWS:],
        "idle": [index for index in idle if index > MOST_ROWS],
        **charts_data((*timed, *merged), {op.name: i for i, op in enumerate(sums.ops)}),
        "network": graph,
    }
    return render("page.html.j2", values, ("page.css",), PageScript(SCRIPTS, data, plotly, (LAYOUT,)))


def _cascade_row(cascade: CascadeTotals, sums: RunTotals) -> dict[str, object]:
    """A row of the table of cascades: cycles of its ops over the run, computing and waiting."""
    inside = [op for op in sums.ops if op.name in cascade.plan.ops]
    return {
        "cascade": cascade,
        "heights": heights_words(cascade),
        "ops": ops_words(cascade, len(inside)),
        "compute_cycles": sum(op.compute_cycles for op in inside),
        "stall_cycles": sum(op.stall_cycles for op in inside),
    }


def _tiles(result: Result, sums: RunTotals) -> list[SummaryTile]:
    total = result.trace.cycles
    peak, capacity = result.solved.peak, result.capacity
    over = ratio(total - result.lower_bound_cycles, result.lower_bound_cycles)
    least = result.bound.any_plan
    any_plan = "" if least is None else f"; any plan takes {count(least)} at least"
    hidden = percent(ratio(result.hidden_cycles, sums.dma_cycles))
    npu, dma = ratio(sums.compute_cycles, result.npu_cycles), ratio(sums.dma_cycles, total)
    stalled = f"{count(result.npu_cycles - sums.compute_cycles)} cycles of waiting"
    moved = f"{size(sums.loaded_bytes)} loaded, {size(sums.stored_bytes)} stored"
    ordered = FOR_THIS_ORDER if result.ordering else ""
    return [
        SummaryTile("Run time", duration(result.chip, total), f"{count(total)} cycles"),
        *_steady_tiles(result),
        SummaryTile(
            "Peak memory",
            size(peak),
            f"{percent(ratio(peak, capacity))} of {size(capacity)}{in_arena(result.solved)}",
            peak / capacity,
        ),
        SummaryTile(
            f"{_npus(result)} {'computes' if not result.cores else 'compute'}", percent(npu), stalled, npu
        ),
        SummaryTile("DMA busy", percent(dma), f"{hidden} of it during compute", dma),
        *_against_sync(result),
        *_speed_up_tile(result),
        SummaryTile(
            "Time lower bound",
            count(result.lower_bound_cycles),
            f"cycles; gap {percent(over)}{ordered}; for {space_words(result.bound)}{any_plan}",
        ),
        SummaryTile("Memory lower bound", size(result.solved.lower_bound), peak_gap(result)),
        SummaryTile(f"{off_chip(result)} traffic", size(sums.loaded_bytes + sums.stored_bytes), moved),
        SummaryTile(
            "MACs",
            magnitude(sums.executed_macs),
            f"array {percent(sums.array_utilisation)} used while computing",
        ),
        SummaryTile(
            "Parameters",
            magnitude(result.program.parameters),
            f"{size(result.program.weight_bytes)} in {weight_memory(result)}",
        ),
    ]


def _steady_tiles(result: Result) -> list[SummaryTile]:
    steady = steady_of(result)
    if steady is None:
        return []
    first = f"{count(steady.further_cycles)} cycles each; the first takes {count(steady.first_cycles)}"
    share = ratio(steady.resident_bytes, result.program.weight_bytes)
    kept = f"{percent(share)} of the weights stay for all {steady.inferences:,} inferences"
    return [
        SummaryTile("Inferences per second", f"{steady.per_second:,.1f}", first),
        SummaryTile("Resident weights", size(steady.resident_bytes), kept, share),
    ]


def _npus(result: Result) -> str:
    return f"{len(result.cores)} NPUs" if result.cores else "NPU"


def _speed_up_tile(result: Result) -> list[SummaryTile]:
    factor = speed_up_factor(result)
    if factor is None:
        return []
    detail = f"times as fast as one core, which takes {count(result.one_core_cycles or 0)} cycles"
    return [SummaryTile("Speed-up", f"{factor:.2f}", detail)]


def _core_causes(cores: tuple[CoreTotals, ...]) -> list[tuple[str, str]]:
    """The causes for which any core waited, with their names in reports."""
    stalling = {cause for totals in cores for cause in totals.stalls}
    return [(cause, name) for cause, name in CAUSES.items() if cause in stalling]


def _against_sync(result: Result) -> list[SummaryTile]:
    cycles = result.sync_cycles
    if cycles is None:
        return []
    saved = ratio(cycles - result.trace.cycles, cycles)
    sign = MINUS if saved > 0 else "+" if saved < 0 else ""
    words = f"{count(cycles)} cycles with streamer sync"
    return [SummaryTile("Time against sync", sign + percent(abs(saved)), words)]


def _npu_slices(result: Result, sums: RunTotals) -> list[TimeShare]:
    return _slices(result.npu_cycles, {"compute": sums.compute_cycles} | dict(sums.stalls), {})


def _dma_slices(result: Result, sums: RunTotals) -> list[TimeShare]:
    total = result.trace.cycles * result.trace.channels
    return _slices(total, dict(sums.moved_cycles) | dict(sums.idle), sums.moved_bytes)


def _slices(total: int, cycles: Mapping[str, int], moved: Mapping[str, int]) -> list[TimeShare]:
    return [
        TimeShare(c, cycles[c.key], ratio(cycles[c.key], total), moved.get(c.key, 0))
        for c in EVENTS
        if cycles.get(c.key)
    ]


def _columns(result: Result, sums: RunTotals, energy: RunEnergy | None) -> list[PageColumn[NumberedOp]]:
    """The columns that every table has, and one per cause for which the NPU waited."""
    on = core_of_ops(result)
    core: PageColumn[NumberedOp] = PageColumn("core", "core", lambda row: on[row[1].name])
    return [
        PageColumn("index", "#", lambda row: row[0]),
        PageColumn("name", "op", lambda row: row[1].name, numeric=False),
        PageColumn("kind", "kind", lambda row: row[1].kind, numeric=False),
        *([core] if result.cores else []),
        PageColumn("runs", "runs", lambda row: row[1].runs),
        PageColumn("steps", "steps", lambda row: row[1].steps),
        PageColumn("macs", "MACs", lambda row: row[1].macs * row[1].runs),
        PageColumn("compute", "compute", lambda row: row[1].compute_cycles),
        PageColumn("stall", "stall", lambda row: row[1].stall_cycles),
        *(_stalls(cause) for cause in sums.stalls if cause != "finished"),
        PageColumn("loaded", "loaded B", lambda row: row[1].loaded_bytes),
        PageColumn("stored", "stored B", lambda row: row[1].stored_bytes),
        *([_energy_column(energy)] if energy else []),
    ]


def _stalls(cause: str) -> PageColumn[NumberedOp]:
    return PageColumn(f"stall:{cause}", f"for {AWAITED[cause]}", lambda row: row[1].stalls.get(cause, 0))


def _energy_column(energy: RunEnergy) -> PageColumn[NumberedOp]:
    return PageColumn("energy", "nJ", lambda row: round(1000 * energy.op_microjoules(row[1].name)))


def _energy_tile(energy: RunEnergy | None) -> list[SummaryTile]:
    if energy is None:
        return []
    return [
        SummaryTile(
            "Energy", f"{microjoules(energy.microjoules)} µJ", f"{energy.milliwatts:,.1f} mW in the mean"
        )
    ]


def _energy_facts(result: Result, energy: RunEnergy | None) -> list[tuple[str, str]]:
    rows = energy_rows(result, energy)[bool(energy) :]  # the tile has the total
    parts = [" ".join(filter(None, (name, value, unit, f"({share})"))) for name, value, unit, share in rows]
    return [("Energy", ", ".join(parts))] if parts else []


def _facts(result: Result, sums: RunTotals) -> list[tuple[str, str]]:
    schedule, solved = result.schedule, result.solved
    ran = sum(1 for op in sums.ops if op.runs)
    facts = [
        ("Packer", f"{planned_by(result).packer} ({solved.status})"),
        *([("Merger of arms", result.merge)] if result.trace.path else []),
        ("Streamer", planned_by(result).streamer),
        *([("Order of ops", order_words(result.ordering))] if result.ordering else []),
        ("Time lower bound set by", bound_words(result.bound) or "nothing"),
        *([("CP-SAT", proof_words(result.proof, result.trace.cycles))] if result.proof else []),
        *([("Resident weights", resident_words(result))] if resident_words(result) else []),
        *([("State search", search_words(search))] if (search := schedule.state_search) else []),
        ("Psram used", psram_words(result)),
        *((f"{need.memory} used", further_words(result, need)) for need in result.fit.further),
        ("Ops", f"{len(sums.ops):,} in {sum(o.steps for o in sums.ops):,} steps; {ran:,} ops ran"),
        ("Buffers", f"{_buffers(result):,} buffers, {len(schedule.transfers):,} transfers"),
        *((f"Path: {name}", _choice(choice)) for name, choice in sorted(result.trace.path.items())),
    ]
    return [("Source", result.program.source), *facts] if result.program.source else facts


def _buffers(result: Result) -> int:
    return sum(len(p.problem.buffers) for p in result.cores) or len(result.problem.buffers)


def _choice(choice: str) -> str:
    return f"{choice} iterations" if choice.isdecimal() else f"arm {choice}"
