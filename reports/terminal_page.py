"""The sentences and tables of a page on the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from reports.page_parts import PageTable, TablePage
from reports.terminal_table import Console, print_line, ruled_table


def print_tables(page: TablePage, console: Console) -> None:
    """Print sentences and tables, readable at 80 columns and without colour; a list without a sentence is its
    rows alone."""
    for number, sentence in enumerate(page.sentences):
        name = f"{page.name} {page.on}".rstrip()
        heading = () if number else ((name, "bold"), " " if name.endswith("?") else ": ")
        print_line(console, *heading, sentence)
    print_each(page.tables, console)


def print_each(tables: Iterable[PageTable], console: Console, titled: bool = False) -> None:
    """Print the tables that have rows, ``titled`` even where there is only one."""
    shown = [table for table in tables if table.rows and table.most != 0]
    for table in shown:
        if titled or len(shown) > 1:
            print_line(console, (table.title, "bold"))
        console.print(ruled_table(*table.narrow, unbroken=table.unbroken))
        if left_out := len(table.rows[len(table.rows) if table.most is None else table.most :]):
            print_line(console, f"{left_out:,} more: --html, --json")
        for line in table.remark.splitlines():
            print_line(console, line)
