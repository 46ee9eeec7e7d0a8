"""The ops of two runs above one another, with bands between those that changed most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from chipmodel.answers.op_totals import OpTotals
from reports.chart import Chart, axis, bars, labelled, series, told
from reports.colours import CAUSE_COLOURS, GREEN, GREY, VERMILION, faint
from reports.diff.difference import RunDifference
from reports.diff.words import doing, signed, time_words
from reports.result_file import SavedResult
from reports.words import CAUSES, count, plural

MOST_BANDS = 40
"""Ops that are followed from one run to the other."""
SHARED = 400
"""Ops that take less than this part of the longer run share a bar with their neighbours."""
HEIGHT, WAIT = 0.9, 0.45
"""Heights of the bars of an op that computes, and of one that waits, where a lane has 1."""
LANE, FRAME = 44, 110
"""Pixels of a lane, and of the frame around all."""
KINDS = {"more": ("takes longer in B", VERMILION), "less": ("takes less time in B", GREEN)}

Spans = Mapping[str, tuple[float, float]]
"""Milliseconds at which each op begins and ends."""


class StripBar(NamedTuple):
    """Milliseconds of one or several ops with one cause, in the lane whose lower edge is at ``lane``."""

    lane: float
    start: float
    length: float
    cause: str
    title: str


def strips(diff: RunDifference) -> Chart:
    """The chart; ops are followed between runs on one core each."""
    followed = diff.a.cores == diff.b.cores == 1
    gap = 1.6 if followed else 0.4
    lanes = {
        "B": [float(number) for number in reversed(range(diff.b.cores))],
        "A": [diff.b.cores + gap + number for number in reversed(range(diff.a.cores))],
    }
    spans = {"A": _spans(diff.a), "B": _spans(diff.b)}
    least = float(max(diff.a.milliseconds, diff.b.milliseconds)) / SHARED
    drawn = [
        bar
        for name, run in (("A", diff.a), ("B", diff.b))
        for bar in _bars(run, spans[name], lanes[name], least)
    ]
    traces = [*(_bands(diff, spans) if followed else ()), *_by_cause(drawn)]
    ticks = {
        lane + 0.5: f"{name}{f' core {core}' if len(cores) > 1 else ''}"
        for name, cores in lanes.items()
        for core, lane in enumerate(cores)
    }
    layout = {
        "xaxis": axis("milliseconds", rangemode="tozero"),
        "yaxis": axis("", range=[-0.1, lanes["A"][0] + 1.5], showgrid=False, **labelled(ticks)),
        "showlegend": True,
        "annotations": [_heading(name, run, lanes[name][0]) for name, run in (("A", diff.a), ("B", diff.b))],
    }
    return Chart(traces, layout, FRAME + round(LANE * (lanes["A"][0] + 1.5)))


def _heading(name: str, run: SavedResult, lane: float) -> dict[str, Any]:
    cores = f", {run.cores} cores" if run.cores > 1 else ""
    text = f"{name}: {time_words(run.milliseconds)}, {count(run.cycles)} cycles{cores}"
    place = {"x": 0, "y": lane + 1, "xanchor": "left", "yanchor": "bottom", "showarrow": False}
    return {"text": text, **place, "font": {"color": "ink", "size": 13}}


def _spans(run: SavedResult) -> Spans:
    """The ops of each core one after another."""
    clocks = [0] * run.cores
    spans: dict[str, tuple[float, float]] = {}
    for op in run.ops:
        core = run.core_of.get(op.name, 0)
        begin = clocks[core]
        clocks[core] += op.cycles
        spans[op.name] = (_ms(run, begin), _ms(run, clocks[core]))
    return spans


def _ms(run: SavedResult, cycles: int) -> float:
    return round(cycles / float(run.core_mhz * 1000), 6)


def _bars(run: SavedResult, spans: Spans, lanes: Sequence[float], least: float) -> Iterator[StripBar]:
    """A bar for each cause of each op; ops that take less than ``least`` share it."""
    for core, lane in enumerate(lanes):
        together: list[OpTotals] = []
        ops = [op for op in run.ops if run.core_of.get(op.name, 0) == core]
        for op in ops:
            together.append(op)
            start, stop = spans[together[0].name][0], spans[op.name][1]
            if stop - start >= least or op is ops[-1]:
                yield from _bars_of(run, together, start, lane)
                together = []


def _bars_of(run: SavedResult, ops: Sequence[OpTotals], start: float, lane: float) -> Iterator[StripBar]:
    spent = Counter[str]()
    for op in ops:
        spent.update(op.spent)
    name = ops[0].name if len(ops) == 1 else f"{plural(len(ops), 'op')}, {ops[0].name} to {ops[-1].name}"
    for cause, cycles in sorted(spent.items(), key=lambda item: item[0] != "compute"):
        if cycles:
            length = _ms(run, cycles)
            yield StripBar(lane, start, length, cause, f"{name}: {count(cycles)} cycles {doing(cause)}")
            start += length


def _by_cause(strip_bars: Sequence[StripBar]) -> Iterator[dict[str, Any]]:
    """A trace of bars for each cause."""
    for cause in ("compute", *CAUSES):
        drawn = [bar for bar in strip_bars if bar.cause == cause]
        height = HEIGHT if cause == "compute" else WAIT
        if drawn:
            yield bars(
                [(bar.start, bar.length) for bar in drawn],
                [bar.lane + height / 2 for bar in drawn],
                height,
                {"color": CAUSE_COLOURS.get(cause, GREY), "line": {"width": 0.5, "color": "paper"}},
                name=doing(cause),
                **told([bar.title for bar in drawn]),
            )


def _bands(diff: RunDifference, spans: Mapping[str, Spans]) -> Iterator[dict[str, Any]]:
    """The ops of both runs that changed most, the widest behind."""
    top, bottom = 2.6, 1.4
    followed = [
        (op, spans["A"][op.op], spans["B"][op.op]) for op in diff.ops[:MOST_BANDS] if op.presence == "both"
    ]
    followed.sort(key=lambda each: each[1][0] - each[1][1] + each[2][0] - each[2][1])
    named: set[str] = set()
    for op, (a, a_stop), (b, b_stop) in followed:
        kind = "more" if b_stop - b > a_stop - a else "less"
        words, colour = KINDS[kind]
        yield {
            **series("", "lines", [(a, top), (a_stop, top), (b_stop, bottom), (b, bottom), (a, top)]),
            "name": words,
            "legendgroup": kind,
            "showlegend": kind not in named,
            "opacity": 0.6,
            "fill": "toself",
            "fillcolor": faint(colour, 0.3),
            "line": {"color": colour, "width": 0.5},
            "hoveron": "fills",
            "hoverinfo": "text",
            "text": escape(f"{op.op}: {signed(op.cycles)} cycles"),
        }
        named.add(kind)
