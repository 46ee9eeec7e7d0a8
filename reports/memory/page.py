"""The smallest SharedMemory of a program as one self-contained HTML file without scripts."""

from __future__ import annotations

from collections.abc import Sequence

from chipmodel.answers.memory import MemoryAnswer, MemoryPlan
from reports.memory.rows import (
    cascade_rows,
    front_rows,
    gap,
    headline,
    kind,
    legend,
    macs_heads,
    smallest_rows,
)
from reports.page_parts import PageChart, PageTable, SummaryTile, TablePage
from reports.svg_chart import ChartAxis, ChartLine, ChartMark, SvgChart, round_numbers, stepped
from reports.table_page import render_tables
from reports.words import KIB, count, magnitude, percent, ratio, round_magnitude, size


def _short(total: int) -> str:
    return f"{total // KIB} KiB" if total >= KIB and total < KIB * KIB else size(total).replace(".00", "")


def render_memory(answer: MemoryAnswer) -> str:
    """The page as text."""
    macs, again = macs_heads(answer), answer.recompute
    bands = (
        f", with any rows computed again; MACs are multiples of the network's, at most {again:g}"
        if again
        else ", without computing rows again"
    )
    charts, marks = _charts(answer), legend(answer)
    moving = [ChartLine("moves tensors to Psram", "hollow")] if any(text[0] == "*" for text in marks) else []
    chart = PageChart(
        "front",
        "Cycles against SharedMemory",
        "Each point is a plan that was made and simulated; a plan in less memory is also one in more. Both "
        "axes are logarithmic.",
        "Cycles against bytes of SharedMemory, with cascades and layer by layer.",
        charts,
        [*reversed(charts[0].lines), *moving] if charts else (),
    )
    tables = (
        PageTable(
            "smallest",
            "Smallest SharedMemory",
            ("plan", ">B", ">size", ">cycles", *macs, "streamer"),
            smallest_rows(answer),
            "Plans that fit and move only inputs and outputs of the network to Psram. Weights pass through "
            "SharedMemory and are included. The lower bound holds for every order of loads, every packing, "
            "and every cascade of up to 32 ops in any stripes, undivided or in 2, 3, 4, 6 or 8 bands of "
            f"columns{bands}.",
        ),
        PageTable(
            "cascades",
            "Its cascades",
            ("ops", ">number", "rows of a step"),
            cascade_rows(answer),
            "Ops that run in stripes, one after another, so that tensors between them never exist whole; by "
            "op, the most rows that one step computes.",
        ),
        PageTable(
            "sizes",
            "Plans by size",
            (">SharedMemory B", ">cycles layer by layer", ">with cascades", *macs, ">saved"),
            front_rows(answer),
            "".join(f"{text}. " for text in marks),
        ),
    )
    sentences, tiles = (headline(answer),), tuple(_tiles(answer))
    return render_tables(
        TablePage("memory", answer.program, f"on {answer.chip}", sentences, tiles, tables, (chart,))
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
