"""Tables in CSV files: columns found by the header's names, cells read as what their column has.

Every mistake is a ``BadInput`` at its line and column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal, NoReturn

from chipmodel.errors import BadInput, Place
from chipmodel.files.csv_lines import CsvLine, csv_line, read_lines
from chipmodel.files.suggestions import shown
from chipmodel.records import dataclass
from chipmodel.terminal.escapes import cell_text

Cell = str | int | float | None
NO_SYNONYMS: Mapping[str, str] = {}
LONGEST_NUMBER = 40
_WHOLE = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,2})?")


@dataclass(frozen=True, slots=True)
class CsvColumn:
    """A column of texts, or of numbers from ``least`` to ``most``."""

    name: str
    form: Literal["whole", "decimal", "text"] = "whole"
    least: Fraction | int = 1
    most: Fraction | int = 1 << 40
    optional: bool = False
    """Whether a table may do without it, and leave cells of it empty."""


@dataclass(frozen=True, slots=True)
class CsvRow:
    """A line below the header, with the number of the cell of each column."""

    line: CsvLine
    at: Mapping[str, int]

    def text(self, name: str) -> str:
        """The cell of a column; empty where the table has none of that name."""
        return self.line.cells[self.at[name]] if name in self.at else ""

    def place(self, name: str | None = None) -> Place:
        """Where a column's cell begins; for none, and for one that is not in the table, the row."""
        index = self.at.get(name or "")
        return Place(self.line.file, self.line.number, 1) if index is None else self.line.place(index)

    def refuse(self, name: str, what: str, hint: str) -> NoReturn:
        """Raise BadInput at a column's cell."""
        raise BadInput(what, where=self.place(name), hint=hint)

    def value(self, column: CsvColumn) -> Fraction | int | str | None:
        """The cell as what its column has: whole numbers as integers; None for an empty optional one."""
        text = self.text(column.name)
        if not text and not column.optional:
            self.refuse(column.name, f"{column.name} is empty", "write a value for every column")
        if not text:
            return None
        if column.form == "text":
            return text
        whole = column.form == "whole"
        if not (_WHOLE if whole else _DECIMAL).fullmatch(text):
            what = f"{column.name} {shown(text)} is not a {'whole ' if whole else ''}number"
            self.refuse(column.name, what, "write digits only, without a unit")
        too_long = text[LONGEST_NUMBER:]
        value = None if too_long else int(text) if whole else Fraction(text)
        if value is None or not column.least <= value <= column.most:
            hint = f"write a number of {_plain(column.least)} to {_plain(column.most)}"
            self.refuse(column.name, f"{column.name} {shown(text)} is out of range", hint)
        return value

    def whole(self, column: CsvColumn) -> int:
        """The whole number in a column that is not optional."""
        value = self.value(column)
        assert isinstance(value, int)
        return value


@dataclass(frozen=True, slots=True)
class CsvTable:
    """The header, its columns as they are called here with the numbers of their cells, and the rows."""

    header: CsvLine
    at: Mapping[str, int]
    rows: Iterator[CsvRow]

    def place(self, name: str | None = None) -> Place:
        """Where a column's name begins; without one, where the header does."""
        return CsvRow(self.header, self.at).place(name)

    def need(self, names: Sequence[str]) -> None:
        """Raise BadInput where one of these columns is missing."""
        if missing := [name for name in names if name not in self.at]:
            what = f"the header has no column {', '.join(missing)}"
            raise BadInput(what, where=self.place(), hint=f"it names at least {','.join(names)}")


def read_csv(text: str, file: str, synonyms: Mapping[str, str] = NO_SYNONYMS) -> CsvTable:
    """The table in ``text``, the rows of which are read one by one; ``synonyms`` are other names of columns.

    Raises BadInput for an empty file, two columns of one name, and a row with more or fewer cells than the
    header.
    """
    lines = read_lines(text, file)
    header = next(lines, None)
    if header is None:
        hint = "begin it with a line that names the columns"
        raise BadInput("the file is empty", where=Place(file, 1, 1), hint=hint)
    at: dict[str, int] = {}
    for index, written in enumerate(header.cells):
        name = synonyms.get(written, written)
        if at.setdefault(name, index) != index:
            what = f"the header has two columns for {shown(name)}"
            raise BadInput(what, where=header.place(index), hint="remove or rename one of them")
    return CsvTable(header, at, (_row(line, header, at) for line in lines))


def _row(line: CsvLine, header: CsvLine, at: Mapping[str, int]) -> CsvRow:
    given, wanted = len(line.cells), len(header.cells)
    if given != wanted:
        what = f"the row has {given} cells, the header {wanted}"
        hint = "write one cell for each column, and quote a cell with a comma in it"
        raise BadInput(what, where=line.place(min(wanted, given - 1)), hint=hint)
    return CsvRow(line, at)


def csv_text(header: Iterable[str], rows: Iterable[Iterable[Cell]]) -> str:
    """A table as CSV: what is not known is an empty cell, and no cell is a formula."""
    return "".join(f"{csv_line(map(_cell, cells))}\n" for cells in (header, *rows))


def _cell(value: Cell) -> str:
    return "" if value is None else cell_text(str(value))


def _plain(value: Fraction | int) -> str:
    """A limit: a large power of two as such, another number as digits."""
    whole, size = value.denominator == 1, abs(int(value))
    if whole and size >= 1 << 40 and size & (size - 1) == 0:
        return f"{'-' * (value < 0)}2^{size.bit_length() - 1}"
    return str(value) if whole else f"{float(value):g}"
