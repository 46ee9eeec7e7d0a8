"""What reports print, as text."""

from collections.abc import Callable
from io import StringIO

from rich.console import Console


def on_console(show: Callable[[Console], None], width: int = 80, *, colour: bool = False) -> str:
    out = StringIO()
    show(Console(file=out, width=width, force_terminal=colour, no_color=not colour))
    return out.getvalue()
