"""Psram bandwidth over time: per transfer for the trace file, in equal bins for the page."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import pairwise

from chipmodel.answers.result import Result
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip import Chip
from chipmodel.model.trace import Event
from reports.plotly import hover, scatter
from reports.run.figures import EVENTS, Category, RunChart, faint, figure, level_trace
from reports.words import count, duration, weight_memory

MOST_BINS = 480
"""Bins of the chart."""
KINDS = tuple(c for c in EVENTS if c.key in ("load weights", "load tensor", "store tensor"))
MOVE = next(c for c in EVENTS if c.key == "move")


def peak_rate(chip: Chip) -> float:
    """Peak MB/s (10^6 bytes) of the Psram's bus: data in every clock, without commands and latencies."""
    return float(chip.psram.clock_mhz * chip.psram.bytes_per_clock)


def bus_peaks(result: Result) -> dict[str, float]:
    """The peak MB/s of the bus of each memory off the core, of loads or of stores."""
    chip, own = result.chip, result.chip.weights
    peaks = {weight_memory(result): float(own.memory.clock_mhz * own.memory.bytes_per_clock)} if own else {}
    further = {each.name: max(each.load_rate, each.store_rate) * chip.core_mhz for each in chip.memories}
    return peaks | {"Psram": peak_rate(chip)} | {name: float(rate) for name, rate in further.items()}


def peaks_in_words(result: Result) -> str:
    """``480 MB/s`` of Psram alone; ``Psram 200 MB/s, flash 400 MB/s`` where there are others."""
    peaks = bus_peaks(result)
    return ", ".join(
        f"{name} {rate:,.0f} MB/s" if len(peaks) > 1 else f"{rate:,.0f} MB/s" for name, rate in peaks.items()
    )


def _kinds(result: Result) -> tuple[Category, ...]:
    """The kinds of transfers on the chip."""
    return (*KINDS, MOVE) if result.chip.memories else KINDS


def transfers(result: Result) -> list[Event]:
    """The events that moved bytes."""
    return [e for e in result.trace.events if e.unit == "dma" and not e.cause and e.bytes]


def rates(result: Result) -> Iterator[tuple[int, dict[str, float]]]:
    """The cycle of each change, and MB/s by kind of transfer from then on; a transfer's bytes are spread
    evenly over its duration."""
    mhz = float(result.chip.core_mhz)
    changes: dict[int, list[tuple[Event, bool]]] = {}
    for event in transfers(result):
        changes.setdefault(event.start, []).append((event, True))
        changes.setdefault(event.stop, []).append((event, False))
    active: dict[int, Event] = {}
    for cycle in sorted(changes):
        for event, begins in sorted(changes[cycle], key=lambda change: change[1]):
            if begins:
                active[event.channel] = event
            else:
                active.pop(event.channel, None)
        now = {category.key: 0.0 for category in _kinds(result)}
        for event in active.values():
            now[event.kind] += event.bytes / event.cycles * mhz
        yield cycle, now


def bins(result: Result, most: int = MOST_BINS) -> tuple[list[Interval], dict[str, list[float]]]:
    """Cut the run into at most ``most`` equal bins; return them and the bytes by kind of transfer in each."""
    total = result.trace.cycles
    number = max(1, min(most, total))
    edges = [index * total // number for index in range(number + 1)]
    moved = {category.key: [0.0] * number for category in _kinds(result)}
    for event in transfers(result):
        of_kind = moved[event.kind]
        index = max(0, event.start * number // total - 1)
        while index < number and edges[index] < event.stop:
            shared = min(edges[index + 1], event.stop) - max(edges[index], event.start)
            if shared > 0:
                of_kind[index] += event.bytes * shared / event.cycles
            index += 1
    return [Interval(a, b) for a, b in pairwise(edges)], moved


def bandwidth(result: Result, most: int = MOST_BINS) -> RunChart:
    """MB/s over the cycles of the run by kind of transfer, stacked, below the peak of the bus."""
    spans, moved = bins(result, most)
    mhz = float(result.chip.core_mhz)
    legend = tuple(category for category in _kinds(result) if any(moved[category.key]))
    traces: list[dict[str, object]] = []
    for category in legend:
        speeds = [b / max(1, len(s)) * mhz for b, s in zip(moved[category.key], spans, strict=True)]
        traces.append(_trace(result, category, spans, speeds, moved[category.key]))
    bus = Category("capacity", f"bus peak: {peaks_in_words(result)}", "ink", hatched=True)
    peaks = bus_peaks(result)
    traces += [
        level_trace("bus peak", rate, result.trace.cycles, f"the bus of {name}: at most {rate:,.0f} MB/s")
        for name, rate in peaks.items()
    ]
    top = max(peaks.values()) * 1.08
    axis = {"title": {"text": "MB/s"}, "range": [0, top], "rangemode": "tozero"}
    width = max(1, len(spans[0])) if spans else 1
    remark = f"Each value is the average over {count(width)} cycles ({duration(result.chip, width)})."
    drawn = figure(traces, result.trace.cycles, axis)
    return RunChart(drawn, (*legend, bus), len(spans), remark)


def _trace(
    result: Result, category: Category, spans: list[Interval], speeds: list[float], moved: list[float]
) -> dict[str, object]:
    last = result.trace.cycles
    return scatter(
        "lines",
        [*(s.start for s in spans), last],
        [*(round(v, 3) for v in speeds), round(speeds[-1], 3)],
        hover(
            f"<b>{escape(category.label)}</b>",
            "%{customdata[0]:,.1f} MB/s",
            "%{customdata[1]:,.0f} B from cycle %{x:,} to %{customdata[2]:,}",
        ),
        name=category.label,
        stackgroup="moved",
        customdata=[
            *([round(v, 1), round(b), s.stop] for v, b, s in zip(speeds, moved, spans, strict=True)),
            [round(speeds[-1], 1), round(moved[-1]), last],
        ],
        line={"shape": "hv", "width": 0, "color": category.colour},
        fillcolor=faint(category.colour).replace("0.18", "0.9"),
    )
