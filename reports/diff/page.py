"""Two results on one self-contained page without scripts: what changed between them, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from reports.colours import CAUSE_COLOURS, GREY
from reports.diff.difference import OpChange, RunDifference
from reports.diff.words import (
    cause_rows,
    doing,
    op_row,
    sentences,
    setting_rows,
    signed,
    time_words,
    total_rows,
)
from reports.page_parts import PageChart, PageTable, SummaryTile, TablePage
from reports.result_file import SavedOp, SavedResult
from reports.template import render_part
from reports.words import CAUSES, count, percent, plural, ratio, size

MOST_OPS = 50
"""Rows of the table of ops."""
SHOWN_OPS = 12
"""The same on the terminal."""
WIDE, NARROW = 1190, 370
"""Pixels of the chart."""


def page(diff: RunDifference) -> TablePage:
    """Both runs above each other, what differs and why."""
    a, b = diff.a, diff.b
    on = f"on {a.settings['chip']}"
    if any(a.settings[key] != b.settings[key] for key in ("workload", "chip")):
        on += f", and {b.settings['workload']} on {b.settings['chip']}"
    tables = (
        PageTable("settings", "Settings that differ", ("setting", ">A", ">B"), setting_rows(diff)),
        *(() if diff.same else _changes(diff)),
    )
    told = (f"A: {a.file}. B: {b.file}.", *sentences(diff))
    return TablePage("diff", a.settings["workload"], on, told, tuple(_tiles(diff)), tables, (_chart(diff),))


def _chart(diff: RunDifference) -> PageChart:
    from markupsafe import Markup

    followed = diff.a.cores == diff.b.cores == 1
    bands = (
        " The bands between the runs are the ops that changed most, numbered as in the table of ops."
        if followed
        else ""
    )
    values: dict[str, object] = {
        "charts": [strips(diff, "wide", WIDE), strips(diff, "narrow", NARROW)],
        "followed": followed and not diff.same,
        "legend": _legend(diff),
    }
    return PageChart(
        "strips",
        "Both runs",
        "The ops of A above those of B, at one scale of time. A low bar is a wait; its colour says what for. "
        f"Ops of a loop or cascade are added up at their first run.{bands} Point at a bar for its cycles.",
        "",
        [Markup(render_part("strips.html.j2", values))],
    )


def _changes(diff: RunDifference) -> tuple[PageTable, ...]:
    left_out = diff.ops[MOST_OPS:]
    together = signed(sum(op.cycles for op in left_out))
    remarks = [f"{signed(diff.rest)} cycles belong to no op."] if diff.rest else []
    if left_out:
        remarks.append(f"And {plural(len(left_out), 'more op')}, together {together} cycles.")
    rows = enumerate(map(op_row, diff.ops[:MOST_OPS]), 1)
    return (
        PageTable(
            "causes",
            "Why",
            ("cause", ">change", ">cycles so far"),
            list(cause_rows(diff)),
            "From the cycles of A to those of B; the parts add up to the difference exactly.",
        ),
        PageTable(
            "totals",
            "Totals that changed",
            ("total", ">A", ">B", ">change", ">of A", "unit"),
            total_rows(diff),
        ),
        PageTable(
            "ops",
            "Ops that changed",
            ("op", ">#", ">cycles", "mainly", ">loaded B", ">stored B"),
            [(name, count(number), *cells) for number, (name, *cells) in rows],
            "The largest changes first.",
            remark=" ".join(remarks),
            most=SHOWN_OPS,
        ),
    )


def _tiles(diff: RunDifference) -> list[SummaryTile]:
    a, b = diff.a, diff.b
    moved = [sum(getattr(total, side) for total in diff.moved) for side in ("a", "b")]
    peaks = [run.totals["peak_bytes"] for run in (a, b)]
    change = percent(ratio(float(abs(diff.milliseconds)), float(a.milliseconds)))
    word = "slower" if diff.milliseconds > 0 else "faster"
    return [
        SummaryTile("Time of A", time_words(a.milliseconds), _clock(diff, "a")),
        SummaryTile("Time of B", time_words(b.milliseconds), _clock(diff, "b")),
        SummaryTile("B is", f"{change} {word}" if diff.milliseconds else "as fast", ""),
        SummaryTile("Peak", f"{size(peaks[1])}", f"A: {size(peaks[0])}"),
        SummaryTile("Off-chip traffic", f"{size(moved[1])}", f"A: {size(moved[0])}"),
    ]


def _clock(diff: RunDifference, side: str) -> str:
    run = diff.a if side == "a" else diff.b
    return f"{run.cycles:,} cycles at {float(run.core_mhz):g} MHz"


def _legend(diff: RunDifference) -> list[tuple[str, str]]:
    """What the colours of the chart mean: word and colour of each cause that an op of a run has."""
    found = {cause for run in (diff.a, diff.b) for op in run.ops for cause, n in op.spent.items() if n}
    listed = [cause for cause in ("compute", *CAUSES) if cause in found]
    return [(doing(cause), CAUSE_COLOURS.get(cause, GREY)) for cause in listed]


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
