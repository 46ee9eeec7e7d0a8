"""A waterfall chart of the run: the cycles of computing, then those of each cause of waiting, end to end."""

from __future__ import annotations

from html import escape

from chipmodel.answers.result import Result
from reports.colours import GREY
from reports.plotly import hover, scatter
from reports.run.figures import EVENTS, Category, RunChart, marker
from reports.run.totals import RunTotals
from reports.words import count, duration, percent, ratio

BY_KEY = {category.key: category for category in EVENTS}
TOTAL = Category("total", "whole run", GREY)


def waterfall(result: Result, sums: RunTotals) -> RunChart:
    """Bars for computing, the waits from the longest to the shortest, and the whole run.

    On several cores each bar is the average over their NPUs, so that they still end at the run's cycles.
    """
    cores = max(1, result.trace.cores)
    waits = sorted(sums.stalls.items(), key=lambda item: -item[1])
    steps = [(BY_KEY["compute"], sums.compute_cycles), *((BY_KEY[cause], n) for cause, n in waits)]
    names = [category.label for category, _ in steps]
    traces = [_bound(result)]
    base = 0
    for category, cycles in steps:
        traces.append(_bar(result, category, base / cores, cycles / cores))
        base += cycles
    traces.append(_bar(result, TOTAL, 0, result.trace.cycles))
    return RunChart(_figure(result, traces, [*names, TOTAL.label]), (), len(steps) + 1, _remark(result))


def _bar(result: Result, category: Category, base: float, cycles: float) -> dict[str, object]:
    share = percent(ratio(cycles, result.trace.cycles))
    time = duration(result.chip, round(cycles))
    return {
        "type": "bar",
        "orientation": "h",
        "name": category.label,
        "y": [category.label],
        "x": [cycles],
        "base": [base],
        "width": 0.72,
        "marker": marker(category),
        "text": [f"{time} ({share})"],
        "textposition": "outside",
        "cliponaxis": False,
        "hovertemplate": hover(
            f"<b>{escape(category.label)}</b>", f"{cycles:,.0f} cycles, {time}", f"{share} of the run"
        ),
    }


def _bound(result: Result) -> dict[str, object]:
    cycles = result.lower_bound_cycles
    words = f"{result.bound.space}: none takes less than {cycles:,} cycles, {duration(result.chip, cycles)}"
    marker = {"symbol": "line-ns", "size": 34, "line": {"width": 3, "color": "ink"}}
    return scatter("markers", [cycles], [TOTAL.label], hover(words), name="lower bound", marker=marker)


def _figure(result: Result, traces: list[dict[str, object]], names: list[str]) -> dict[str, object]:
    return {
        "data": traces,
        "layout": {
            "barmode": "overlay",
            "showlegend": False,
            "hovermode": "closest",
            "dragmode": False,
            # On a narrow screen, space for the text next to the longest bar.
            "meta": {"narrow": [0, result.trace.cycles * 2.1]},
            "xaxis": {
                "title": {"text": "cycles"},
                "range": [0, result.trace.cycles * 1.3],
                "tickformat": "~s",
                "zeroline": False,
                "fixedrange": True,
            },
            "yaxis": {
                "categoryorder": "array",
                "categoryarray": list(reversed(names)),
                "range": [-0.6, len(names) - 0.4],
                "showgrid": False,
                "fixedrange": True,
            },
        },
    }


def _remark(result: Result) -> str:
    over = result.trace.cycles - result.lower_bound_cycles
    share = percent(ratio(over, result.trace.cycles))
    words = f"The run takes {count(over)} cycles more than that bound, {share} of its time."
    many = f" Bars are averages over the {result.trace.cores} NPUs." if result.trace.cores > 1 else ""
    return words + many
