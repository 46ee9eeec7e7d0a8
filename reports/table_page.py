"""A page of sentences, key figures, charts and tables."""

from __future__ import annotations

from reports.page_parts import TablePage
from reports.template import PLAIN, PageScript, PlotlyPlace, render


def render_tables(page: TablePage, plotly: PlotlyPlace = "inside") -> str:
    """The page as text, with a script only if it has charts, and with Plotly's in it or beside it; a table
    without rows is left out."""
    figures = {chart.id: chart.chart.figure for chart in page.charts if chart.chart.traces}
    script = PageScript(("charts.js", "plots.js"), {"charts": figures}, plotly) if figures else None
    return render("tables.html.j2", {"page": page}, PLAIN, script)
