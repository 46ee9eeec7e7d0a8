"""The result of a simulation as one self-contained HTML file."""

from __future__ import annotations

from typing import Literal

from chipmodel.answers.op_totals import OpTotals
from chipmodel.answers.result import Result
from chipmodel.machine.energy import RunEnergy, result_energy
from reports.instructions import result_listing
from reports.page_parts import PageColumn, SummaryTile
from reports.run.bars import MOST_BARS
from reports.run.charts import charts_data, of_merging, over_time
from reports.run.cores import core_of_ops
from reports.run.network import network
from reports.run.summary import remarks, sections, tables
from reports.run.totals import RunTotals, run_totals
from reports.run.track_record import accuracy
from reports.template import PageScript, render
from reports.words import AWAITED, count, duration, headline, in_arena, percent, ratio, size, verdict

MOST_NAMES = 100
"""Names of tensors or ops in a remark."""
MOST_INSTRUCTIONS = 2000
"""Lines of the listing of instructions; ``chipmodel export`` writes all of them."""
MOST_ROWS = 400
"""Rows of the table of ops in the HTML; a script adds more when a reader scrolls, sorts or filters."""

SCRIPTS = ("charts.js", "timeline.js", "network.js", "page.js")
LAYOUT = "dagre"


NumberedOp = tuple[int, OpTotals]


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
    graph = network(result, sums, energy)
    values: dict[str, object] = {
        "result": result,
        "verdict": verdict(result),
        "headline": headline(result),
        "accuracy": accuracy(result),
        "tiles": _tiles(result, sums),
        "timed": timed,
        "merged": merged,
        "saved": saved,
        "sections": sections(result, sums),
        "shown_tables": tables(result, sums),
        "measures": list(graph["measures"]),
        "columns": columns,
        "rows": rows[:MOST_ROWS],
        "number_of_rows": len(rows),
        "idle": idle,
        "remarks": remarks(result, MOST_NAMES),
        "instructions": (instructions := result_listing(result))[:MOST_INSTRUCTIONS],
        "more_instructions": len(instructions[MOST_INSTRUCTIONS:]),
        "chip_figures": list(result.chip.figures.items()),
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


def _tiles(result: Result, sums: RunTotals) -> list[SummaryTile]:
    total, bound = result.trace.cycles, result.lower_bound_cycles
    peak, capacity = result.solved.peak, result.capacity
    npu, dma = ratio(sums.compute_cycles, result.npu_cycles), ratio(sums.dma_cycles, total)
    used = f"{percent(ratio(peak, capacity))} of {size(capacity)}{in_arena(result.solved)}"
    stalled = f"{count(result.npu_cycles - sums.compute_cycles)} cycles of waiting"
    hidden = f"{percent(ratio(result.hidden_cycles, sums.dma_cycles))} of it during compute"
    over = f"cycles; the run is {percent(ratio(total - bound, bound))} above it"
    return [
        SummaryTile("Run time", duration(result.chip, total), f"{count(total)} cycles"),
        SummaryTile("Peak memory", size(peak), used, peak / capacity),
        SummaryTile("NPU busy", percent(npu), stalled, npu),
        SummaryTile("DMA busy", percent(dma), hidden, dma),
        SummaryTile("Time lower bound", count(bound), over),
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
