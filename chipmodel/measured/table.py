"""Tables of measurements: CSV text with the line and column of every cell, and the kinds of tables.

A kind lists the columns that describe a row, the one that was measured, and further measured columns that a
table may have. ``chipmodel.measured.kinds`` holds the known kinds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from chipmodel.errors import BadInput, Place
from chipmodel.files.suggestions import shown, suggest
from chipmodel.hardware.chip import Chip

ColumnForm = Literal["whole", "decimal", "text"]

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,2})?")
_LONGEST_NUMBER = 40
_CELL = re.compile(r'(?:\s*"((?:[^"]|"")*)"\s*|([^",]*))(?=,|$)')


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table: numbers from ``least`` to ``most``, or texts. The limits exclude what no hardware
    of this kind has. A column with a ``field`` may be missing: that number of the chip is used then."""

    name: str
    form: ColumnForm = "whole"
    least: Fraction = Fraction(1)
    most: Fraction = Fraction(1 << 40)
    field: str | None = None
    optional: bool = False
    """Whether a table may do without it, and leave cells of it empty."""


@dataclass(frozen=True, slots=True)
class TableCell:
    """A value of a row, and the column of the line's text where it begins (0: it is a number of the chip)."""

    value: Fraction | str
    column: int


@dataclass(frozen=True, slots=True)
class MeasuredRow:
    """One row of a table."""

    file: str
    line: int
    cells: Mapping[str, TableCell]

    def whole(self, name: str) -> int:
        """The integer in a column of whole numbers."""
        return int(self.cells[name].value)

    def number(self, name: str) -> Fraction:
        """The number in a column, exactly."""
        return Fraction(self.cells[name].value)

    def text(self, name: str) -> str:
        """The text in a column."""
        return str(self.cells[name].value)

    def place(self, name: str | None = None) -> Place:
        """Where a column's cell begins; without a name, or for a number of the chip, where the row begins."""
        return Place(self.file, self.line, self.cells[name].column or 1 if name else 1)


Predict = Callable[[Chip, MeasuredRow], Mapping[str, Fraction]]
"""Predicts every measured column of a row. Raises BadInput for an impossible row."""


@dataclass(frozen=True, slots=True)
class TableKind:
    """A kind of table. ``chip`` is the preset that it is compared with by default; any other chip must have
    the same ``dma_model``, if there is one."""

    name: str
    chip: str
    inputs: tuple[TableColumn, ...]
    measured: str
    predict: Predict
    others: tuple[str, ...] = ()
    dma_model: str | None = None
    parts: Mapping[str, Callable[[MeasuredRow], bool]] | None = None
    """Groups of rows that the summary lists separately."""
    group: str = ""
    """A column of texts that a table may have; the summary lists the rows of each text separately."""

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        """The columns that describe a row."""
        return (*self.inputs, *((TableColumn(self.group, "text", optional=True),) if self.group else ()))

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns without which a row cannot be predicted, without the measured one."""
        return tuple(column.name for column in self.inputs if column.field is None and not column.optional)

    @property
    def known(self) -> tuple[str, ...]:
        """All columns that this kind of table uses."""
        return (*(column.name for column in self.columns), self.measured, *self.others)


@dataclass(frozen=True, slots=True)
class CsvSheet:
    """A CSV file as text: the header's line and names, and the numbered lines with their cells. Names and
    cells come with the column where they begin."""

    file: str
    line: int
    header: tuple[tuple[str, int], ...]
    lines: tuple[tuple[int, tuple[tuple[str, int], ...]], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(name for name, _ in self.header)


def read_sheet(text: str, file: str) -> CsvSheet:
    """The CSV ``text``; blank lines are skipped, cells are stripped, quoted ones stay on their line.

    Raises BadInput for an empty file, no rows, a repeated column name, an open quote, and a row with more or
    fewer cells than the header.
    """
    lines = [(n, line) for n, line in enumerate(re.split("\r\n|\r|\n", text), 1) if line.strip()]
    if not lines:
        raise BadInput("the file is empty", where=Place(file), hint="write a header line and rows into it")
    parsed = tuple((n, tuple(_cells(line, file, n))) for n, line in lines)
    (at, header), rows = parsed[0], parsed[1:]
    _check_header(header, file, at)
    if not rows:
        raise BadInput("the table has no rows", where=Place(file), hint="write a row below the header")
    for n, cells in rows:
        if len(cells) != len(header):
            extra = cells[len(header)][1] if len(cells) > len(header) else cells[-1][1]
            what = f"the row has {len(cells)} cells, the header {len(header)}"
            raise BadInput(what, where=Place(file, n, extra), hint="write one cell for each column")
    return CsvSheet(file, at, header, rows)


def _check_header(header: Sequence[tuple[str, int]], file: str, line: int) -> None:
    seen: set[str] = set()
    for name, column in header:
        if name in seen:
            what = f"the column {shown(name)} appears twice in the header"
            raise BadInput(what, where=Place(file, line, column), hint="remove or rename one of them")
        seen.add(name)


def _cells(line: str, file: str, number: int) -> Iterator[tuple[str, int]]:
    position = 0
    while position <= len(line):
        match = _CELL.match(line, position)
        if match is None:
            what = f"a quote in {shown(line[position:])} is not closed or stands inside a cell"
            raise BadInput(
                what, where=Place(file, number, position + 1), hint='quote whole cells, and write "" for "'
            )
        quoted, plain = match[1], match[2]
        value = quoted.replace('""', '"') if quoted is not None else plain
        indent = len(match[0]) - len(match[0].lstrip()) if match[0].strip() else 0
        yield value.strip(), position + indent + 1
        position = match.end() + 1


def recognise(sheet: CsvSheet, kinds: Mapping[str, TableKind]) -> tuple[TableKind, ...]:
    """The kinds whose columns the table has, of these the ones that need most columns; several where only the
    rows can tell. Raises BadInput for unknown columns, listing all known kinds, and for no measured
    column."""
    names = set(sheet.names)
    close = [kind for kind in kinds.values() if names.issuperset(kind.needed)]
    whole = [kind for kind in close if kind.measured in names]
    if whole:
        most = max(len(kind.needed) for kind in whole)
        return tuple(kind for kind in whole if len(kind.needed) == most)
    where = Place(sheet.file, sheet.line, 1)
    if close:
        kind = max(close, key=lambda kind: len(kind.needed))
        what = f"a table of {kind.name} without the measured column '{kind.measured}'"
        raise BadInput(what, where=where, hint=f"add the column '{kind.measured}'")
    listed = "".join(f"\n    {kind.name}: {','.join(kind.known)}" for kind in kinds.values())
    what = f"no kind of table has the columns {shown(','.join(sheet.names))}"
    raise BadInput(what, where=where, hint=f"{_nearest(names, kinds)}known kinds and columns are{listed}")


def _nearest(names: set[str], kinds: Mapping[str, TableKind]) -> str:
    def missing(kind: TableKind) -> list[str]:
        return [name for name in (*kind.needed, kind.measured) if name not in names]

    near = min(kinds.values(), key=lambda kind: len(missing(kind)) / (len(kind.needed) + 1))
    if len(missing(near)) > len(near.needed) / 2:
        return ""
    return f"as {near.name} it lacks {', '.join(missing(near))}; "


def as_kind(sheet: CsvSheet, name: str, kinds: Mapping[str, TableKind]) -> TableKind:
    """The kind called ``name``. Raises BadInput if there is none, or the table lacks its columns."""
    if name not in kinds:
        what = f"--kind {shown(name)} is no kind of table"
        raise BadInput(what, hint=suggest(name, kinds, "kinds are"))
    kind = kinds[name]
    missing = [column for column in (*kind.needed, kind.measured) if column not in sheet.names]
    if missing:
        what = f"as {name} the table has no column {', '.join(missing)}"
        raise BadInput(
            what,
            where=Place(sheet.file, sheet.line, 1),
            hint="add it, or choose another --kind",
        )
    return kind


def ignored(sheet: CsvSheet, kind: TableKind) -> tuple[str, ...]:
    """Columns of the table that its kind does not use."""
    return tuple(name for name in sheet.names if name not in kind.known)


def rows_of(sheet: CsvSheet, kind: TableKind) -> tuple[MeasuredRow, ...]:
    """The rows as ``kind`` reads them, in file order. Raises BadInput at the first bad cell."""
    measured = TableColumn(kind.measured, "decimal", Fraction(0))
    others = (TableColumn(name, "decimal", Fraction(0)) for name in kind.others)
    columns = {column.name: column for column in (*kind.columns, measured, *others)}
    rows: list[MeasuredRow] = []
    for line, cells in sheet.lines:
        read: dict[str, TableCell] = {}
        for (name, _), (text, at) in zip(sheet.header, cells, strict=True):
            if name in columns and (text or not columns[name].optional):
                read[name] = TableCell(_value(columns[name], text, Place(sheet.file, line, at)), at)
        row = MeasuredRow(sheet.file, line, read)
        if not row.number(kind.measured):
            what = f"{kind.measured} is 0, so the relative error is not defined"
            raise BadInput(what, where=row.place(kind.measured), hint="write the measured value")
        rows.append(row)
    return tuple(rows)


def _value(column: TableColumn, text: str, where: Place) -> Fraction | str:
    if not text:
        raise BadInput(f"{column.name} is empty", where=where, hint="write a value for every column")
    if column.form == "text":
        return text
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        raise BadInput(f"{column.name} {shown(text)} is no number", where=where, hint="write digits only")
    value = Fraction(text)
    if column.form == "whole" and value.denominator != 1:
        raise BadInput(
            f"{column.name} {text} is no whole number", where=where, hint="write a number without a fraction"
        )
    if not column.least <= value <= column.most:
        limits = f"{_plain(column.least)} to {_plain(column.most)}"
        raise BadInput(
            f"{column.name} {text} is out of range", where=where, hint=f"write a number of {limits}"
        )
    return value


def _plain(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{float(value):g}"
