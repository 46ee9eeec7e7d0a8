"""Where a command's answers go: files that appear whole, JSON or words on stdout, notes on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from chipmodel.cli.file_options import STDOUT
from chipmodel.files.atomic_write import Content, write_together
from chipmodel.records import dataclass
from chipmodel.terminal.ending import answer_is_there
from chipmodel.terminal.printing import console, emit, note as note_line
from chipmodel.terminal.progress import stage

if TYPE_CHECKING:
    from rich.console import Console

    from chipmodel.api.answer import Answer, TableAnswer


Output = tuple[str | None, Callable[[], Content]]
"""A file's name, if it is to be written, and what makes its content."""


@dataclass(frozen=True, slots=True)
class AnswerFiles:
    """Where an answer goes beside the terminal: a JSON document, a page."""

    json_file: str | None
    html_file: str | None

    def give(self, answer: TableAnswer, *others: Output) -> None:
        """Write the files of the answer and ``others``, all or none, then the answer on stdout."""
        self.write(answer, *others)
        show(self.json_file, answer.to_json, answer.print_on)

    def write(self, answer: Answer, *others: Output) -> None:
        """Write the files of the answer and ``others``, all or none."""
        write_files((*others, (self.html_file, answer.to_html), (self.json_file, answer.to_json)))


def write_files(outputs: Iterable[Output]) -> None:
    """Write all named files, or none; None and ``-`` name none. All contents are made before any write."""
    with stage("writing reports"):
        made = [(Path(name), make()) for name, make in outputs if name and name != STDOUT]
        answer_is_there()
        write_together(made)


def show(json_file: str | None, text: Callable[[], str], words: Callable[[Console], None]) -> None:
    """The answer on stdout: the JSON document alone where ``json_file`` is ``-``, else in words."""
    document = text() if json_file == STDOUT else None
    answer_is_there()
    if document is None:
        words(console())
    else:
        emit(document)


def note(texts: Iterable[str]) -> None:
    """Print remarks about the answer on stderr."""
    for text in texts:
        note_line(text)
