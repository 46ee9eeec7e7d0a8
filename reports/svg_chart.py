"""Charts of lines and marks as SVG, for pages without scripts: one for wide and one for narrow screens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log

LEFT, RIGHT, TOP, BOTTOM = 64, 20, 26, 52
"""Margins of a chart in pixels: room for labels below it and to its left."""
NAME_HEIGHT = 15
"""Pixels between two names of lines."""
LETTER = 7
"""Pixels of a letter of a name (assumed, of 12 px)."""
FEWEST = 3
"""Labels of an axis, if there are so many round numbers."""
MANTISSAS = ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8), tuple(n / 10 for n in range(10, 100, 2)))
"""Series of round numbers between powers of ten, the coarsest first."""

Point = tuple[float, float]
"""Values on both axes."""


@dataclass(frozen=True, slots=True)
class ChartAxis:
    """An axis between two values, its ``ends``, with texts at some of the values between them."""

    title: str
    ends: Point
    labels: tuple[tuple[float, str], ...]
    log: bool = True

    def share(self, value: float) -> float:
        """Where a value lies between the ends: from 0 to 1; values beyond them are there."""
        least, most = self.ends
        share = log(value / least) / log(most / least) if self.log else (value - least) / (most - least)
        return min(1.0, max(0.0, share))


@dataclass(frozen=True, slots=True)
class ChartMark:
    """A mark at a point, which says its ``title`` where a reader points at it; hollow, or full."""

    at: Point
    title: str = ""
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class ChartLine:
    """Marks, and the line along a ``path``. ``kind`` is the class of both in the style sheet."""

    name: str
    kind: str
    marks: tuple[ChartMark, ...] = ()
    path: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True)
class ChartBox:
    """A box between two corners, of the class ``kind``, which says its ``title`` where a reader points at it.
    Its ``name`` is inside where there is room; ``row`` is the number of its row in the page's table."""

    low: Point
    high: Point
    kind: str
    colour: str
    name: str
    title: str
    row: int


@dataclass(frozen=True, slots=True)
class SvgChart:
    """A chart for one width of screen, sizes in pixels. ``kind`` is the class in the style sheet."""

    kind: str
    width: int
    height: int
    x: ChartAxis
    y: ChartAxis
    lines: tuple[ChartLine, ...]
    band: tuple[Point, ...] = ()
    """The corners of an area behind all; charts that have one have lines at the labels of both axes."""
    left: int = LEFT
    right: int = RIGHT
    boxes: tuple[ChartBox, ...] = ()

    @property
    def edges(self) -> tuple[int, int, int, int]:
        """Left, right, top and bottom of the plot area."""
        return self.left, self.width - self.right, TOP, self.height - BOTTOM

    def across(self, value: float) -> float:
        """The horizontal position of a value."""
        left, right, _, _ = self.edges
        return round(left + self.x.share(value) * (right - left), 1)

    def up(self, value: float) -> float:
        """The vertical position of a value."""
        _, _, top, bottom = self.edges
        return round(bottom - self.y.share(value) * (bottom - top), 1)

    def drawn_boxes(self) -> Iterator[tuple[ChartBox, tuple[float, float, float, float], str]]:
        """Each box with its left, top, width, height, and its name, empty where there is no room."""
        for box in self.boxes:
            left, top = self.across(box.low[0]), self.up(box.high[1])
            width, height = self.across(box.high[0]) - left, self.up(box.low[1]) - top
            room = len(box.name) * LETTER + 8 <= width and height >= LETTER * 2
            place = left, top, round(max(width, 0.6), 1), round(max(height, 0.6), 1)
            yield box, place, box.name if room else ""

    def corners(self, points: Sequence[Point]) -> str:
        """The points, for a polygon or a line."""
        return " ".join(f"{self.across(x)},{self.up(y)}" for x, y in points)

    def named(self) -> Iterator[tuple[ChartLine, Point, float]]:
        """Each line with a name, its end, and the height of its name to the right of the chart: from the
        highest to the lowest, without overlaps."""
        ends = [
            (self.up(line.path[-1][1]), self.across(line.path[-1][0]), line)
            for line in self.lines
            if line.name
        ]
        ends.sort(key=lambda end: (*end[:2], end[2].name))
        free = float(TOP)
        for number, (y, x, line) in enumerate(ends):
            below = (len(ends) - 1 - number) * NAME_HEIGHT
            height = max(free, min(y, self.edges[3] - below))
            free = height + NAME_HEIGHT
            yield line, (x, y), round(height, 1)


def stepped(points: Sequence[Point]) -> tuple[Point, ...]:
    """The path through ``points`` that is level up to each next one."""
    return (*points[:1], *(corner for (_, y), at in pairwise(points) for corner in ((at[0], y), at)))


def round_numbers(least: float, most: float) -> tuple[int, ...]:
    """Round whole numbers from ``least`` to ``most`` for the labels of a logarithmic axis: the fewest of some
    series that are ``FEWEST`` or more, or else all that there are."""
    found: tuple[int, ...] = ()
    for mantissas in MANTISSAS:
        powers = (10**power for power in range(len(str(int(most)))))
        each = (
            round(mantissa * power) for power in powers for mantissa in mantissas if mantissa * power >= 1
        )
        found = tuple(sorted({number for number in each if least <= number <= most}))
        if len(found) >= FEWEST:
            break
    return found
