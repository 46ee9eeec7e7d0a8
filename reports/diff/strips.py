"""Two runs at one scale of time, one above the other: their ops, and between them the ones that changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from reports.colours import CAUSE_COLOURS, GREY
from reports.diff.difference import OpChange, RunDifference
from reports.diff.words import doing, signed, time_words
from reports.result_file import SavedOp, SavedResult
from reports.words import count, plural

MARGIN, HEADING, LANE, LANE_GAP, BETWEEN, AXIS = 12, 24, 30, 4, 50, 30
"""Pixels: left and right, a run's heading, a core's lane, between lanes, the bands, the axis."""
NARROWEST = 3.0
"""Pixels; ops that take fewer share a bar with their neighbours."""
NUMBERED = 14.0
"""Pixels; an op that is narrower in both runs has no number in the chart."""
MOST_BANDS = 40
"""Ops that are followed from one run to the other."""


@dataclass(frozen=True, slots=True)
class StripBar:
    """Cycles of one or several ops with one cause; waits are half as high as computing."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    title: str


@dataclass(frozen=True, slots=True)
class StripBand:
    """An op from the run above to the one below, with its number in the table of ops."""

    kind: str
    """``more`` or ``less``, as the run below takes."""
    corners: str
    middle: tuple[float, float]
    number: str
    title: str


@dataclass(frozen=True, slots=True)
class Strips:
    """The chart for one width of screen, sizes in pixels."""

    kind: str
    width: int
    height: int
    headings: tuple[tuple[float, str], ...]
    bars: tuple[StripBar, ...]
    bands: tuple[StripBand, ...]
    labels: tuple[tuple[float, str, str], ...]
    """Labels of the axis: position, where the text is anchored, and the text."""


Spans = Mapping[str, tuple[float, float]]
"""Where each op begins and ends, in pixels."""


def strips(diff: RunDifference, kind: str, width: int) -> Strips:
    """The chart with ``width`` pixels. ``kind`` is its class in the style sheet."""
    longest = max(diff.a.milliseconds, diff.b.milliseconds) or Fraction(1)
    scale = (width - 2 * MARGIN) / float(longest)
    above, below = _spans(diff.a, scale), _spans(diff.b, scale)
    alone = diff.a.cores == diff.b.cores == 1
    second = HEADING + _lanes(diff.a) + HEADING + (BETWEEN if alone else 0)
    ends = (HEADING + LANE, second - HEADING)
    return Strips(
        kind,
        width,
        second + _lanes(diff.b) + AXIS,
        ((HEADING - 8, _heading("A", diff.a)), (second - 8, _heading("B", diff.b))),
        (*_bars(diff.a, above, HEADING), *_bars(diff.b, below, second)),
        tuple(_bands(diff.ops, above, below, ends)) if alone else (),
        tuple(_labels(longest, width)),
    )


def _labels(longest: Fraction, width: int) -> Iterator[tuple[float, str, str]]:
    yield MARGIN, "start", "0"
    yield width / 2, "middle", time_words(longest / 2)
    yield width - MARGIN, "end", time_words(longest)


def _lanes(run: SavedResult) -> int:
    return run.cores * (LANE + LANE_GAP) - LANE_GAP


def _heading(letter: str, run: SavedResult) -> str:
    cores = f", {run.cores} cores" if run.cores > 1 else ""
    return f"{letter}: {time_words(run.milliseconds)}, {count(run.cycles)} cycles{cores}"


def _spans(run: SavedResult, scale: float) -> Spans:
    """The ops of each core one after another, with ``scale`` pixels a millisecond."""
    per_cycle = scale / float(run.core_mhz * 1000)
    clocks = [0] * run.cores
    found: dict[str, tuple[float, float]] = {}
    for op in run.ops:
        core = run.core_of.get(op.name, 0)
        begin = clocks[core]
        clocks[core] += op.cycles
        found[op.name] = (MARGIN + begin * per_cycle, MARGIN + clocks[core] * per_cycle)
    return found


def _bars(run: SavedResult, spans: Spans, top: int) -> Iterator[StripBar]:
    """A bar for each cause of each op; ops that are too narrow for one share it."""
    for core in range(run.cores):
        together: list[SavedOp] = []
        y = top + core * (LANE + LANE_GAP)
        ops = [op for op in run.ops if run.core_of.get(op.name, 0) == core]
        for op in ops:
            together.append(op)
            begin, end = spans[together[0].name][0], spans[op.name][1]
            if end - begin >= NARROWEST or op is ops[-1]:
                yield from _bar(together, begin, end, y)
                together = []


def _bar(ops: list[SavedOp], begin: float, end: float, y: int) -> Iterator[StripBar]:
    spent: dict[str, int] = {}
    for op in ops:
        for cause, cycles in op.spent.items():
            spent[cause] = spent.get(cause, 0) + cycles
    name = ops[0].name if len(ops) == 1 else f"{plural(len(ops), 'op')}, {ops[0].name} to {ops[-1].name}"
    per_cycle = (end - begin) / max(1, sum(spent.values()))
    at = begin
    for cause, cycles in sorted(spent.items(), key=lambda item: item[0] != "compute"):
        if not cycles:
            continue
        height = LANE if cause == "compute" else LANE // 2
        title = f"{name}: {count(cycles)} cycles {doing(cause)}"
        colour = CAUSE_COLOURS.get(cause, GREY)
        yield StripBar(round(at, 1), y + LANE - height, round(cycles * per_cycle, 2), height, colour, title)
        at += cycles * per_cycle


def _bands(
    ops: tuple[OpChange, ...], above: Spans, below: Spans, ends: tuple[int, int]
) -> Iterator[StripBand]:
    """The ops of both runs that changed most, the narrowest in front."""
    top, bottom = ends
    found: list[tuple[float, StripBand]] = []
    for number, op in enumerate(ops[:MOST_BANDS], 1):
        if op.presence == "both":
            (a, a_end), (b, b_end) = above[op.op], below[op.op]
            corners = f"{a:.1f},{top} {a_end:.1f},{top} {b_end:.1f},{bottom} {b:.1f},{bottom}"
            wide = (a_end - a + b_end - b) / 2
            middle = (round((a + a_end + b + b_end) / 4, 1), (top + bottom) / 2 + 4)
            kind = "more" if b_end - b > a_end - a else "less"
            title = f"{op.op}: {signed(op.cycles)} cycles"
            found.append(
                (wide, StripBand(kind, corners, middle, f"{number}" if wide >= NUMBERED else "", title))
            )
    return (band for _, band in sorted(found, key=lambda each: -each[0]))
