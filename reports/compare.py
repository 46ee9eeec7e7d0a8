"""A comparison of planners: in words, as JSON values, and as tables with a chart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chipmodel.answers.comparison import MergerRow, PackerRow, PlannerComparison, StreamerRow
from chipmodel.model.time_bound import WITHOUT_CASCADES
from reports.chart import SECONDS, STYLES, Chart, Style, axis, log_axis, series
from reports.ordering import order_words
from reports.page_parts import PageChart, PageTable, SummaryTile, TablePage
from reports.words import count, microjoules, percent, plural, ratio, seconds_text, size

NAMES = ("packer", "merge", "streamer")
"""Columns whose cells are typed again, and so never wrapped on a terminal."""


def headline(comparison: PlannerComparison) -> str:
    """What was compared and the best result, in a sentence; then the order of ops, if it was chosen."""
    ordering = comparison.ordering
    ordered = f" Order of ops: {order_words(ordering)}" if ordering else ""
    return _answer(comparison) + _psram(comparison) + ordered


def _psram(comparison: PlannerComparison) -> str:
    """Say by how much Psram is too small; empty where it is not."""
    if comparison.fits_psram:
        return ""
    used, there = comparison.psram_bytes or 0, comparison.psram_capacity or 0
    return f" Nothing fits: {size(used)} of {size(there)} Psram are needed."


def _answer(comparison: PlannerComparison) -> str:
    if not comparison.packed and comparison.merged:
        return _merged_headline(comparison)
    if not comparison.packed:
        return f"{plural(len(comparison.streamed), 'streamer')} in whole runs."
    what = plural(len(comparison.problem.buffers), "buffer")
    if comparison.streamer:
        what += f" in the schedule of streamer {comparison.streamer}"
    best = comparison.ranked[0]
    if best.peak is None:
        return f"{what}; no packer found a plan."
    gap = best.gap
    known = "proven optimal" if gap == 0 else f"{percent(gap or 0.0)} above the proven lower bound"
    return f"{what}; the lowest peak is {count(best.peak)} B, {known}."


def _merged_headline(comparison: PlannerComparison) -> str:
    buffers = plural(len(comparison.problem.buffers), "buffer")
    buffers += f" in the schedule of streamer {comparison.streamer}"
    peaks = [row.peak for row in comparison.merged if row.peak is not None]
    if not peaks:
        return f"{buffers}; no merger found a plan."
    return f"{buffers}; the lowest peak is {count(min(peaks))} B, the highest {count(max(peaks))} B."


def fit_text(comparison: PlannerComparison, row: PackerRow | MergerRow) -> str:
    """Whether the plan fits, or why there is none."""
    if row.refused:
        return row.refused
    if row.peak is None:
        return "proven infeasible" if row.status == "infeasible" else "no plan found"
    return "yes" if row.fits else "no" if comparison.fits_psram else "no: Psram"


def peak_cells(comparison: PlannerComparison, row: PackerRow) -> tuple[str, str, str, str, str]:
    """Peak, the packer's own bound, gap, fragmentation and time of a packer."""
    if row.peak is None:
        return "", "", "", "", "" if row.refused else seconds_text(row.seconds)
    gap, waste = row.gap, row.fragmentation
    cells = (percent(gap or 0.0), percent(waste or 0.0))
    return count(row.peak), count(row.lower_bound or 0), *cells, seconds_text(row.seconds)


def merge_cells(comparison: PlannerComparison, row: MergerRow) -> tuple[str, str, str, str]:
    """Peak, gap, status and time of a merger."""
    if row.peak is None:
        return "", "", "", ""
    status = "its least" if row.merger_optimal else row.status or ""
    return count(row.peak), percent(row.gap or 0.0), status, seconds_text(row.seconds)


def bound_space(comparison: PlannerComparison) -> str:
    """The plans that the lower bound on cycles holds for."""
    return ", ".join(dict.fromkeys(row.bound_space or WITHOUT_CASCADES for row in comparison.streamed))


def cycle_cells(row: StreamerRow) -> tuple[str, str, str, str, str]:
    """Cycles, gap, milliseconds, share of the cycles of sync that is saved, and time of the planner."""
    if row.cycles is None:
        return "", "", "", "", ""
    sync = row.sync_cycles
    saved = "" if sync is None else percent(ratio(sync - row.cycles, sync))
    cells = (count(row.cycles), percent(row.gap or 0.0), f"{row.milliseconds or 0:,.3f}", saved)
    return *cells, seconds_text(row.seconds)


HeadsAndRows = tuple[tuple[str, ...], Sequence[Sequence[str]]]


def packer_table(comparison: PlannerComparison) -> HeadsAndRows:
    """Heads and rows of the table of packers."""
    rows = [(r.packer, *peak_cells(comparison, r), fit_text(comparison, r)) for r in comparison.ranked]
    return ("packer", ">peak B", ">proves B", ">gap", ">unused", ">time", "fits"), rows


def merger_table(comparison: PlannerComparison) -> HeadsAndRows:
    """Heads and rows of the table of mergers."""
    cells = [(*merge_cells(comparison, r), fit_text(comparison, r)) for r in comparison.merged]
    rows = [(r.merge, r.packer, *each) for r, each in zip(comparison.merged, cells, strict=True)]
    return ("merge", "packer", ">peak B", ">gap", "status", ">time", "fits"), rows


def with_energy(comparison: PlannerComparison) -> bool:
    """Whether the energy of any run is known."""
    return any(row.microjoules is not None for row in comparison.streamed)


def energy_cell(row: StreamerRow) -> str:
    """Microjoules of a run; empty where they are not known."""
    return "" if row.microjoules is None else microjoules(row.microjoules)


def run_fit_text(row: StreamerRow) -> str:
    """Whether a run's plan fits, or why there is none."""
    return row.refused or ("yes" if row.fits else "no" if row.fits_psram else "no: Psram")


LEAST_SECONDS = 1e-4
"""Start of the logarithmic axis of time."""


def page(comparison: PlannerComparison) -> TablePage:
    """A table for each kind of planners, and the chart of gaps over time."""
    chart = PageChart(
        "time",
        "Gap over time",
        "The gap between the best plan so far and the lower bound. A packer that searches is a curve that "
        "steps down; any other packer is a point. Point at a mark for its packer; click a name to hide it.",
        "The gap of every packer to the proven lower bound over its time.",
        _chart(comparison),
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
        "bound) / bound, with the highest lower bound on the peak that any of the packers proved. "
        "Proves: the packer's own bound; a heuristic has the largest number of bytes alive at once. "
        "Unused: the share of the peak that no live buffer takes, at the step with the most live bytes "
        "while the highest buffer is alive. Time: that of the planner, without loading code.",
        [None if row.refused else row.fits for row in comparison.ranked],
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
        [None if row.refused else row.fits for row in comparison.merged],
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
                *("" if row.cascades is None else count(len(row.cascades)) for _ in cascades),
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
        schedule = f"in the schedule of {comparison.streamer}" if comparison.streamer else ""
        tiles.append(SummaryTile("Buffers", count(len(comparison.problem.buffers)), schedule))
        tiles.append(
            SummaryTile("Proven lower bound", size(comparison.bound), f"{count(comparison.bound)} B")
        )
        best = comparison.ranked[0]
        if best.peak is not None:
            gap = best.gap or 0.0
            tiles.append(
                SummaryTile("Lowest peak", size(best.peak), f"{count(best.peak)} B; gap {percent(gap)}")
            )
        fit = sum(row.fits for row in comparison.packed)
        total = len(comparison.packed)
        tiles.append(SummaryTile("Packers that fit", f"{fit} of {total}", _capacity(comparison), fit / total))
    fastest = min((r.cycles for r in comparison.streamed if r.cycles is not None), default=None)
    if fastest is not None:
        tiles.append(SummaryTile("Fastest run", count(fastest), "cycles"))
    return tiles


def _capacity(comparison: PlannerComparison) -> str:
    return "no capacity given" if comparison.capacity is None else f"within {size(comparison.capacity)}"


def _chart(comparison: PlannerComparison) -> Chart | None:
    """The gap of each packer over its time; None where no packer has a plan."""
    planned = [row for row in comparison.packed if row.peak is not None]
    if not planned:
        return None
    traces = [_curve(comparison, row, STYLES[number % len(STYLES)]) for number, row in enumerate(planned)]
    axes = {"xaxis": log_axis("time of the packer", SECONDS), "yaxis": axis("gap", tickformat=".3~%")}
    return Chart(traces, {**axes, "showlegend": True}, 420)


def _curve(comparison: PlannerComparison, row: PackerRow, style: Style) -> dict[str, Any]:
    """Steps for packers that reported their progress, a point for the others."""
    path = [
        (max(seconds, LEAST_SECONDS), ratio(peak - comparison.bound, comparison.bound))
        for seconds, peak in (*row.trajectory, (row.seconds, row.peak or 0))
    ]
    texts = [f"{row.packer}: gap {percent(gap)}, {seconds_text(seconds)}" for seconds, gap in path]
    return series(row.packer, "lines+markers", path, texts, style, line={"shape": "hv"})
