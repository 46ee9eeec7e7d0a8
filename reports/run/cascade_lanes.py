"""The steps of a cascade, a lane for each of its ops: how they take turns, and which rows each one makes."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from chipmodel.answers.result import Result
from chipmodel.geometry.interval import Interval
from chipmodel.model.schedule import CascadePlan, Operand, Step, steps
from chipmodel.model.trace import Event
from reports.run.figures import EVENTS, Category, RunChart, bar_trace, event_lines, figure
from reports.run.rolling_rows import CascadeRun, cascade_runs, column_words, row_words
from reports.words import duration

MOST_CHARTS = 6
"""Cascades with a chart of their own: those that take longest."""
MOST_EVENTS = 4_000
"""Bars of one chart."""


def cascade_lanes(result: Result) -> tuple[tuple[CascadeRun, RunChart], ...]:
    """The first run of each of the cascades that take longest, in order of time."""
    first: dict[tuple[int, str], CascadeRun] = {}
    for run in cascade_runs(result):
        first.setdefault((run.core, run.name), run)
    longest = sorted(first.values(), key=lambda run: -len(run.span))[:MOST_CHARTS]
    shown = sorted(longest, key=lambda run: run.span.start)
    return tuple((run, _chart(result.on_core(run.core) if result.cores else result, run)) for run in shown)


def _chart(result: Result, run: CascadeRun) -> RunChart:
    plan = run.plan
    inside = {s.position: s for s in steps(result.schedule.body) if s.position in plan.steps}
    events = [
        e
        for e in result.trace.of("npu")
        if e.position in inside and e.start >= run.span.start and e.stop <= run.span.stop
    ][:MOST_EVENTS]
    legend = tuple(c for c in EVENTS if any((e.cause or e.kind) == c.key for e in events))
    traces = [
        _trace(result, c, [e for e in events if (e.cause or e.kind) == c.key], inside, plan) for c in legend
    ]
    names = [escape(name) for name in reversed(plan.ops)]
    rows: dict[str, object] = {"categoryorder": "array", "categoryarray": names, "fixedrange": True}
    rows["range"] = [-0.6, len(names) - 0.4]
    start = min((e.start for e in events), default=run.span.start)
    return RunChart(figure(traces, run.span.stop, rows, start=start), legend, len(events))


def _trace(
    result: Result, category: Category, shown: list[Event], inside: dict[int, Step], plan: CascadePlan
) -> dict[str, object]:
    steps_of = [inside[e.position] for e in shown]
    tooltips = [
        [
            escape(step.label),
            "".join(_rows(step, plan)) if not e.cause else f" for {escape(e.name)}",
            e.cycles,
            duration(result.chip, e.cycles),
            e.stop,
        ]
        for e, step in zip(shown, steps_of, strict=True)
    ]
    spans = [Interval(e.start, e.stop) for e in shown]
    lanes = [escape(step.op) for step in steps_of]
    return bar_trace(category, spans, lanes, 0.8, tooltips, event_lines(category.label))


def _rows(step: Step, plan: CascadePlan) -> Iterator[str]:
    """Lines of a tooltip: the rows of tensors that a step makes and reads."""
    for operand in step.writes:
        yield f"<br>makes {_of(operand)}"
    for operand in step.reads:
        if not operand.part.weights and operand.part.name in plan.inside:
            yield f"<br>reads {_of(operand)}"


def _of(operand: Operand) -> str:
    share = operand.part.share
    if share.whole:
        return f"all of {escape(operand.part.name)}"
    rows = Interval(share.rows.start, share.rows.stop)
    where = f"rows {row_words(rows)} of {share.of_rows:,}{column_words(share)}"
    return f"{where} of {escape(operand.part.name)}"
