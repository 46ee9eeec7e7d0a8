"""Charts as objects of Plotly, for notebooks, and as files of pictures, for papers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from chipmodel.errors import BadInput
from reports.chart import Chart, in_light

WIDTH, LEGEND = 720, 90
"""Pixels: of a picture, and of its height for the legend and the title of the axis."""
FORMATS = ("svg", "pdf")
_UID = re.compile(rb'id="defs-([0-9a-f]{6})"')
_DATE = re.compile(rb"\(D:\d{14}")


def figure_of(chart: Chart) -> Any:
    """Return the chart as a ``plotly.graph_objects.Figure`` in the colours of a light page."""
    figure: Any = import_module("plotly.graph_objects").Figure  # slow to import
    legend = {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"}
    drawn = in_light(chart.figure)
    layout = {
        **drawn["layout"],
        "template": "plotly_white",
        "legend": legend,
        "height": chart.height + LEGEND,
    }
    named = [{**trace, "uid": str(number)} for number, trace in enumerate(drawn["data"])]
    return figure({"data": named, "layout": layout})


def picture_files(charts: Mapping[str, Chart]) -> dict[str, bytes]:
    """Return each chart as SVG and PDF by the name of its file, the same bytes for the same chart.

    Raises
    ------
    BadInput
        Kaleido, which draws them, or the browser that it needs is not installed.
    """
    write = _writer()
    names = [f"{name}.{kind}" for name in charts for kind in FORMATS]
    drawn = [figure_of(chart) for chart in charts.values() for _ in FORMATS]
    with TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in names]
        try:
            write(drawn, files, width=WIDTH)
        except RuntimeError as error:
            hint = "install Chromium or Chrome, which Kaleido draws with; pages need neither"
            raise BadInput(f"cannot draw pictures: {str(error).splitlines()[0]}", hint=hint) from None
        return {file.name: _without_chance(file.read_bytes()) for file in files}


def _writer() -> Any:
    try:
        import_module("kaleido")
    except ImportError:
        hint = "pip install 'chipmodel[figures]'; charts of a page save pictures without it"
        raise BadInput("pictures need Kaleido, which is not installed", hint=hint) from None
    return import_module("plotly.io").write_images


def _without_chance(content: bytes) -> bytes:
    """A picture without the random name and the date that differ from one drawing to the next."""
    match = _UID.search(content)
    content = content.replace(match[1], b"000000") if match else content
    return _DATE.sub(b"(D:20000101000000", content)
