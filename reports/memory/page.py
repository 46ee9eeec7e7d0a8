"""The smallest SharedMemory of a program as one self-contained HTML file without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chipmodel.answers.memory import MemoryAnswer, MemoryPlan
from reports.memory.rows import cascade_rows, front_rows, headline, moves, smallest_rows
from reports.page_parts import SummaryTile
from reports.plot_area import PlotArea, log_share, round_numbers
from reports.template import render
from reports.words import KIB, count, magnitude, percent, ratio, round_magnitude, size


@dataclass(frozen=True, slots=True)
class FrontMark:
    """A plan on the chart in SVG coordinates, hollow where it moves tensors."""

    x: float
    y: float
    hollow: bool
    title: str


@dataclass(frozen=True, slots=True)
class FrontLine:
    """The plans of one kind: their name, marks, and the line through them."""

    name: str
    kind: str
    marks: tuple[FrontMark, ...]

    @property
    def points(self) -> str:
        """The line: a plan in less memory is one in more until the next."""
        path: list[str] = []
        for mark in self.marks:
            path += [f"{mark.x},{path[-1].split(',')[1]}"] if path else []
            path.append(f"{mark.x},{mark.y}")
        return " ".join(path)


@dataclass(frozen=True, slots=True)
class FrontChart:
    """Cycles against SharedMemory in ``area``, both axes logarithmic."""

    area: PlotArea
    sizes: tuple[int, int]
    cycles: tuple[int, int]

    def x(self, total: int) -> float:
        """The horizontal position of a number of bytes."""
        return self.area.across(log_share(total, self.sizes))

    def y(self, cycles: int) -> float:
        """The vertical position of a number of cycles."""
        return self.area.up(log_share(cycles, self.cycles))

    def size_ticks(self) -> list[tuple[float, str]]:
        """Powers of two within the axis, with labels."""
        least, most = self.sizes
        powers = (1 << power for power in range(4, 40))
        return [(self.x(each), _short(each)) for each in powers if least <= each <= most]

    def cycle_ticks(self) -> list[tuple[float, str]]:
        """Round numbers of cycles within the axis, with labels."""
        return [(self.y(each), round_magnitude(each)) for each in round_numbers(*self.cycles)]


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
            "moves": moves(answer),
            "charts": [(chart, _lines(answer, chart)) for chart in _charts(answer)],
        },
        ("page.css", "compare.css", "memory.css"),
    )


def _tiles(answer: MemoryAnswer) -> list[SummaryTile]:
    alone, cascaded = answer.layerwise, answer.cascaded
    used = ratio(cascaded.bytes, answer.capacity)
    return [
        SummaryTile(
            "With cascades", size(cascaded.bytes), f"{percent(used)} of {size(answer.capacity)}", used
        ),
        SummaryTile("Layer by layer", size(alone.bytes), f"{count(alone.bytes)} B"),
        SummaryTile("Cycles with cascades", magnitude(cascaded.cycles), f"{count(cascaded.cycles)} cycles"),
        SummaryTile("Cascades", count(len(cascaded.cascades)), "in the smallest plan"),
    ]


def _charts(answer: MemoryAnswer) -> list[FrontChart]:
    plans = _plans(answer)
    if len(answer.front) < 2:
        return []
    sizes = answer.front[0].bytes, answer.front[-1].bytes
    cycles = [plan.cycles for _, plan in plans]
    ends = min(cycles), max(max(cycles), min(cycles) + 1)
    areas = (PlotArea("wide", 860, 440), PlotArea("narrow", 370, 300))
    return [FrontChart(area, sizes, ends) for area in areas]


def _plans(answer: MemoryAnswer) -> list[tuple[int, MemoryPlan]]:
    return [
        (point.bytes, plan)
        for point in answer.front
        for plan in (point.layerwise, point.cascaded)
        if plan is not None
    ]


def _lines(answer: MemoryAnswer, chart: FrontChart) -> list[FrontLine]:
    alone = [(p.bytes, p.layerwise) for p in answer.front if p.layerwise is not None]
    cascaded = [(p.bytes, p.cascaded) for p in answer.front if p.cascaded is not None]
    return [
        FrontLine("layer by layer", "alone", _marks(alone, chart)),
        FrontLine("with cascades", "cascaded", _marks(cascaded, chart)),
    ]


def _marks(plans: Sequence[tuple[int, MemoryPlan]], chart: FrontChart) -> tuple[FrontMark, ...]:
    return tuple(
        FrontMark(
            chart.x(total),
            chart.y(plan.cycles),
            plan.moves,
            f"{count(total)} B: {count(plan.cycles)} cycles, {len(plan.cascades)} cascades",
        )
        for total, plan in plans
    )
