"""A page of sentences, key figures, charts and tables, without a script."""

from __future__ import annotations

from reports.page_parts import TablePage
from reports.template import PLAIN, render


def render_tables(page: TablePage) -> str:
    """The page as text; a chart without anything to draw and a table without rows are left out."""
    return render("tables.html.j2", {"page": page}, PLAIN)
