"""Where a command's answers go: files that appear whole, JSON or words on stdout, notes on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chipmodel.cli.file_options import STDOUT, WRITES, WRITES_OR_STDOUT
from chipmodel.files.atomic_write import Content, write_together
from chipmodel.terminal.printing import console, emit
from chipmodel.terminal.printing import note as note_line
from chipmodel.terminal.progress import stage

if TYPE_CHECKING:
    from rich.console import Console


json_option = click.option(
    "--json",
    "json_file",
    metavar="FILE|-",
    type=WRITES_OR_STDOUT,
    help="Write the answer as one JSON document.",
)
html_option = click.option(
    "--html", "html_file", metavar="FILE", type=WRITES, help="Write the answer as one self-contained page."
)


def write_files(outputs: Iterable[tuple[str | None, Callable[[], Content]]]) -> None:
    """Write all named files, or none; None and ``-`` name none. All contents are made before the first is
    written."""
    with stage("writing reports"):
        write_together([(Path(name), make()) for name, make in outputs if name and name != STDOUT])


def show(json_file: str | None, text: Callable[[], str], words: Callable[[Console], None]) -> None:
    """The answer on stdout: the JSON document alone where ``json_file`` is ``-``, else in words."""
    if json_file == STDOUT:
        emit(text())
    else:
        words(console())


def note(texts: Iterable[str]) -> None:
    """Print remarks about the answer on stderr."""
    for text in texts:
        note_line(text)
