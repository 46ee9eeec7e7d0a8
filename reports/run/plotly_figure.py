"""Charts of a run as one figure of Plotly, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from reports.chart import in_light
from reports.page_parts import PageChart

FIGURE_BARS = 2_000
"""Bars and boxes of a chart, at most."""
GAP = 44
"""Pixels between two charts, for the title of the one below."""


def plotly_figure(sections: Sequence[PageChart]) -> Any:
    """Return the charts one above another, over one axis of cycles: a ``plotly.graph_objects.Figure``."""
    subplots: Any = import_module("plotly.subplots")  # slow to import

    heights = [section.chart.height for section in sections]
    figure = subplots.make_subplots(
        rows=len(sections),
        shared_xaxes=True,
        row_heights=heights,
        vertical_spacing=GAP / (sum(heights) + GAP * len(sections)),
        subplot_titles=[section.title for section in sections],
    )
    named: set[str] = set()
    for row, section in enumerate(sections, 1):
        drawn: Any = in_light(section.chart.figure)
        for trace in drawn["data"]:
            name = trace.get("name", "")
            legend = {"showlegend": bool(name) and name not in named, "legendgroup": name}
            figure.add_trace({**trace, **legend}, row=row, col=1)
            named.add(name)
        figure.update_yaxes(drawn["layout"]["yaxis"], row=row, col=1)
    last: Any = sections[-1].chart.figure["layout"]
    figure.update_xaxes(last["xaxis"], row=len(sections), col=1)
    figure.update_annotations(x=0, xanchor="left", font_size=15)
    shared = {key: last[key] for key in ("barmode", "bargap", "hovermode", "dragmode", "uniformtext")}
    height = sum(heights) + GAP * (len(sections) - 1) + 110
    margin = {"t": 40, "b": 70, "l": 70, "r": 20}
    return figure.update_layout(**shared, height=height, margin=margin, template="plotly_white")
