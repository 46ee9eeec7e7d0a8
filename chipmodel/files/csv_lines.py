"""CSV text as lines of cells with their line and column, whatever the table is about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from chipmodel.errors import BadInput, Place
from chipmodel.files.suggestions import shown
from chipmodel.records import dataclass

_CELL = re.compile(r'(?:\s*"((?:[^"]|"")*)"\s*|([^",]*))(?=,|$)')
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_QUOTED = re.compile('[",\r\n]')
_BREAK = re.compile("\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class CsvLine:
    """One line: its cells, stripped and without quotes, and its text."""

    file: str
    number: int
    text: str
    cells: tuple[str, ...]

    def place(self, index: int) -> Place:
        """Where cell ``index`` begins, worked out only for error messages."""
        if '"' not in self.text:
            pieces = self.text.split(",")
            before = sum(len(piece) + 1 for piece in pieces[:index])
            cell = pieces[index] if index < len(pieces) else ""
            return Place(self.file, self.number, before + len(cell) - len(cell.lstrip()) + 1)
        columns = [column for _, column in _quoted(self.text, self.file, self.number)]
        return Place(self.file, self.number, columns[min(index, len(columns) - 1)])


def read_lines(text: str, file: str) -> Iterator[CsvLine]:
    """The lines of ``text`` that are not blank; a quoted cell cannot continue on the next line.

    Raises BadInput for an open quote, a quote inside a cell, and control characters.
    """
    if bad := _CONTROL.search(text.replace("\r", "\n")):
        _refuse_control(text, bad.start(), file)
    for number, line in enumerate(_BREAK.split(text), 1):
        if not line.strip():
            continue
        if '"' in line:
            yield CsvLine(file, number, line, tuple(cell for cell, _ in _quoted(line, file, number)))
        else:
            yield CsvLine(file, number, line, tuple([cell.strip() for cell in line.split(",")]))


def csv_line(cells: Iterable[str]) -> str:
    """The cells as one line of CSV, quoted where necessary."""
    return ",".join(_written(cell) for cell in cells)


def _written(cell: str) -> str:
    if _QUOTED.search(cell) or cell != cell.strip():
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _quoted(line: str, file: str, number: int) -> Iterator[tuple[str, int]]:
    position = 0
    while position <= len(line):
        match = _CELL.match(line, position)
        if match is None:
            what = f"a quote in {shown(line[position:])} is not closed, or is inside a cell"
            hint = 'quote whole cells, and write "" for "'
            raise BadInput(what, where=Place(file, number, position + 1), hint=hint)
        quoted, plain = match[1], match[2]
        value = quoted.replace('""', '"') if quoted is not None else plain
        indent = len(match[0]) - len(match[0].lstrip()) if match[0].strip() else 0
        yield value.strip(), position + indent + 1
        position = match.end() + 1


def _refuse_control(text: str, index: int, file: str) -> None:
    before = _BREAK.split(text[:index])
    what = f"the control character U+{ord(text[index]):04X} is not allowed in a table"
    hint = "check that this is a text file, and remove the character"
    raise BadInput(what, where=Place(file, len(before), len(before[-1]) + 1), hint=hint)
