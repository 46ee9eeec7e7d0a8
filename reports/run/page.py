"""The result as one HTML file that needs no network: figures, tables, and where each number is from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from chipmodel.chip.chip import Figure
from chipmodel.errors import BadInput
from chipmodel.model.result import Result
from reports.run.bars import MOST_BARS
from reports.run.charts import charts_data, of_merging, of_work, over_time
from reports.run.cores import CoreTotals, core_of_ops, core_totals, speed_up
from reports.run.digest import Digest, OpTotals, digest
from reports.run.figures import EVENTS, Category
from reports.run.lateness import late_ops
from reports.run.limits import bound_words, psram_words
from reports.run.ordering import FOR_THIS_ORDER, order_words
from reports.run.paths import part_lines, path_lines
from reports.run.steady_state import staying_words, steady_of
from reports.template import render, static
from reports.words import (
    AWAITED,
    count,
    duration,
    headline,
    magnitude,
    peak_gap,
    percent,
    ratio,
    size,
    verdict,
)

MOST_MET = 25
"""Rows of the table of meetings; there may be thousands."""
MOST_ROWS = 400
"""Rows of the table of ops that are there from the start; the others are made once they are asked for."""
MOST_LATE = 25
"""Rows of the table of ops whose weights come too late."""

SCRIPTS = ("sorting.js", "timeline.js", "page.js")


@dataclass(frozen=True, slots=True)
class Card:
    """One key figure; ``meter`` is a share of 1 to draw below it."""

    label: str
    value: str
    detail: str
    meter: float | None = None


@dataclass(frozen=True, slots=True)
class Slice:
    """What a unit did for how long; ``share`` of the run."""

    category: Category
    cycles: int
    share: float
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the op table; ``numeric`` ones are right-aligned and sort downwards first."""

    key: str
    label: str
    numeric: bool = True


def render_page(result: Result, most_bars: int = MOST_BARS) -> str:
    """The whole page as text: the same for the same result. ``most_bars`` limits each chart.

    Raises BadInput where the plotly package does not hold its script.
    """
    return render("page.html.j2", _context(result, most_bars))


def script_json(value: object) -> str:
    """``value`` as JSON that no HTML parser can mistake for markup inside a script element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def plotly_script() -> str:
    """plotly.js as the plotly package ships it; read as a file, because importing plotly is slow."""
    spec = find_spec("plotly")
    folders = spec.submodule_search_locations if spec else None
    for folder in folders or ():
        path = Path(folder) / "package_data" / "plotly.min.js"
        if path.is_file():
            return path.read_text(encoding="utf-8").replace("</script", "<\\/script")
    raise BadInput(
        "the plotly package with its package_data/plotly.min.js is not installed",
        hint="install plotly 6 or newer, or leave out the HTML page",
    )


def _context(result: Result, most_bars: int) -> dict[str, object]:
    from markupsafe import Markup

    sums = digest(result)
    late = late_ops(result.schedule)
    on = core_of_ops(result)
    columns = _columns(result, sums)
    rows = [_row(index, op, sums, on[op.name]) for index, op in enumerate(sums.ops, 1)]
    timed, work = over_time(result, most_bars), of_work(result, sums)
    saved, merged = of_merging(result)
    return {
        "result": result,
        "verdict": verdict(result),
        "headline": headline(result),
        "cards": _cards(result, sums),
        "cores": core_totals(result),
        "core_causes": _core_causes(core_totals(result)),
        "timed": timed,
        "waterfall": work[0],
        "roofline": work[1],
        "merged": merged,
        "saved": saved,
        "units": {_npus(result): _npu_slices(result, sums), "DMA": _dma_slices(result, sums)},
        "columns": columns,
        "rows": rows[:MOST_ROWS],
        "number_of_rows": len(rows),
        "facts": _facts(result, sums),
        "path_lines": path_lines(result),
        "path_parts": part_lines(result.paths) if result.paths else [],
        "met": sums.met[:MOST_MET],
        "met_more": max(0, len(sums.met) - MOST_MET),
        "late": late[:MOST_LATE],
        "late_more": len(late[MOST_LATE:]),
        "chip_figures": _chip_figures(result.chip.figures),
        "names": {"spilled": result.schedule.spilled, "striped": result.schedule.striped},
        "data": Markup(
            script_json(
                {
                    "cycles": result.trace.cycles,
                    "numeric": [column.numeric for column in columns],
                    "rows": [[row[column.key] for column in columns] for row in rows[MOST_ROWS:]],
                    "idle": [row["index"] for row in rows[MOST_ROWS:] if not row["runs"]],
                    **charts_data((*timed, *work, *merged)),
                }
            )
        ),
        "style": Markup(static("page.css")),
        "script": Markup("".join(static(name) for name in SCRIPTS)),
        "plotly": Markup(plotly_script()),
    }


def _cards(result: Result, sums: Digest) -> list[Card]:
    total = result.trace.cycles
    peak, capacity = result.solved.peak, result.capacity
    over = ratio(total - result.lower_bound_cycles, result.lower_bound_cycles)
    hidden = percent(ratio(result.hidden_cycles, sums.dma_cycles))
    npu, dma = ratio(sums.compute_cycles, result.npu_cycles), ratio(sums.dma_cycles, total)
    stalled = f"{count(result.npu_cycles - sums.compute_cycles)} cycles stalled"
    moved = f"{size(sums.loaded_bytes)} loaded, {size(sums.stored_bytes)} stored"
    ordered = FOR_THIS_ORDER if result.ordering else ""
    return [
        Card("Run time", duration(result.chip, total), f"{count(total)} cycles"),
        *_steady_cards(result),
        Card(
            "Peak memory",
            size(peak),
            f"{percent(ratio(peak, capacity))} of {size(capacity)}",
            peak / capacity,
        ),
        Card(f"{_npus(result)} {'computes' if not result.cores else 'compute'}", percent(npu), stalled, npu),
        Card("DMA busy", percent(dma), f"{hidden} of it behind compute", dma),
        Card("Against sync", *_against_sync(result)),
        *([Card("Speed-up", speed_up(result).split()[3], _alone(result))] if speed_up(result) else []),
        Card("Time lower bound", count(result.lower_bound_cycles), f"cycles; gap {percent(over)}{ordered}"),
        Card("Memory lower bound", size(result.solved.lower_bound), peak_gap(result)),
        Card("Psram traffic", size(sums.loaded_bytes + sums.stored_bytes), moved),
        Card(
            "MACs", magnitude(sums.executed_macs), f"array {percent(sums.array_utilisation)} used while busy"
        ),
        Card(
            "Parameters",
            magnitude(result.program.parameters),
            f"{size(result.program.weight_bytes)} in Psram",
        ),
    ]


def _steady_cards(result: Result) -> list[Card]:
    found = steady_of(result)
    if found is None:
        return []
    first = f"{count(found.further_cycles)} cycles each; the first takes {count(found.first_cycles)}"
    share = ratio(found.staying_bytes, result.program.weight_bytes)
    kept = f"{percent(share)} of the weights, for all {found.inferences:,} inferences"
    return [
        Card("Inferences a second", f"{found.per_second:,.1f}", first),
        Card("Weights that stay", size(found.staying_bytes), kept, share),
    ]


def _npus(result: Result) -> str:
    return f"{len(result.cores)} NPUs" if result.cores else "NPU"


def _alone(result: Result) -> str:
    return f"times as fast as one core, which takes {count(result.one_core_cycles or 0)} cycles"


def _core_causes(cores: tuple[CoreTotals, ...]) -> list[tuple[str, str]]:
    """The causes for which any core waited, with their words."""
    found = {cause for totals in cores for cause in totals.stalls}
    return [(cause, words) for cause, words in AWAITED.items() if cause in found]


def _against_sync(result: Result) -> tuple[str, str]:
    saved = ratio(result.sync_cycles - result.trace.cycles, result.sync_cycles)
    sign = "\N{MINUS SIGN}" if saved > 0 else "+" if saved < 0 else ""
    return sign + percent(abs(saved)), f"of the time; sync takes {count(result.sync_cycles)} cycles"


def _npu_slices(result: Result, sums: Digest) -> list[Slice]:
    return _slices(result.npu_cycles, {"compute": sums.compute_cycles} | dict(sums.stalls), {})


def _dma_slices(result: Result, sums: Digest) -> list[Slice]:
    total = result.trace.cycles * result.trace.channels
    return _slices(total, dict(sums.moved_cycles) | dict(sums.idle), sums.moved_bytes)


def _slices(total: int, cycles: Mapping[str, int], moved: Mapping[str, int]) -> list[Slice]:
    return [
        Slice(c, cycles[c.key], ratio(cycles[c.key], total), moved.get(c.key, 0))
        for c in EVENTS
        if cycles.get(c.key)
    ]


def _columns(result: Result, sums: Digest) -> list[Column]:
    """The fixed columns, and one per cause for which the NPU waited at all."""
    causes = [
        Column(f"stall:{cause}", f"for {AWAITED[cause]}") for cause in sums.stalls if cause != "finished"
    ]
    return [
        Column("index", "#"),
        Column("name", "op", numeric=False),
        Column("kind", "kind", numeric=False),
        *([Column("core", "core")] if result.cores else []),
        Column("runs", "runs"),
        Column("steps", "steps"),
        Column("macs", "MACs"),
        Column("compute", "compute"),
        Column("stall", "stall"),
        *causes,
        Column("loaded", "loaded B"),
        Column("stored", "stored B"),
    ]


def _row(index: int, op: OpTotals, sums: Digest, core: int) -> dict[str, int | str]:
    return {
        "index": index,
        "name": op.name,
        "kind": op.kind,
        "core": core,
        "runs": op.runs,
        "steps": op.steps,
        "macs": op.macs * op.runs,
        "compute": op.compute_cycles,
        "stall": op.stall_cycles,
        **{f"stall:{cause}": op.stalls.get(cause, 0) for cause in sums.stalls},
        "loaded": op.loaded_bytes,
        "stored": op.stored_bytes,
    }


def _facts(result: Result, sums: Digest) -> list[tuple[str, str]]:
    schedule, solved = result.schedule, result.solved
    ran = sum(1 for op in sums.ops if op.runs)
    facts = [
        ("Packer", f"{solved.planner} ({solved.status})"),
        *([("Arms merged by", result.merge)] if result.trace.path else []),
        ("Streamer", schedule.streamer),
        *([("Order of ops", order_words(result.ordering))] if result.ordering else []),
        ("Time bound by", bound_words(result.bound) or "nothing"),
        *([("Weights of these ops stay", staying_words(result))] if staying_words(result) else []),
        ("Psram used", psram_words(result)),
        ("Ops", f"{len(sums.ops):,}, of which {ran:,} ran, in {sum(o.steps for o in sums.ops):,} steps"),
        ("Buffers", f"{_buffers(result):,} buffers, {len(schedule.transfers):,} transfers"),
        *((f"Path: {name}", _choice(choice)) for name, choice in sorted(result.trace.path.items())),
    ]
    return [("Source", result.program.source), *facts] if result.program.source else facts


def _buffers(result: Result) -> int:
    return sum(len(p.problem.buffers) for p in result.cores) or len(result.problem.buffers)


def _choice(choice: str) -> str:
    return f"{choice} iterations" if choice.isdecimal() else f"arm {choice}"


def _chip_figures(figures: Mapping[str, Figure]) -> list[tuple[str, Figure]]:
    return list(figures.items())
