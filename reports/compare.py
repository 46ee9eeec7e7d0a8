"""A comparison of planners: in words, as JSON values, and as tables with a chart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chipmodel.answers.comparison import MergerRow, PackerRow, PeakRow, PlannerComparison, StreamerRow
from chipmodel.model.time_bound import WITHOUT_CASCADES
from reports.chart import SECONDS, STYLES, Chart, Style, axis, log_axis, series
from reports.ordering import order_words
from reports.page_parts import PageChart, PageTable, TablePage
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


def fit_text(comparison: PlannerComparison, row: PeakRow) -> str:
    """Whether the plan fits, or why there is none."""
    if row.refused:
        return row.refused
    if row.peak is None:
        return "proven infeasible" if row.status == "infeasible" else "no plan found"
    return "yes" if row.fits else "no" if comparison.fits_psram else "no: Psram"


def _shown(value: float | None, text: Callable[[Any], str]) -> str:
    return "" if value is None else text(value)


def _packer_cells(row: PackerRow) -> tuple[str, ...]:
    """Name, peak, the packer's own bound, gap, fragmentation and time."""
    proves, time = row.lower_bound if row.peak is not None else None, None if row.refused else row.seconds
    numbers = (_shown(row.peak, count), _shown(proves, count))
    shares = (_shown(row.gap, percent), _shown(row.fragmentation, percent))
    return row.packer, *numbers, *shares, _shown(time, seconds_text)


def _merger_cells(row: MergerRow) -> tuple[str, ...]:
    """Merger, packer, peak, gap, status and time."""
    if row.peak is None:
        return row.merge, row.packer, "", "", "", ""
    status = "its least" if row.merger_optimal else row.status or ""
    figures = (count(row.peak), percent(row.gap or 0.0), status, seconds_text(row.seconds))
    return row.merge, row.packer, *figures


def _run_cells(row: StreamerRow) -> tuple[str, ...]:
    """Name, cycles, gap, milliseconds, share of the cycles of sync that is saved, and time."""
    if row.cycles is None:
        return row.streamer, "", "", "", "", ""
    sync = row.sync_cycles
    saved = "" if sync is None else percent(ratio(sync - row.cycles, sync))
    figures = (count(row.cycles), percent(row.gap or 0.0), f"{row.milliseconds or 0:,.3f}", saved)
    return row.streamer, *figures, seconds_text(row.seconds)


LEAST_SECONDS = 1e-4
"""Start of the logarithmic axis of time."""


def page(comparison: PlannerComparison) -> TablePage:
    """A table for each kind of planners, and the chart of gaps over time."""
    chart = PageChart(
        "time",
        "Gap over time",
        "The gap between the best plan so far and the lower bound. A packer that searches is a curve that "
        "steps down; any other packer is a point. Point at a mark for its packer; click a name to hide it.",
        _chart(comparison),
    )
    on = f"on {comparison.chip}" if comparison.chip else ""
    tables = (_packers(comparison), _mergers(comparison), _streamers(comparison))
    return TablePage("compare", comparison.source, on, (headline(comparison),), tables, (chart,))


def _packers(comparison: PlannerComparison) -> PageTable:
    return PageTable(
        "packers",
        "Packers",
        ("packer", ">peak B", ">proves B", ">gap", ">unused", ">time", "fits"),
        [(*_packer_cells(row), fit_text(comparison, row)) for row in comparison.ranked],
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
        ("merge", "packer", ">peak B", ">gap", "status", ">time", "fits"),
        [(*_merger_cells(row), fit_text(comparison, row)) for row in comparison.merged],
        "Ways to share memory between the arms of an if, each with each packer, on the same "
        f"{count(len(comparison.problem.buffers))} buffers. Every plan passed the same check, by the "
        "lifetimes of the buffers alone.",
        [None if row.refused else row.fits for row in comparison.merged],
        "" if comparison.packed else _limits(comparison),
        unbroken=NAMES,
    )


def _streamers(comparison: PlannerComparison) -> PageTable:
    rows = comparison.streamed
    energy = (">µJ",) if any(row.microjoules is not None for row in rows) else ()
    cascades = (">cascades",) if any(row.cascades for row in rows) else ()
    spaces = ", ".join(dict.fromkeys(row.bound_space or WITHOUT_CASCADES for row in rows))
    return PageTable(
        "streamers",
        "Streamers",
        ("streamer", ">cycles", ">gap", ">ms", ">saved\nvs sync", ">time", *energy, *cascades, "fits"),
        [
            (
                *_run_cells(row),
                *(_shown(row.microjoules, microjoules) for _ in energy),
                *("" if row.cascades is None else count(len(row.cascades)) for _ in cascades),
                row.refused or ("yes" if row.fits else "no" if row.fits_psram else "no: Psram"),
            )
            for row in rows
        ],
        "Planned and simulated as by chipmodel simulate. Saved vs sync: the share of cycles saved compared "
        "with streamer sync, which waits for every load.",
        [None if row.refused else row.fits for row in rows],
        f"Whole runs with packer {comparison.packer}. Gaps are to the bound for {spaces}.",
        unbroken=NAMES,
    )


def _chart(comparison: PlannerComparison) -> Chart:
    """The gap of each packer over its time."""
    planned = [row for row in comparison.packed if row.peak is not None]
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
