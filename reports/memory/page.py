"""The smallest SharedMemory of a program as one self-contained HTML file without scripts."""

from __future__ import annotations

from collections.abc import Sequence

from chipmodel.answers.memory import MemoryAnswer, MemoryPlan
from reports.memory.rows import cascade_rows, front_rows, gap, headline, kind, legend, smallest_rows
from reports.page_parts import SummaryTile
from reports.svg_chart import ChartAxis, ChartLine, ChartMark, SvgChart, round_numbers, stepped
from reports.template import PLAIN, render
from reports.words import KIB, count, magnitude, percent, ratio, round_magnitude, size


def _short(total: int) -> str:
    return f"{total // KIB} KiB" if total >= KIB and total < KIB * KIB else size(total).replace(".00", "")


def render_memory(answer: MemoryAnswer) -> str:
    """The page as text."""
    return render(
        "memory.html.j2",
        {
            "answer": answer,
            "headline": headline(answer),
            "tiles": _tiles(answer),
            "smallest": smallest_rows(answer),
            "cascades": cascade_rows(answer),
            "front": front_rows(answer),
            "legend": legend(answer),
            "charts": _charts(answer),
        },
        PLAIN,
    )


def _tiles(answer: MemoryAnswer) -> list[SummaryTile]:
    alone, cascaded = answer.layerwise, answer.cascaded
    name, used = kind(cascaded), ratio(cascaded.bytes, answer.capacity)
    return [
        SummaryTile(
            name.capitalize(), size(cascaded.bytes), f"{percent(used)} of {size(answer.capacity)}", used
        ),
        SummaryTile("Layer by layer", size(alone.bytes), f"{count(alone.bytes)} B"),
        SummaryTile(f"Cycles {name}", magnitude(cascaded.cycles), f"{count(cascaded.cycles)} cycles"),
        SummaryTile("Lower bound", size(answer.lower_bound), f"the smallest plan is {gap(answer)} above it"),
    ]


def _charts(answer: MemoryAnswer) -> list[SvgChart]:
    """Cycles against SharedMemory; empty for fewer than two sizes."""
    front = answer.front
    if len(front) < 2:
        return []
    lines = (
        _line("layer by layer", "alone", [(p.bytes, p.layerwise) for p in front]),
        _line("with cascades", "cascaded", [(p.bytes, p.cascaded) for p in front]),
    )
    cycles = [mark.at[1] for line in lines for mark in line.marks]
    x, y = (front[0].bytes, front[-1].bytes), (min(cycles), max(max(cycles), min(cycles) + 1))
    powers = tuple((1 << power, _short(1 << power)) for power in range(4, 40) if x[0] <= 1 << power <= x[1])
    round_cycles = tuple((each, round_magnitude(each)) for each in round_numbers(*y))
    axes = ChartAxis("SharedMemory", x, powers), ChartAxis("cycles", y, round_cycles)
    return [SvgChart("wide", 860, 440, *axes, lines), SvgChart("narrow", 370, 300, *axes, lines)]


def _line(name: str, kind: str, plans: Sequence[tuple[int, MemoryPlan | None]]) -> ChartLine:
    """The plans by their bytes, hollow where they move tensors; a plan in less memory is one in more."""
    marks = tuple(
        ChartMark(
            (total, plan.cycles),
            f"{name}, {count(total)} B: {count(plan.cycles)} cycles, {len(plan.cascades)} cascades",
            plan.moves,
        )
        for total, plan in plans
        if plan is not None
    )
    return ChartLine(name, kind, marks, stepped([mark.at for mark in marks]))
