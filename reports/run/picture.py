"""A run as one picture without a script: what the NPUs and the DMA engine do, and below it every byte of
SharedMemory meanwhile; and what a notebook shows around it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from chipmodel.answers.result import Result
from reports.run.figures import Category, RunChart, timeline
from reports.run.memory_map import memory_map
from reports.run.totals import run_totals
from reports.template import render_part
from reports.words import KIB, duration, size

WIDTH, LEFT, RIGHT, LANE, MAP_HEIGHT = 960, 84, 14, 30, 250
"""Pixels: of the picture, of its margins, of a row of the timeline, of the map of memory."""
TOP, LEGEND, GAP = 40, 22, 18
"""Pixels above the legend, of one of its rows, and around the charts."""
PLOT = WIDTH - LEFT - RIGHT
STYLE = """
    text { font: 12px system-ui, sans-serif; fill: #333 } .title { font-size: 15px; font-weight: 600 }
    .card { fill: #fff } .lane { fill: #f0f1f3 } .axis { stroke: #c4c8ce } .line { stroke: #333; fill: none }
    .wait { fill-opacity: .45 }
    @media (prefers-color-scheme: dark) {
      text { fill: #d5d8dd } .card { fill: #16191d } .lane { fill: #23282e } .axis { stroke: #4a515b }
      .line { stroke: #d5d8dd }
    }
"""


@dataclass(frozen=True, slots=True)
class _Panel:
    """A chart between two heights, in pixels; ``rows`` are its categories from the bottom, if it has some,
    ``ticks`` what is labelled of its axis."""

    chart: RunChart
    top: float
    height: float
    low: float
    high: float
    rows: tuple[str, ...] = ()
    ticks: tuple[float, ...] = ()

    def y(self, value: float) -> float:
        return self.top + self.height * (self.high - value) / (self.high - self.low)


def picture(result: Result, most: int = 1_000) -> str:
    """The picture as an SVG document, readable on a light and on a dark page, with at most ``most`` bars and
    boxes each. Of several cores the map is of the one with the highest peak."""
    cores = [result.on_core(plan.core) for plan in result.cores] or [result]
    above, below = timeline(result, most), memory_map(max(cores, key=lambda core: core.solved.peak), most)
    legend = tuple({c.label: c for c in (*above.legend, *below.legend) if c.colour != "ink"}.values())
    rows: Any = above.figure["layout"]
    names = tuple(rows["yaxis"]["categoryarray"])
    top = TOP + LEGEND * -(-len(legend) // 6) + GAP
    first = _Panel(above, top, LANE * len(names), -0.5, len(names) - 0.5, names)
    axis: Any = below.figure["layout"]
    high = axis["yaxis"]["range"][1]
    end = min(high, result.capacity / KIB)
    second = _Panel(below, top + first.height + GAP, MAP_HEIGHT, 0, high, ticks=(0, end / 2, end))
    bottom = second.top + MAP_HEIGHT
    title = f"{result.program.name} on {result.chip.name} by {result.schedule.streamer}"
    title = f"{title}: {duration(result.chip, result.trace.cycles)}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 50:g}" role="img">',
            f"  <title>{escape(title)}</title>",
            f"  <style>{STYLE}  </style>",
            f'  <rect class="card" width="{WIDTH}" height="{bottom + 50:g}" rx="8"/>',
            f'  <text class="title" x="{LEFT}" y="28">{escape(title)}</text>',
            *_legend(legend),
            *_drawn(first, result.trace.cycles),
            *_drawn(second, result.trace.cycles),
            *_time_axis(result, bottom),
            "</svg>\n",
        ]
    )


def _legend(legend: tuple[Category, ...]) -> Iterator[str]:
    for number, category in enumerate(legend):
        x, y = LEFT + number % 6 * PLOT / 6, TOP + number // 6 * LEGEND
        yield f"  <rect {_look(category)} x='{x:.0f}' y='{y}' width='12' height='12' rx='2'/>"
        yield f'  <text x="{x + 17:.0f}" y="{y + 10.5}">{escape(category.label)}</text>'


def _look(category: Category) -> str:
    wait = " class='wait'" if category.hatched or category.faint else ""
    return f"fill='{category.colour}'{wait}"


def _drawn(panel: _Panel, cycles: int) -> Iterator[str]:
    """The bars and lines of a chart, whose figure is a plain dictionary."""
    data: Any = panel.chart.figure["data"]
    yield f'  <rect class="lane" x="{LEFT}" y="{panel.top:g}" width="{PLOT}" height="{panel.height:g}"/>'
    for category, trace in zip(panel.chart.legend, data, strict=False):
        if trace["type"] == "bar":
            yield f"  <g {_look(category)}>"
            yield from _bars(panel, trace, PLOT / cycles)
            yield "  </g>"
    for trace in data:
        if trace["type"] == "scatter":
            dash = ' stroke-dasharray="6 4"' if trace["line"].get("dash") else ""
            corners = list(_corners(panel, trace, PLOT / cycles))
            yield f'  <polyline class="line"{dash} points="{" ".join(corners)}"/>'
    for number, name in enumerate(panel.rows):
        yield f'  <text x="{LEFT - 8}" y="{panel.y(number) + 4:.1f}" text-anchor="end">{name}</text>'
    for kib in panel.ticks:
        words = size(round(kib * KIB))
        yield f'  <text x="{LEFT - 8}" y="{panel.y(kib) + 4:.1f}" text-anchor="end">{words}</text>'


def _bars(panel: _Panel, trace: Any, scale: float) -> Iterator[str]:
    for index, (start, cycles, row) in enumerate(zip(trace["base"], trace["x"], trace["y"], strict=True)):
        middle = panel.rows.index(row) if panel.rows else row
        width = trace["width"][index] if isinstance(trace["width"], list) else trace["width"]
        top, bottom = panel.y(middle + width / 2), panel.y(middle - width / 2)
        place = f'x="{LEFT + start * scale:.1f}" y="{top:.1f}" height="{bottom - top:.1f}"'
        title = f"{trace['customdata'][index][0]}: {trace['name']}"
        yield f'<rect {place} width="{max(0.4, cycles * scale):.1f}"><title>{title}</title></rect>'


def _corners(panel: _Panel, trace: Any, scale: float) -> Iterator[str]:
    """A line's corners; it goes on level until its next point."""
    last = None
    for cycle, value in zip(trace["x"], trace["y"], strict=True):
        x, y = LEFT + cycle * scale, panel.y(value)
        if last is not None:
            yield f"{x:.1f},{last:.1f}"
        yield f"{x:.1f},{y:.1f}"
        last = y


def _time_axis(result: Result, bottom: float) -> Iterator[str]:
    yield f'  <path class="axis" d="M{LEFT} {bottom:g}h{PLOT}"/>'
    for share in (0, 0.25, 0.5, 0.75, 1):
        x, anchor = LEFT + PLOT * share, "start" if not share else "end" if share == 1 else "middle"
        text = duration(result.chip, round(result.trace.cycles * share)) if share else "0"
        yield f'  <text x="{x:.1f}" y="{bottom + 18:g}" text-anchor="{anchor}">{text}</text>'
    note = "The map has every byte of SharedMemory over time; the line is the sum of all live bytes."
    yield f'  <text x="{LEFT}" y="{bottom + 38:g}">{note}</text>'


MOST_BARS = 300
"""Bars and boxes of the picture, which is stored in the notebook."""
MOST_OPS = 8
"""Rows of the table."""


def notebook_html(result: Result, headline: str) -> str:
    """Return a part of a page, the same for the same result."""
    ops = sorted(run_totals(result).ops, key=lambda op: -op.compute_cycles - op.stall_cycles)
    values: dict[str, object] = {
        "headline": headline,
        "alt": f"{result.program.name} on {result.chip.name}: NPU, DMA engine, and SharedMemory over time",
        "picture": b64encode(picture(result, MOST_BARS).encode()).decode("ascii"),
        "ops": ops[:MOST_OPS],
        "more": len(ops[MOST_OPS:]),
    }
    return render_part("notebook.html.j2", values)
