"""The result of a simulation as one self-contained HTML file."""

from __future__ import annotations

from typing import Literal

from chipmodel.answers.result import Result
from chipmodel.machine.energy import RunEnergy, result_energy
from reports.instructions import result_listing
from reports.run.bars import MOST_BARS
from reports.run.charts import charts_data, of_merging, over_time
from reports.run.cores import core_of_ops
from reports.run.merging import saved_words
from reports.run.network import network
from reports.run.summary import remarks, sections, tables
from reports.run.totals import RunTotals, run_totals
from reports.run.track_record import accuracy
from reports.template import PageScript, render
from reports.words import AWAITED, headline, verdict

MOST_NAMES = 100
"""Names of tensors or ops in a remark."""
MOST_INSTRUCTIONS = 2000
"""Lines of the listing of instructions; ``chipmodel export`` writes all of them."""
MOST_ROWS = 400
"""Rows of the table of ops in the HTML; a script adds more when a reader scrolls, sorts or filters."""

SCRIPTS = ("charts.js", "timeline.js", "network.js", "page.js")
LAYOUT = "dagre"


WORDS = ("op", "kind")
"""Columns of texts in the table of ops."""


def render_page(
    result: Result, most_bars: int = MOST_BARS, plotly: Literal["inside", "beside"] = "inside"
) -> str:
    """The page as text, with at most ``most_bars`` bars a chart; ``plotly`` says where its script is."""
    sums, energy = run_totals(result), result_energy(result)
    columns = _columns(result, sums, energy)
    rows = list(zip(*columns.values(), strict=True))
    idle = [index for index, op in enumerate(sums.ops, 1) if not op.runs]
    timed = over_time(result, most_bars)
    merged = of_merging(result)
    graph = network(result, sums, energy)
    values: dict[str, object] = {
        "result": result,
        "verdict": verdict(result),
        "headline": headline(result),
        "accuracy": accuracy(result),
        "timed": timed,
        "merged": merged,
        "saved": saved_words(result),
        "sections": sections(result, sums),
        "shown_tables": tables(result, sums),
        "measures": list(graph["measures"]),
        "columns": [(name, name not in WORDS) for name in columns],
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
        "numeric": [name not in WORDS for name in columns],
        "rows": rows[MOST_ROWS:],
        "idle": [index for index in idle if index > MOST_ROWS],
        **charts_data(timed, merged, {op.name: i for i, op in enumerate(sums.ops)}),
        "network": graph,
    }
    return render("page.html.j2", values, ("page.css",), PageScript(SCRIPTS, data, plotly, (LAYOUT,)))


def _columns(result: Result, sums: RunTotals, energy: RunEnergy | None) -> dict[str, list[int | str]]:
    """The columns of the table of ops that every page has, and one per cause for which the NPU waited."""
    ops, on = sums.ops, core_of_ops(result)
    waits: dict[str, list[int | str]] = {
        f"for {AWAITED[cause]}": [op.stalls.get(cause, 0) for op in ops]
        for cause in sums.stalls
        if cause != "finished"
    }
    return {
        "#": list(range(1, len(ops) + 1)),
        "op": [op.name for op in ops],
        "kind": [op.kind for op in ops],
        **({"core": [on[op.name] for op in ops]} if result.cores else {}),
        "runs": [op.runs for op in ops],
        "steps": [op.steps for op in ops],
        "MACs": [op.macs * op.runs for op in ops],
        "compute": [op.compute_cycles for op in ops],
        "stall": [op.stall_cycles for op in ops],
        **waits,
        "loaded B": [op.loaded_bytes for op in ops],
        "stored B": [op.stored_bytes for op in ops],
        **({"nJ": [round(1000 * energy.op_microjoules(op.name)) for op in ops]} if energy else {}),
    }
