"""What reports print, as text."""

from collections.abc import Callable
from io import StringIO

from rich.console import Console

from reports.page_parts import TablePage
from reports.terminal_page import print_tables


def on_console(show: Callable[[Console], None], width: int = 80, *, colour: bool = False) -> str:
    out = StringIO()
    show(Console(file=out, width=width, force_terminal=colour, no_color=not colour))
    return out.getvalue()


def printed(page: TablePage, width: int = 80) -> str:
    return on_console(lambda console: print_tables(page, console), width)
