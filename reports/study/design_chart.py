"""Latency over a field that a study varies: a chart for each workload, with its Pareto front."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import Any

from chipmodel.answers.study_results import StudyResults
from chipmodel.answers.study_row import Row
from chipmodel.files.sizes import format_bytes
from reports.chart import STYLES, Chart, Style, axis, labelled, series
from reports.colours import GREY
from reports.study.design import (
    CHIP,
    MEMORY,
    Design,
    columns_of_designs,
    front,
    milliseconds,
    number,
    setting_words,
)
from reports.words import count

MOST_PANELS = 12
"""Workloads with a chart."""
HEIGHT = 340
"""Pixels of a chart."""
MOST_LABELS = 6
"""Labels of an axis of numbers."""
LOG_FROM = 6.0
"""Ratio of the largest to the smallest value from which the axis is logarithmic."""
UNITS = (("bytes", "KiB"), ("_mhz", "MHz"), ("_ns", "ns"), ("_us", "µs"), ("_cycles", "cycles"))
FRONT = Style(GREY, symbol="circle-open", more={"size": 17, "line": {"width": 2.5}})

Series = tuple[str, list[tuple[Design, Row]]]
"""The name of a line, and its designs with the row that is drawn for each."""


def panels(study: StudyResults, name: str, swept: Sequence[Design]) -> tuple[tuple[str, Chart], ...]:
    """A chart of latency over the field, or column, ``name`` for ``MOST_PANELS`` workloads."""
    groups: dict[str, list[Design]] = {}
    for design in swept:
        groups.setdefault(design.workload, []).append(design)
    drawn = [(workload, group) for workload, group in groups.items() if any(d.row for d in group)]
    names = series_names(study, name, swept)
    return tuple((workload, _panel(study, name, group, names)) for workload, group in drawn[:MOST_PANELS])


def series_names(study: StudyResults, name: str, swept: Sequence[Design]) -> tuple[str, ...]:
    """The lines of every chart: one for each planner and setting of the other varied fields if they are few,
    else one for each setting with its best planner, else a single line for the best of all."""
    if name in columns_of_designs(study):
        return ("",)
    others = list(dict.fromkeys(setting_words(design, name) for design in swept))
    if len(others) * len(study.planners) <= len(STYLES):
        joined = [", ".join(filter(None, (other, planner))) for other in others for planner in study.planners]
        return tuple(joined) if len(joined) > 1 else ("",)
    return tuple(others) if len(others) <= len(STYLES) else ("",)


def has_front(study: StudyResults, name: str) -> bool:
    """Whether less of it is better, so that designs on the Pareto front are marked."""
    return name == MEMORY or name in columns_of_designs(study)


def _panel(study: StudyResults, name: str, group: Sequence[Design], names: Sequence[str]) -> Chart:
    scale = _SweepAxis(name, group)
    lines = _series(study, name, group, names)
    traces = [_line(scale, STYLES[k % len(STYLES)], title, pairs) for k, (title, pairs) in enumerate(lines)]
    if has_front(study, name):
        traces.append(_front(scale, front(group, name)))
    layout = {"xaxis": scale.axis(), "yaxis": axis("ms", rangemode="tozero"), "showlegend": True}
    return Chart(traces, layout, HEIGHT, _missing(name, group))


def _series(study: StudyResults, name: str, group: Sequence[Design], names: Sequence[str]) -> list[Series]:
    """One line for each name, empty where the workload has no such row."""
    if names == ("",):
        best: dict[str, tuple[Design, Row]] = {}

        def order(design: Design) -> tuple[Any, ...]:
            return design.milliseconds, design.cheapness

        for design in group:
            value = _value(name, design)
            if design.row and (value not in best or order(design) < order(best[value][0])):
                best[value] = design, design.row
        return [("", list(best.values()))]
    drawn: dict[str, list[tuple[Design, Row]]] = {title: [] for title in names}
    for design in group:
        other = setting_words(design, name)
        if other in drawn:
            drawn[other] += [(design, design.row)] if design.row else []
        else:
            for row in design.rows:
                drawn[", ".join(filter(None, (other, study.label(row))))].append((design, row))
    return list(drawn.items())


def _value(name: str, design: Design) -> str:
    return str(design.bytes) if name == MEMORY else design.value(name)


class _SweepAxis:
    """Positions and texts of a varied field's values on the axis of one chart."""

    def __init__(self, name: str, group: Sequence[Design]) -> None:
        self.name = name
        self.is_column = any(name == column for design in group for column, _ in design.costs)
        """Whether no line joins the designs, which differ in much."""
        texts = list(dict.fromkeys(_value(name, design) for design in group))
        numbers = {text: number(name, text) for text in texts}
        known = {text: each for text, each in numbers.items() if each is not None}
        self.words = name == CHIP or len(known) < len(texts)
        self.places = {text: float(k) for k, text in enumerate(texts)} if self.words else known
        least, most = min(known.values(), default=0.0), max(known.values(), default=0.0)
        if not self.words and least > 0 and most / least >= LOG_FROM:
            self.places = {text: log2(each) for text, each in known.items()}

    def at(self, design: Design) -> float:
        """The position of a design."""
        return round(self.places[_value(self.name, design)], 5)

    def text(self, value: str) -> str:
        """A value with its unit."""
        numeric = number(self.name, value)
        if self.words or numeric is None:
            return value
        if self.name.endswith("bytes"):
            return format_bytes(int(numeric))
        unit = next((unit for ending, unit in UNITS if self.name.endswith(ending)), "")
        return f"{numeric:,g} {unit}".rstrip()

    def axis(self) -> dict[str, Any]:
        """The settings of the axis, with labels as far as there is room."""
        texts = {place: self.text(text) for text, place in self.places.items()}
        places = sorted(texts)
        margin = (places[-1] - places[0]) * 0.07 or 0.5
        ends = [places[0] - margin, places[-1] + margin]
        kept = {at: texts[at] for at in places[:: -(-len(places) // MOST_LABELS)]}
        title = {MEMORY: "SharedMemory", CHIP: "chip"}.get(self.name, self.name)
        return axis(title, range=ends, **labelled(texts if self.words else kept))


def _line(scale: _SweepAxis, style: Style, title: str, pairs: Sequence[tuple[Design, Row]]) -> dict[str, Any]:
    known = sorted(pairs, key=lambda pair: scale.places[_value(scale.name, pair[0])])
    return series(
        title or "best planner",
        "markers" if scale.words or scale.is_column else "lines+markers",
        [(scale.at(design), row.milliseconds) for design, row in known],
        [_text(scale, design, row) for design, row in known],
        style,
    )


def _front(scale: _SweepAxis, swept: Sequence[Design]) -> dict[str, Any]:
    points = [(scale.at(design), design.milliseconds) for design in swept]
    return series("Pareto front", "markers", points, (), FRONT)


def _text(scale: _SweepAxis, design: Design, row: Row) -> str:
    at = scale.text(_value(scale.name, design))
    lines = [
        f"{milliseconds(row):,.3f} ms at {at}",
        setting_words(design, scale.name),
        _planners(row),
        ""
        if row.peak_bytes is None
        else f"SharedMemory {format_bytes(design.bytes)}, peak {count(row.peak_bytes)} B",
    ]
    return "\n".join(line for line in lines if line)


def _planners(row: Row) -> str:
    point = row.point
    cascades = f"cascades {point.cascade}" if point.cascade else ""
    return " / ".join(filter(None, (point.packer, point.merge, point.streamer, cascades)))


def _missing(name: str, group: Sequence[Design]) -> str:
    """The values at which no design of the workload has a plan, in words."""
    scale = _SweepAxis(name, group)
    fit = {_value(name, design) for design in group if design.row}
    texts = [scale.text(value) for value in scale.places if value not in fit]
    return f"no plan fits at {', '.join(texts)}" if texts else ""
