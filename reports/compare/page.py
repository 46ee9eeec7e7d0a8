"""A comparison of planners as one self-contained HTML file without scripts."""

from __future__ import annotations

from collections.abc import Iterator

from chipmodel.answers.comparison import PackerRow, PlannerComparison, StreamerRow
from reports.compare.rows import (
    NAMES,
    bound_space,
    cycle_cells,
    energy_cell,
    headline,
    merger_table,
    packer_table,
    run_fit_text,
    with_energy,
)
from reports.page_parts import PageChart, PageTable, SummaryTile, TablePage
from reports.svg_chart import BOTTOM, NAME_HEIGHT, TOP, ChartAxis, ChartLine, ChartMark, SvgChart, stepped
from reports.words import count, percent, ratio, seconds_text, size

LEFT, RIGHT, RIGHT_NARROW = 56, 170, 110
"""Margins in pixels: of gaps to the left of the chart, and of names to its right."""
GAPS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Upper ends of the axis of gaps. Gaps beyond the last are drawn at its upper edge."""
LEAST_SECONDS = 1e-4
"""Start of the logarithmic axis of time."""


def page(comparison: PlannerComparison) -> TablePage:
    """A table for each kind of planners, and the chart of gaps over time."""
    drawn = _charts(comparison)
    above = " Gaps above 100% are drawn at 100%." if drawn and drawn[0].y.ends[1] == 1 else ""
    chart = PageChart(
        "time",
        "Gap over time",
        "The gap between the best plan so far and the lower bound. A packer that searches is a curve that "
        "steps down; any other packer is a point. If packers reach the same peak, only the quickest is "
        f"named, with the number of the others. Point at a mark for its packer.{above}",
        "The gap of every packer to the proven lower bound over its time.",
        drawn,
        names=True,
    )
    on = f"on {comparison.chip}" if comparison.chip else ""
    tables = (_packers(comparison), _mergers(comparison), _streamers(comparison))
    sentences, tiles = (headline(comparison),), tuple(_tiles(comparison))
    return TablePage("compare", comparison.source, on, sentences, tiles, tables, (chart,))


def _packers(comparison: PlannerComparison) -> PageTable:
    return PageTable(
        "packers",
        "Packers",
        *packer_table(comparison),
        f"All packers have the same {count(len(comparison.problem.buffers))} buffers and make the peak as "
        "small as they can, without knowing the capacity. Every plan passed the same check. A gap is (peak - "
        "bound) / bound, with the highest lower bound on the peak that any of the packers proved; "
        "fragmentation the share of the peak that no live buffer takes, at the step with the most live bytes "
        "while the highest buffer is alive; time that of the planner, without loading code.",
        [None if row.refused else comparison.fits(row) for row in comparison.ranked],
        _limits(comparison),
        unbroken=NAMES,
    )


def _limits(comparison: PlannerComparison) -> str:
    capacity = "" if comparison.capacity is None else f", capacity {count(comparison.capacity)} B"
    return f"Proven lower bound {count(comparison.bound)} B{capacity}."


def _mergers(comparison: PlannerComparison) -> PageTable:
    return PageTable(
        "merges",
        "Mergers of branch arms",
        *merger_table(comparison),
        "Ways to share memory between the arms of an if, each with each packer, on the same "
        f"{count(len(comparison.problem.buffers))} buffers. Every plan passed the same check, by the "
        "lifetimes of the buffers alone.",
        [None if row.refused else comparison.fits(row) for row in comparison.merged],
        "" if comparison.packed else _limits(comparison),
        unbroken=NAMES,
    )


def _streamers(comparison: PlannerComparison) -> PageTable:
    energy = (">µJ",) if with_energy(comparison) else ()
    cascades = (">cascades",) if any(row.cascades for row in comparison.streamed) else ()
    return PageTable(
        "streamers",
        "Streamers",
        ("streamer", ">cycles", ">gap", ">ms", ">saved\nvs sync", ">time", *energy, *cascades, "fits"),
        [
            (
                *(row.streamer, *_run_cells(comparison, row)),
                *("" if row.cycles is None else count(len(row.cascades)) for _ in cascades),
                run_fit_text(row),
            )
            for row in comparison.streamed
        ],
        "Planned and simulated as by chipmodel simulate. Saved vs sync: the share of cycles saved compared "
        "with streamer sync, which waits for every load.",
        [None if row.refused else row.fits for row in comparison.streamed],
        f"Whole runs with packer {comparison.packer}. Gaps are to the bound for {bound_space(comparison)}.",
        unbroken=NAMES,
    )


def _run_cells(comparison: PlannerComparison, row: StreamerRow) -> tuple[str, ...]:
    return (*cycle_cells(row), *([energy_cell(row)] if with_energy(comparison) else []))


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


def _charts(comparison: PlannerComparison) -> list[SvgChart]:
    """The gap of each packer over its time; empty where no packer has a plan."""
    gaps = [gap for row in comparison.packed if (gap := comparison.gap(row)) is not None]
    if not gaps:
        return []
    lines = tuple(_curve(comparison, row, name) for row, name in _named(comparison))
    last = max([LEAST_SECONDS * 10, *(row.seconds for row in comparison.packed)])
    most = next((each for each in GAPS if each >= max(gaps)), GAPS[-1])
    powers = tuple((at, seconds_text(at)) for power in range(-4, 8) if (at := 10.0**power) <= last)
    few = powers[:: 1 + (len(powers) > 4)]
    wide, narrow = (ChartAxis("time of the packer", (LEAST_SECONDS, last), each) for each in (powers, few))
    quarters = tuple((most * part / 4, percent(most * part / 4)) for part in range(5))
    y = ChartAxis("gap", (0, most), quarters, log=False)
    names = NAME_HEIGHT * sum(bool(line.name) for line in lines) + TOP + BOTTOM
    return [
        SvgChart("wide", 1190, max(320, names), wide, y, lines, left=LEFT, right=RIGHT),
        SvgChart("narrow", 370, max(280, names), narrow, y, lines, left=LEFT, right=RIGHT_NARROW),
    ]


def _named(comparison: PlannerComparison) -> Iterator[tuple[PackerRow, str]]:
    """Each packer with a plan, and what its mark is called: of those with one peak only the quickest has a
    name, which says how many others there are."""
    planned = [row for row in comparison.packed if row.peak is not None]
    for row in planned:
        alike = sorted((each for each in planned if each.peak == row.peak), key=lambda each: each.seconds)
        others = f" +{len(alike) - 1}" if len(alike) > 1 else ""
        yield row, f"{row.packer}{others}" if row is alike[0] else ""


def _curve(comparison: PlannerComparison, row: PackerRow, name: str) -> ChartLine:
    """Steps for packers that reported their progress, a point for the others."""
    path = tuple(
        (max(seconds, LEAST_SECONDS), ratio(peak - comparison.bound, comparison.bound))
        for seconds, peak in (*row.trajectory, (row.seconds, row.peak or 0))
    )
    title = f"{row.packer}: gap {percent(path[-1][1])}, {seconds_text(row.seconds)}"
    return ChartLine(name, "", (ChartMark(path[-1], title),), stepped(path))
