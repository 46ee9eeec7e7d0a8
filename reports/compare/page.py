"""A comparison of planners as one self-contained HTML file without scripts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from chipmodel.answers.comparison import PackerRow, PlannerComparison
from reports.compare.rows import (
    bound_space,
    core_cells,
    cycle_cells,
    fit_text,
    headline,
    merge_cells,
    peak_cells,
    run_fit_text,
)
from reports.page_parts import SummaryTile
from reports.plot_area import BOTTOM, TOP, PlotArea, log_share
from reports.template import render
from reports.words import count, percent, ratio, seconds_text, size

LEFT, RIGHT, RIGHT_NARROW = 56, 170, 110
"""Margins in pixels: of gaps to the left of the chart, and of names to its right."""
GAPS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Upper ends of the axis of gaps. Gaps beyond the last are drawn at its upper edge."""
LEAST_SECONDS = 1e-4
"""Start of the logarithmic axis of time."""
NAME_HEIGHT = 15
"""Pixels between two names."""


@dataclass(frozen=True, slots=True)
class GapCurve:
    """A packer's gap over its time in SVG coordinates: the line, its end, and the height of its name."""

    name: str
    points: str
    x: float
    y: float
    name_y: float


@dataclass(frozen=True, slots=True)
class GapChartFrame:
    """The chart in ``area``. Time is logarithmic from ``LEAST_SECONDS`` to ``last``, gaps are linear to
    ``most``."""

    area: PlotArea
    last: float
    most: float

    def x(self, seconds: float) -> float:
        """The horizontal position of a time."""
        return self.area.across(log_share(max(seconds, LEAST_SECONDS), (LEAST_SECONDS, self.last)))

    def y(self, gap: float) -> float:
        """The vertical position of a gap."""
        return self.area.up(gap / self.most)


@dataclass(frozen=True, slots=True)
class TickMark:
    """A labelled position on an axis."""

    at: float
    label: str


def render_comparison(comparison: PlannerComparison) -> str:
    """The page as text."""
    values: dict[str, object] = {
        "comparison": comparison,
        "bound_space": bound_space(comparison),
        "headline": headline(comparison),
        "tiles": _tiles(comparison),
        "cores": range(comparison.cores),
        "core_rows": [(row, core_cells(row)) for row in comparison.ranked if row.cores],
        "packed": [
            (
                r,
                peak_cells(comparison, r),
                fit_text(comparison, r),
                _tone(comparison, r),
                _share(comparison, r),
            )
            for r in comparison.ranked
        ],
        "merged": [
            (r, merge_cells(comparison, r), fit_text(comparison, r), comparison.fits(r))
            for r in comparison.merged
        ],
        "streamed": [(r, cycle_cells(r), run_fit_text(r)) for r in comparison.streamed],
        "charts": [
            (frame, _curves(comparison, frame), _second_ticks(frame), _gap_ticks(frame))
            for frame in _frames(comparison)
        ],
    }
    return render("compare.html.j2", values, ("page.css", "compare.css"))


def _tiles(comparison: PlannerComparison) -> list[SummaryTile]:
    tiles: list[SummaryTile] = []
    if comparison.packed:
        schedule = comparison.streamer and f"in the schedule of {comparison.streamer}"
        tiles.append(SummaryTile("Buffers", count(len(comparison.problem.buffers)), schedule))
        tiles.append(
            SummaryTile("Proven lower bound", size(comparison.bound), f"{count(comparison.bound)} B")
        )
        best = comparison.ranked[0]
        if best.peak is not None:
            gap = comparison.gap(best) or 0.0
            tiles.append(
                SummaryTile("Lowest peak", size(best.peak), f"{count(best.peak)} B; gap {percent(gap)}")
            )
        fit = sum(map(comparison.fits, comparison.packed))
        total = len(comparison.packed)
        tiles.append(SummaryTile("Packers that fit", f"{fit} of {total}", _capacity(comparison), fit / total))
    fastest = min((r.cycles for r in comparison.streamed if r.cycles is not None), default=None)
    if fastest is not None:
        tiles.append(SummaryTile("Fastest run", count(fastest), "cycles"))
    return tiles


def _capacity(comparison: PlannerComparison) -> str:
    return "no capacity given" if comparison.capacity is None else f"within {size(comparison.capacity)}"


def _tone(comparison: PlannerComparison, row: PackerRow) -> str:
    if row.refused:
        return "soft"
    return "good" if comparison.fits(row) else "bad"


def _share(comparison: PlannerComparison, row: PackerRow) -> float:
    """The bound as a share of the peak: 1 for a plan that is proven optimal."""
    return 0.0 if row.peak is None else ratio(comparison.bound, row.peak) if row.peak else 1.0


def _frames(comparison: PlannerComparison) -> list[GapChartFrame]:
    """Frames for a wide and a narrow screen; empty where no packer has a plan."""
    gaps = [gap for row in comparison.packed if (gap := comparison.gap(row)) is not None]
    if not gaps:
        return []
    last = max([LEAST_SECONDS * 10, *(row.seconds for row in comparison.packed)])
    most = next((each for each in GAPS if each >= max(gaps)), GAPS[-1])
    names = NAME_HEIGHT * len(gaps) + TOP + BOTTOM
    return [
        GapChartFrame(PlotArea("wide", 1190, max(320, names), LEFT, RIGHT), last, most),
        GapChartFrame(PlotArea("narrow", 370, max(280, names), LEFT, RIGHT_NARROW), last, most),
    ]


def _second_ticks(frame: GapChartFrame) -> list[TickMark]:
    powers = (10.0**power for power in range(-4, 8))
    ticks = [TickMark(frame.x(second), seconds_text(second)) for second in powers if second <= frame.last]
    apart = 1 + (len(ticks) > 4) * (frame.area.kind == "narrow")
    return ticks[::apart]


def _gap_ticks(frame: GapChartFrame) -> list[TickMark]:
    return [TickMark(frame.y(frame.most * part / 4), percent(frame.most * part / 4)) for part in range(5)]


def _curves(comparison: PlannerComparison, frame: GapChartFrame) -> list[GapCurve]:
    """A curve of steps for packers that reported their progress, a point for the others; names on the right
    from the highest point to the lowest, without overlaps."""
    drawn: list[tuple[float, float, str, str]] = []
    for row in comparison.packed:
        if row.peak is None:
            continue
        steps = [*row.trajectory, (row.seconds, row.peak)]
        gaps = [ratio(peak - comparison.bound, comparison.bound) for _, peak in steps]
        places = [(frame.x(s), frame.y(gap)) for (s, _), gap in zip(steps, gaps, strict=True)]
        path = [f"{places[0][0]},{places[0][1]}"]
        for (_, before), (x, y) in pairwise(places):
            path += [f"{x},{before}", f"{x},{y}"]
        drawn.append((places[-1][1], places[-1][0], row.packer, " ".join(path)))
    drawn.sort()
    curves: list[GapCurve] = []
    free = float(TOP)
    for number, (y, x, name, points) in enumerate(drawn):
        below = (len(drawn) - 1 - number) * NAME_HEIGHT
        name_y = max(free, min(y, frame.area.edges[3] - below))
        free = name_y + NAME_HEIGHT
        curves.append(GapCurve(name, points, x, y, round(name_y, 1)))
    return curves
