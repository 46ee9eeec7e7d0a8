"""The roofline chart: each op by its MACs per byte of traffic off chip and the MACs that it got done per
second, below the ceilings of the chip: the MAC array, the bus of the Psram, and that of the memory that holds
the weights (Williams et al., 2009, "Roofline").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from math import log10

from chipmodel.answers.result import Result
from chipmodel.cascades.rewrite import KIND
from reports.colours import BLUE, GREEN, ORANGE
from reports.plotly import hover, scatter
from reports.run.bandwidth import bus_peaks
from reports.run.figures import Category, RunChart
from reports.run.totals import OpTotals, RunTotals
from reports.words import magnitude, percent, plural, ratio

NARROWEST_BITS = 8
"""Bits of the operands for which the array's ceiling is drawn."""
SMALLEST_MARKER, LARGEST_MARKER = 7, 30
"""Pixels of the markers of the shortest and the longest op."""
MOST_POINTS = 1500
"""Ops that are drawn at most."""
OVERLAP_DECADES = 0.3
"""Points less than this apart on both axes would have overlapping names."""
SUMMED = ("macs", "steps", "compute_cycles", "loaded_bytes", "stored_bytes", "loaded_weight_bytes")
"""What the ops of a cascade have together."""
NAMED_OPS = 8
"""Ops that took longest and have their names next to them."""


@dataclass(frozen=True, slots=True)
class RooflinePoint:
    """An op: MACs per byte (None without traffic), GMAC/s and the lowest ceiling in GMAC/s."""

    op: OpTotals
    intensity: float | None
    speed: float
    ceiling: float

    @property
    def bytes(self) -> int:
        """Bytes loaded and stored for the op."""
        return self.op.loaded_bytes + self.op.stored_bytes

    @property
    def cycles(self) -> int:
        """NPU cycles of the op, waits included."""
        return self.op.compute_cycles + self.op.stall_cycles


@dataclass(frozen=True, slots=True)
class _Ceilings:
    """The array's GMAC/s and the peak GB/s of each bus, those of the weights first: one where the weights lie
    in Psram."""

    array: float
    buses: Mapping[str, float]

    @property
    def weights(self) -> float:
        """GB/s of the bus that weights come from."""
        return next(iter(self.buses.values()))

    @property
    def tensors(self) -> float:
        """GB/s of the bus that tensors move on."""
        return list(self.buses.values())[-1]

    @property
    def ridges(self) -> list[float]:
        """MACs per byte at which the ceiling of each bus is that of the array."""
        return [self.array / bus for bus in self.buses.values()]

    def at(self, op: OpTotals) -> float:
        """The lowest ceiling in GMAC/s for the traffic of an op, on one bus after the other since one engine
        serves both; without traffic that of the array."""
        tensors = op.loaded_bytes - op.loaded_weight_bytes + op.stored_bytes
        seconds = op.loaded_weight_bytes / self.weights + tensors / self.tensors
        return min(self.array, op.macs * op.runs / seconds) if seconds else self.array


@dataclass(frozen=True, slots=True)
class _Ranges:
    """What the axes show: MACs per byte from ``low`` to ``high``, GMAC/s from ``floor`` to ``top``."""

    low: float
    high: float
    floor: float
    top: float


MEMORY = Category("memory", "limited by traffic off chip", ORANGE)
ARRAY = Category("array", "limited by the MAC array", BLUE)
ONCHIP = Category("onchip", "no traffic off chip (drawn at the right edge)", GREEN)
CEILING = Category("alive", "ceilings", "ink")
SYMBOLS = {MEMORY: "circle", ARRAY: "square", ONCHIP: "triangle-right"}


def array_rate(result: Result) -> float:
    """Peak GMAC/s of the array with the narrowest operands."""
    rates = result.chip.npu.macs_per_cycle
    return float(rates.get(NARROWEST_BITS, max(rates.values())) * result.chip.core_mhz) / 1000


def _ceilings(result: Result) -> _Ceilings:
    further = {memory.name for memory in result.chip.memories}
    buses = {name: rate / 1000 for name, rate in bus_peaks(result).items() if name not in further}
    return _Ceilings(array_rate(result), buses)


def points(result: Result, sums: RunTotals) -> tuple[RooflinePoint, ...]:
    """A point for every op that ran and has MACs, in linear order; one for all ops of a cascade, which share
    their traffic."""
    ceilings, mhz = _ceilings(result), float(result.chip.core_mhz)
    found: list[RooflinePoint] = []
    for op in _with_cascades(result, sums):
        macs, cycles = op.macs * op.runs, op.compute_cycles + op.stall_cycles
        moved = op.loaded_bytes + op.stored_bytes
        if macs and cycles:
            intensity = macs / moved if moved else None
            found.append(RooflinePoint(op, intensity, macs / cycles * mhz / 1000, ceilings.at(op)))
    return tuple(found)


def _with_cascades(result: Result, sums: RunTotals) -> Iterator[OpTotals]:
    """The totals of each op, and for the first op of a cascade those of all its ops, named after it."""
    plan_of = {name: plan for plan in result.schedule.cascades for name in plan.ops}
    by_name = {op.name: op for op in sums.ops}
    for op in sums.ops:
        plan = plan_of.get(op.name)
        if plan is None:
            yield op
        elif op.name == plan.ops[0]:
            yield _sum(plan.name, [by_name[name] for name in plan.ops])


def _sum(name: str, inside: Sequence[OpTotals]) -> OpTotals:
    return replace(
        inside[0],
        name=name,
        kind=KIND,
        stalls=dict(sum((Counter(op.stalls) for op in inside), Counter[str]())),
        **{key: sum(getattr(op, key) for op in inside) for key in SUMMED},
    )


def roofline(result: Result, sums: RunTotals) -> RunChart:
    """The chart; ``marks`` is the number of ops on it."""
    every = points(result, sums)
    shown = every if len(every) <= MOST_POINTS else tuple(sorted(every, key=_longest_first)[:MOST_POINTS])
    ceilings = _ceilings(result)
    ranges = _ranges(shown, ceilings)
    groups = _by_limit(shown, ceilings)
    traces = [_trace(category, members, shown, ranges, result) for category, members in groups.items()]
    traces.append(_ceiling_lines(ceilings, ranges))
    without_macs = sum(1 for op in sums.ops if op.runs and not op.macs)
    remark = _remark(without_macs, len(every) > len(shown))
    return RunChart(_figure(traces, ranges), (*groups, CEILING), len(shown), remark)


def _longest_first(point: RooflinePoint) -> int:
    return -point.cycles


def _ranges(shown: Sequence[RooflinePoint], ceilings: _Ceilings) -> _Ranges:
    """Ranges that show all points and the ridges, with a margin."""
    intensities = [*ceilings.ridges, *(p.intensity for p in shown if p.intensity is not None)]
    return _Ranges(
        low=min(intensities) / 3,
        high=max(intensities) * 4,
        floor=min([p.speed for p in shown] or [ceilings.array]) / 3,
        top=ceilings.array * 2,
    )


def _by_limit(shown: Sequence[RooflinePoint], ceilings: _Ceilings) -> dict[Category, list[RooflinePoint]]:
    """The points by the ceiling that limits them; only the groups that have any."""
    groups: dict[Category, list[RooflinePoint]] = {MEMORY: [], ARRAY: [], ONCHIP: []}
    for point in shown:
        if point.intensity is None:
            groups[ONCHIP].append(point)
        else:
            groups[MEMORY if point.ceiling < ceilings.array else ARRAY].append(point)
    return {category: members for category, members in groups.items() if members}


def _trace(
    category: Category,
    members: Sequence[RooflinePoint],
    shown: Sequence[RooflinePoint],
    ranges: _Ranges,
    result: Result,
) -> dict[str, object]:
    names = _names(shown)
    edge, longest = ranges.high / 1.3, max(p.cycles for p in shown)
    return scatter(
        "markers+text",
        [edge if p.intensity is None else p.intensity for p in members],
        [p.speed for p in members],
        hover(
            "<b>%{customdata[0]}</b>",
            "%{customdata[1]}",
            "%{y:.3~g} GMAC/s, %{customdata[2]} of its ceiling",
            "%{customdata[3]} of the run, %{customdata[4]:,} cycles",
        ),
        name=category.label,
        text=[escape(names.get(p.op.name, "")) for p in members],
        textposition="bottom center",
        textfont={"size": 11, "color": "ink"},
        marker={
            "color": category.colour,
            "symbol": SYMBOLS[category],
            "opacity": 0.85,
            "size": [_marker_pixels(p, longest) for p in members],
            "line": {"width": 1, "color": "paper"},
        },
        customdata=[_tooltip(p, result.npu_cycles) for p in members],
    )


def _marker_pixels(point: RooflinePoint, longest: int) -> float:
    """The marker's diameter, so that its area grows with the op's cycles."""
    grown: float = (LARGEST_MARKER - SMALLEST_MARKER) * ratio(point.cycles, longest) ** 0.5
    return round(SMALLEST_MARKER + grown, 1)


def _tooltip(point: RooflinePoint, run_cycles: int) -> list[object]:
    of_ceiling, of_run = ratio(point.speed, point.ceiling), ratio(point.cycles, run_cycles)
    return [escape(point.op.name), _work(point), percent(of_ceiling), percent(of_run), point.cycles]


def _names(shown: Sequence[RooflinePoint]) -> dict[str, str]:
    """Names next to the points of the ops that took longest; points whose names would overlap share one."""
    labels: dict[str, tuple[RooflinePoint, int]] = {}
    for point in sorted(shown, key=_longest_first)[:NAMED_OPS]:
        near = next((name for name, (other, _) in labels.items() if _overlap(point, other)), None)
        if near is None:
            labels[point.op.name] = point, 0
        else:
            labels[near] = labels[near][0], labels[near][1] + 1
    return {name: f"{name} +{more}" if more else name for name, (_, more) in labels.items()}


def _overlap(a: RooflinePoint, b: RooflinePoint) -> bool:
    if abs(log10(a.speed / b.speed)) >= OVERLAP_DECADES:
        return False
    if a.intensity is None or b.intensity is None:
        return a.intensity is b.intensity
    return abs(log10(a.intensity / b.intensity)) < OVERLAP_DECADES


def _work(point: RooflinePoint) -> str:
    macs = f"{magnitude(point.op.macs * point.op.runs)} MACs"
    if point.intensity is None:
        return f"{macs}, no traffic off chip"
    return f"{macs}, {point.bytes:,} B: {point.intensity:,.3g} MACs per byte"


def _ceiling_lines(ceilings: _Ceilings, ranges: _Ranges) -> dict[str, object]:
    """A slope for each bus up to the array's ceiling, as one line with gaps, which the legend hides whole."""
    x: list[float | None] = []
    y: list[float | None] = []
    texts: list[str] = []
    array = ceilings.array
    for name, bus in ceilings.buses.items():
        ridge = array / bus
        gap = [None] if x else []
        x += [*gap, ranges.low, ridge, ranges.high]
        y += [*gap, ranges.low * bus, array, array]
        texts += [
            *([""] if gap else []),
            f"{name} {bus:,.3g} GB/s",
            f"the array's {array:,.4g} GMAC/s need {ridge:,.3g} MACs per byte",
            f"array {array:,.4g} GMAC/s",
        ]
    line = {"width": 2, "color": "ink"}
    return scatter("lines", x, y, hover("%{customdata}"), name="ceilings", customdata=texts, line=line)


def _figure(traces: list[dict[str, object]], ranges: _Ranges) -> dict[str, object]:
    return {
        "data": traces,
        "layout": {
            "showlegend": False,
            "hovermode": "closest",
            "dragmode": "zoom",
            "xaxis": _log_axis("MACs per byte moved on or off chip", ranges.low, ranges.high),
            "yaxis": _log_axis("GMAC/s, waits included", ranges.floor, ranges.top),
        },
    }


def _log_axis(title: str, least: float, most: float) -> dict[str, object]:
    return {
        "title": {"text": title},
        "type": "log",
        "range": [log10(least), log10(most)],
        "dtick": 1,
        "tickformat": ",~r",
        "zeroline": False,
    }


def _remark(without_macs: int, cut: bool) -> str:
    if cut:
        return f"Only the {MOST_POINTS:,} ops with MACs that took longest are shown."
    verb = "is" if without_macs == 1 else "are"
    return f"{plural(without_macs, 'op')} without MACs {verb} not shown." if without_macs else ""
