"""Charts of a run as one figure of Plotly, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from reports.chart import in_light
from reports.run.charts import ChartSection

HEIGHTS = {"timeline": 180, "memory": 360}
"""Pixels of a chart by its kind, unless it says its own."""
FIGURE_BARS = 2_000
"""Bars and boxes of a chart, at most."""
GAP = 44
"""Pixels between two charts, for the title of the one below."""


def plotly_figure(sections: Sequence[ChartSection]) -> Any:
    """Return the charts one above another, over one axis of cycles: a ``plotly.graph_objects.Figure``."""
    figure: Any = import_module("plotly.graph_objects").Figure  # slow to import

    heights = [section.height or HEIGHTS[section.kind] for section in sections]
    total = sum(heights) + GAP * (len(sections) - 1)
    axes: dict[str, Any] = {}
    traces: list[Any] = []
    titles: list[dict[str, object]] = []
    named: set[str] = set()
    top = 1.0
    for number, (section, height) in enumerate(zip(sections, heights, strict=True), 1):
        drawn: Any = in_light(section.chart.figure)
        axis = {**drawn["layout"]["yaxis"], "domain": [max(0.0, top - height / total), top]}
        axes[f"yaxis{number}"] = axis
        titles.append(_title(section.title, top))
        for trace in drawn["data"]:
            name = trace.get("name", "")
            legend = {"showlegend": bool(name) and name not in named, "legendgroup": name}
            traces.append({**trace, "yaxis": f"y{number}", "xaxis": "x", **legend})
            named.add(name)
        top -= (height + GAP) / total
    last: Any = sections[-1].chart.figure["layout"]
    layout = {
        **{key: last[key] for key in ("barmode", "bargap", "hovermode", "dragmode", "uniformtext")},
        **axes,
        "xaxis": {**last["xaxis"], "anchor": f"y{len(sections)}"},
        "annotations": titles,
        "height": total + 110,
        "margin": {"t": 40, "b": 70, "l": 70, "r": 20},
        "template": "plotly_white",
    }
    return figure({"data": traces, "layout": layout})


def _title(text: str, top: float) -> dict[str, object]:
    return {
        "text": text, "x": 0, "y": top, "xref": "paper", "yref": "paper",
        "xanchor": "left", "yanchor": "bottom", "showarrow": False, "font": {"size": 15},
    }  # fmt: skip
