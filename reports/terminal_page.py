"""The sentences and tables of a page on the terminal."""

from __future__ import annotations

from reports.page_parts import TablePage
from reports.terminal_table import Console, print_line, ruled_table


def print_tables(page: TablePage, console: Console) -> None:
    """Print sentences and tables, readable at 80 columns and without colour; a list without a sentence is its
    rows alone."""
    for number, sentence in enumerate(page.sentences):
        name = f"{page.name} {page.on}".rstrip()
        heading = () if number else ((name, "bold"), " " if name.endswith("?") else ": ")
        print_line(console, *heading, sentence)
    tables = [table for table in page.tables if table.rows and table.most != 0]
    for table in tables:
        if len(tables) > 1:
            print_line(console, table.title)
        console.print(ruled_table(*table.narrow, unbroken=table.unbroken))
        if left_out := len(table.rows[len(table.rows) if table.most is None else table.most :]):
            print_line(console, f"{left_out:,} more: --html, --json")
        for line in table.remark.splitlines():
            print_line(console, line)
