"""Charts of bars over time, and maps of memory: every buffer is a box over its lifetime at its address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from chipmodel.geometry.interval import Interval
from chipmodel.records import dataclass
from reports.chart import LABEL_SIZE, Chart, Style, axis, bars, series, told
from reports.colours import BLUE, faint
from reports.words import KIB, size

MAP_HEIGHT = 460
"""Pixels of a map."""
LEAST_KIB = 8
"""The axis of less memory has bytes."""
CYCLES: Mapping[str, Any] = {"title": {"text": "cycles"}, "tickformat": "~s"}
"""The horizontal axis of charts over time."""
LABELLED = 400
"""With more bars or boxes than this, none has its name inside: few would be readable, and all cost time.
Steps of cascades do not count and have none."""


@dataclass(frozen=True, slots=True)
class Category:
    """The name and the looks of one kind of event or buffer."""

    key: str
    label: str
    colour: str
    hatched: bool = False
    faint: bool = False
    named: bool = True
    """Whether bars have their names inside, where there is room."""


def marker(category: Category) -> dict[str, Any]:
    """Plotly's marker for the category; ``page.js`` replaces ``paper`` by the page's own colour."""
    style: dict[str, Any] = {"color": category.colour, "line": {"width": 0.5, "color": "paper"}}
    if category.hatched:
        hatch = {
            "shape": "/",
            "size": 6,
            "solidity": 0.3,
            "fillmode": "overlay",
            "fgcolor": category.colour,
            "fgopacity": 1,
        }
        style |= {"pattern": hatch, "color": faint(category.colour)}
    if category.faint:
        style["color"] = faint(category.colour)
    return style


def bar_trace(
    category: Category,
    spans: Sequence[Interval],
    rows: Sequence[object],
    width: float | Sequence[float],
    texts: Sequence[str],
    names: Sequence[str] | None = None,
) -> dict[str, Any]:
    """A bar over each of ``spans``, at its row, with a text that begins with its title."""
    extents = [(span.start, len(span)) for span in spans]
    ink = "#ffffff" if category.colour == BLUE else "#14181c"
    shown = {"name": category.label, **told(texts, titled=True)}
    return bars(extents, rows, width, marker(category), names, ink, **shown)


class MapBox(NamedTuple):
    """A box in a map of memory: its bytes, when it is there, and what is said below its name."""

    name: str
    at: Interval
    span: Interval
    words: str


def bytes_at(place: Interval) -> str:
    """``64 B at 128 to 192``."""
    return f"{len(place):,} B at {place.start:,} to {place.stop:,}"


def memory_chart(
    groups: Mapping[Category, Sequence[MapBox]],
    over: Interval,
    top: int,
    levels: Mapping[str, int],
    curve: Sequence[tuple[int, int]] = (),
    x_axis: Mapping[str, Any] = CYCLES,
) -> Chart:
    """A map of memory up to byte ``top``: boxes by category, lines across it at ``levels``, and the ``curve``
    of the bytes that are alive, each point at its start."""
    unit = KIB if top >= LEAST_KIB * KIB else 1
    named = sum(map(len, groups.values())) <= LABELLED
    traces = [_boxes(each, boxes, unit, named and each.named) for each, boxes in groups.items() if boxes]
    if curve:
        texts = [f"{total:,} B alive from {at:,} on" for at, total in curve]
        points, line = [(at, total / unit) for at, total in curve], {"shape": "hv", "width": 1.5}
        traces.append(series("live bytes", "lines", points, texts, Style("ink"), line=line))
    for name, at in levels.items():
        ends, words = [(over.start, at / unit), (over.stop, at / unit)], f"{name} {at:,} B"
        traces.append(series(f"{name} {size(at)}", "lines", ends, [words] * 2, Style("ink", "dash")))
    y_axis = axis(f"address ({'KiB' if unit == KIB else 'bytes'})", range=[0, top / unit])
    return Chart(traces, layout_over(over, y_axis, x_axis), MAP_HEIGHT)


def _boxes(category: Category, boxes: Sequence[MapBox], unit: int, named: bool) -> dict[str, Any]:
    """Boxes of one category, with their names inside where they are ``named``."""
    rows = [(box.at.start + box.at.stop) / 2 / unit for box in boxes]
    heights = [len(box.at) / unit for box in boxes]
    names = [box.name for box in boxes] if named else None
    texts = [f"{box.name}{box.words}" for box in boxes]
    return bar_trace(category, [box.span for box in boxes], rows, heights, texts, names)


def layout_over(
    over: Interval, y_axis: Mapping[str, Any], x_axis: Mapping[str, Any] = CYCLES
) -> dict[str, Any]:
    """The layout of a chart of bars ``over`` the run."""
    return {
        "showlegend": True,
        "uniformtext": {"minsize": LABEL_SIZE, "mode": "hide"},
        "xaxis": {"range": [over.start, over.stop], "zeroline": False, **x_axis},
        "yaxis": y_axis,
    }
