"""Each op by its MACs per byte of Psram traffic and the MACs that it got done per second, below the chip's
two ceilings: what the array can do, and what the Psram's bus can bring (Williams et al., 2009, "Roofline").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import log10

from chipmodel.model.result import Result
from reports.run.bandwidth import peak_rate
from reports.run.digest import Digest, OpTotals
from reports.run.figures import BLUE, GREEN, ORANGE, Category, Chart
from reports.words import magnitude, percent, ratio

NARROWEST = 8
"""Bits of the operands that the highest ceiling is for."""
SMALLEST, LARGEST = 7, 30
"""Pixels of the markers of the shortest and longest op."""
MOST_POINTS = 1500
"""More than this many ops are a cloud in any case."""
NEAR = 0.3
"""Decades within which two points' names would overlap."""
NAMED = 8
"""Ops that took longest have their names beside them."""


@dataclass(frozen=True, slots=True)
class Point:
    """An op: MACs per byte (None without traffic), GMAC/s with its waits, and what the ceilings allow."""

    op: OpTotals
    intensity: float | None
    speed: float
    ceiling: float

    @property
    def bytes(self) -> int:
        """Loaded and stored on its behalf."""
        return self.op.loaded_bytes + self.op.stored_bytes

    @property
    def cycles(self) -> int:
        """With its waits."""
        return self.op.compute_cycles + self.op.stall_cycles


MEMORY = Category("memory", "the Psram's bus is the lower ceiling", ORANGE)
ARRAY = Category("array", "the array is the lower ceiling", BLUE)
ONCHIP = Category("onchip", "no Psram traffic (at the right edge)", GREEN)
CEILING = Category("alive", "ceilings", "ink")


def array_rate(result: Result) -> float:
    """GMAC/s of the array with the narrowest operands."""
    rates = result.chip.npu.macs_per_cycle
    return float(rates.get(NARROWEST, max(rates.values())) * result.chip.core_mhz) / 1000


def points(result: Result, sums: Digest) -> tuple[Point, ...]:
    """Every op that ran and multiplies, in linear order."""
    top, bus, mhz = array_rate(result), peak_rate(result.chip) / 1000, float(result.chip.core_mhz)
    found: list[Point] = []
    for op in sums.ops:
        macs, cycles = op.macs * op.runs, op.compute_cycles + op.stall_cycles
        moved = op.loaded_bytes + op.stored_bytes
        if macs and cycles:
            intensity = macs / moved if moved else None
            ceiling = top if intensity is None else min(top, intensity * bus)
            found.append(Point(op, intensity, macs / cycles * mhz / 1000, ceiling))
    return tuple(found)


def roofline(result: Result, sums: Digest) -> Chart:
    """The chart; ``marks`` is the number of ops on it."""
    found = points(result, sums)
    shorter = len(found) - MOST_POINTS
    if shorter > 0:
        found = tuple(sorted(found, key=lambda p: -p.cycles)[:MOST_POINTS])
    bus = peak_rate(result.chip) / 1000
    top = array_rate(result)
    ridge = top / bus
    shown = [p.intensity for p in found if p.intensity is not None] or [ridge]
    low, high = min(*shown, ridge) / 3, max(*shown, ridge) * 4
    floor = min([p.speed for p in found] or [top]) / 3
    groups = {
        MEMORY: [p for p in found if p.intensity is not None and p.intensity < ridge],
        ARRAY: [p for p in found if p.intensity is not None and p.intensity >= ridge],
        ONCHIP: [p for p in found if p.intensity is None],
    }
    longest = max((p.cycles for p in found), default=1)
    named = _named(found)
    symbols = {MEMORY: "circle", ARRAY: "square", ONCHIP: "triangle-right"}
    legend = tuple(category for category, members in groups.items() if members)
    traces = [_trace(c, groups[c], symbols[c], high / 1.3, longest, named, result) for c in legend]
    traces.append(_ceiling(low, high, ridge, top, bus))
    left_out = sum(1 for op in sums.ops if op.runs and not op.macs)
    return Chart(
        _figure(traces, low, high, floor, top), (*legend, CEILING), len(found), _remark(left_out, shorter)
    )


def _trace(
    category: Category,
    members: Sequence[Point],
    symbol: str,
    edge: float,
    longest: int,
    named: Mapping[str, str],
    result: Result,
) -> dict[str, object]:
    lines = [
        "<b>%{customdata[0]}</b>",
        "%{customdata[1]}",
        "%{y:.3~g} GMAC/s, %{customdata[2]} of its ceiling",
        "%{customdata[3]} of the run, %{customdata[4]:,} cycles",
    ]
    whole = result.npu_cycles
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": category.label,
        "x": [edge if p.intensity is None else p.intensity for p in members],
        "y": [p.speed for p in members],
        "text": [escape(named.get(p.op.name, "")) for p in members],
        "textposition": "bottom center",
        "textfont": {"size": 11, "color": "ink"},
        "marker": {
            "color": category.colour,
            "symbol": symbol,
            "opacity": 0.85,
            "size": [
                round(SMALLEST + (LARGEST - SMALLEST) * ratio(p.cycles, longest) ** 0.5, 1) for p in members
            ],
            "line": {"width": 1, "color": "paper"},
        },
        "customdata": [
            [
                escape(p.op.name),
                _worked(p),
                percent(ratio(p.speed, p.ceiling)),
                percent(ratio(p.cycles, whole)),
                p.cycles,
            ]
            for p in members
        ],
        "hovertemplate": "<br>".join(lines) + "<extra></extra>",
    }


def _named(found: Sequence[Point]) -> dict[str, str]:
    """What stands beside the points of the ops that took longest: points that would have their names one
    on another share one."""
    labels: dict[str, tuple[Point, int]] = {}
    for point in sorted(found, key=lambda p: -p.cycles)[:NAMED]:
        near = next((name for name, (other, _) in labels.items() if _close(point, other)), None)
        if near is None:
            labels[point.op.name] = point, 0
        else:
            labels[near] = labels[near][0], labels[near][1] + 1
    return {name: f"{name} +{more}" if more else name for name, (_, more) in labels.items()}


def _close(a: Point, b: Point) -> bool:
    if a.intensity is None or b.intensity is None:
        return a.intensity is b.intensity and abs(log10(a.speed / b.speed)) < NEAR
    return max(abs(log10(a.speed / b.speed)), abs(log10(a.intensity / b.intensity))) < NEAR


def _worked(point: Point) -> str:
    macs = f"{magnitude(point.op.macs * point.op.runs)} MACs"
    if point.intensity is None:
        return f"{macs}, nothing moved to or from Psram"
    return f"{macs}, {point.bytes:,} B: {point.intensity:,.3g} MACs per byte"


def _ceiling(low: float, high: float, ridge: float, top: float, bus: float) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "ceilings",
        "x": [low, ridge, high],
        "y": [low * bus, top, top],
        "customdata": [
            f"Psram {bus:,.3g} GB/s",
            f"the array's {top:,.4g} GMAC/s need {ridge:,.3g} MACs per byte",
            f"array {top:,.4g} GMAC/s",
        ],
        "line": {"width": 2, "color": "ink"},
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _figure(
    traces: list[dict[str, object]], low: float, high: float, floor: float, top: float
) -> dict[str, object]:
    def axis(title: str, least: float, most: float) -> dict[str, object]:
        return {
            "title": {"text": title},
            "type": "log",
            "range": [log10(least), log10(most)],
            "dtick": 1,
            "tickformat": ",~r",
            "zeroline": False,
        }

    return {
        "data": traces,
        "layout": {
            "showlegend": False,
            "hovermode": "closest",
            "dragmode": "zoom",
            "xaxis": axis("MACs per byte moved to or from Psram", low, high),
            "yaxis": axis("GMAC/s, waits included", floor, top * 2),
        },
    }


def _remark(left_out: int, shorter: int) -> str:
    if shorter > 0:
        return f"Only the {MOST_POINTS:,} ops with MACs that took longest are shown."
    if not left_out:
        return ""
    return (
        f"{left_out:,} ops without MACs are not shown."
        if left_out > 1
        else "One op without MACs is not shown."
    )
