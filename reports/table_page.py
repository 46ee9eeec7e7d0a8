"""A page of sentences, key figures and tables, for answers without a chart."""

from __future__ import annotations

from reports.page_parts import TablePage
from reports.template import PLAIN, render


def render_tables(page: TablePage) -> str:
    """The page as text; a table without rows is left out."""
    return render("tables.html.j2", {"page": page}, PLAIN)
