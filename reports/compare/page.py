"""Compared planners as one HTML file that needs no network and no script."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import log10

from reports.compare.rows import (
    Comparison,
    Packed,
    core_cells,
    cores_of,
    cycle_cells,
    fit_text,
    headline,
    merge_cells,
    peak_cells,
    run_fit_text,
    seconds_text,
)
from reports.run.page import Card
from reports.template import render, static
from reports.words import count, percent, ratio, size

LEFT, TOP, BOTTOM = 56, 26, 52
"""The chart's margins in pixels."""
GAPS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Where the axis of gaps may end. Gaps beyond are drawn at its upper edge."""
LEAST_SECONDS = 1e-4
NAME_HEIGHT = 15


@dataclass(frozen=True, slots=True)
class Curve:
    """A packer's gap over the time that it took, as SVG: where it improved, and where its name stands."""

    name: str
    points: str
    x: float
    y: float
    name_y: float


@dataclass(frozen=True, slots=True)
class Frame:
    """The chart for a width of screen, in pixels. Time is logarithmic from ``LEAST_SECONDS`` to ``last``,
    gaps are linear to ``most``; ``right`` is the margin in which names stand."""

    kind: str
    width: int
    height: int
    right: int
    last: float
    most: float

    @property
    def edges(self) -> tuple[int, int, int, int]:
        """Left, right, top and bottom of what is drawn in."""
        return LEFT, self.width - self.right, TOP, self.height - BOTTOM

    def x(self, seconds: float) -> float:
        """Where a time stands."""
        left, right, _, _ = self.edges
        share = log10(max(seconds, LEAST_SECONDS) / LEAST_SECONDS) / log10(self.last / LEAST_SECONDS)
        return round(left + min(1.0, share) * (right - left), 1)

    def y(self, gap: float) -> float:
        """Where a gap stands."""
        _, _, top, bottom = self.edges
        return round(bottom - min(gap, self.most) / self.most * (bottom - top), 1)


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis."""

    at: float
    label: str


def render_comparison(comparison: Comparison) -> str:
    """The whole page as text."""
    return render("compare.html.j2", _context(comparison))


def _context(comparison: Comparison) -> dict[str, object]:
    from markupsafe import Markup

    style = (static(name) for name in ("page.css", "compare.css"))
    return {
        "comparison": comparison,
        "headline": headline(comparison),
        "cards": _cards(comparison),
        "cores": range(cores_of(comparison)),
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
        "style": Markup("".join(style)),
    }


def _cards(comparison: Comparison) -> list[Card]:
    cards: list[Card] = []
    if comparison.packed:
        cards.append(Card("Buffers", count(len(comparison.problem.buffers)), comparison.streamer))
        cards.append(Card("Proven bound", size(comparison.bound), f"{count(comparison.bound)} B"))
        best = comparison.ranked[0]
        if best.peak is not None:
            gap = comparison.gap(best) or 0.0
            cards.append(Card("Lowest peak", size(best.peak), f"{count(best.peak)} B; gap {percent(gap)}"))
        fit = sum(map(comparison.fits, comparison.packed))
        total = len(comparison.packed)
        cards.append(Card("Packers that fit", f"{fit} of {total}", _capacity(comparison), fit / total))
    quickest = min((r.cycles for r in comparison.streamed if r.cycles is not None), default=None)
    if quickest is not None:
        cards.append(Card("Fastest run", count(quickest), "cycles"))
    return cards


def _capacity(comparison: Comparison) -> str:
    return "no capacity given" if comparison.capacity is None else f"within {size(comparison.capacity)}"


def _tone(comparison: Comparison, row: Packed) -> str:
    if row.refused:
        return "soft"
    return "good" if comparison.fits(row) else "bad"


def _share(comparison: Comparison, row: Packed) -> float:
    """The bound as a share of the peak: 1 for a plan that no other can beat."""
    return 0.0 if row.peak is None else ratio(comparison.bound, row.peak) if row.peak else 1.0


def _frames(comparison: Comparison) -> list[Frame]:
    """For a wide and for a narrow screen; none where no packer has a plan."""
    gaps = [gap for row in comparison.packed if (gap := comparison.gap(row)) is not None]
    if not gaps:
        return []
    last = max([LEAST_SECONDS * 10, *(row.seconds for row in comparison.packed)])
    most = next((each for each in GAPS if each >= max(gaps)), GAPS[-1])
    names = NAME_HEIGHT * len(gaps) + TOP + BOTTOM
    return [
        Frame("wide", 1190, max(320, names), 170, last, most),
        Frame("narrow", 370, max(280, names), 110, last, most),
    ]


def _second_ticks(frame: Frame) -> list[Tick]:
    powers = (10.0**power for power in range(-4, 8))
    ticks = [Tick(frame.x(second), seconds_text(second)) for second in powers if second <= frame.last]
    apart = 1 + (len(ticks) > 4) * (frame.kind == "narrow")
    return ticks[::apart]


def _gap_ticks(frame: Frame) -> list[Tick]:
    return [Tick(frame.y(frame.most * part / 4), percent(frame.most * part / 4)) for part in range(5)]


def _curves(comparison: Comparison, frame: Frame) -> list[Curve]:
    """Steps down for packers that told of better and better plans, a point for the others; the names on
    the right, from the highest point to the lowest and none upon another."""
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
    curves: list[Curve] = []
    free = float(TOP)
    for number, (y, x, name, points) in enumerate(drawn):
        below = (len(drawn) - 1 - number) * NAME_HEIGHT
        name_y = max(free, min(y, frame.height - BOTTOM - below))
        free = name_y + NAME_HEIGHT
        curves.append(Curve(name, points, x, y, round(name_y, 1)))
    return curves
