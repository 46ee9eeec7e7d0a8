"""The only place that prints: names come from files, so nothing reaches a terminal as it is."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from chipmodel.terminal.escapes import printable, printable_line

if TYPE_CHECKING:
    from rich.console import Console


def say(text: str) -> None:
    """Print the answer, or a part of it, on stdout: a line, or several."""
    _write(sys.stdout, text)


def remark(text: str) -> None:
    """Print what is not the answer on stderr: a line, or several. Nothing happens where nobody reads it."""
    with suppress(BrokenPipeError):
        _write(sys.stderr, text)


def note(text: str) -> None:
    """Print ``note: text`` on stderr, as one line."""
    remark(f"note: {printable_line(text)}")


def emit(document: str) -> None:
    """Print a document in a format of its own (JSON, CSV, C) on stdout, without a line feed of ours.

    A file or pipe gets the same bytes, UTF-8, as a file that is written; a terminal gets what it can show.
    """
    if sys.stdout.isatty() or not hasattr(sys.stdout, "buffer"):
        sys.stdout.write(printable(document))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(document.encode(errors="backslashreplace"))
    sys.stdout.flush()


def console(stderr: bool = False) -> Console:
    """A console for tables and styles, on which texts are no markup and names cannot do anything."""
    from chipmodel.terminal.safe_console import SafeConsole

    return SafeConsole(stderr=stderr)


def _write(stream: IO[str], text: str) -> None:
    # A line at a time: a live display, which may stand in for the stream, takes several for one.
    for line in printable(text).split("\n"):
        stream.write(f"{line}\n")
    stream.flush()
