"""Tables of measurements, and the kinds of tables.

A kind lists the columns that describe a row, the one that was measured, and further measured columns that a
table may have. ``chipmodel.measured.kinds`` holds the known kinds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Literal, NoReturn

from chipmodel.errors import BadInput, Place
from chipmodel.files.csv_lines import CsvLine, read_lines
from chipmodel.files.suggestions import shown, suggest
from chipmodel.hardware.chip import Chip
from chipmodel.records import dataclass

ColumnForm = Literal["whole", "decimal", "text"]

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,2})?")
_LONGEST_NUMBER = 40


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
class MeasuredRow:
    """One row of a table: its line, the names of the table's columns, and the values by column. Values of
    other columns are numbers of the chip."""

    line: CsvLine
    names: tuple[str, ...]
    cells: Mapping[str, Fraction | str]

    def whole(self, name: str) -> int:
        """The integer in a column of whole numbers."""
        return int(self.cells[name])

    def number(self, name: str) -> Fraction:
        """The number in a column, exactly."""
        return Fraction(self.cells[name])

    def text(self, name: str) -> str:
        """The text in a column."""
        return str(self.cells[name])

    def place(self, name: str | None = None) -> Place:
        """Where a column's cell begins; without a name, or for a number of the chip, where the row begins."""
        if name in self.names:
            return self.line.place(self.names.index(name))
        return Place(self.line.file, self.line.number, 1)


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
    """The lines of a table, which have as many cells as its header has names."""

    header: CsvLine
    lines: tuple[CsvLine, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return self.header.cells


def read_sheet(text: str, file: str) -> CsvSheet:
    """The lines of the CSV ``text``, as ``read_lines`` reads them.

    Raises BadInput for an empty file, no rows, a repeated column name, and a row with more or fewer cells
    than the header.
    """
    header, *rows = tuple(read_lines(text, file)) or (None,)
    if header is None:
        raise BadInput("the file is empty", where=Place(file), hint="write a header line and rows into it")
    names = header.cells
    for index, name in enumerate(names):
        if name in names[:index]:
            what = f"the column {shown(name)} appears twice in the header"
            raise BadInput(what, where=header.place(index), hint="remove or rename one of them")
    if not rows:
        raise BadInput("the table has no rows", where=Place(file), hint="write a row below the header")
    for row in rows:
        if len(row.cells) != len(names):
            what = f"the row has {len(row.cells)} cells, the header {len(names)}"
            where = row.place(min(len(names), len(row.cells) - 1))
            raise BadInput(what, where=where, hint="write one cell for each column")
    return CsvSheet(header, tuple(rows))


def recognise(sheet: CsvSheet, kinds: Mapping[str, TableKind]) -> tuple[TableKind, ...]:
    """The kinds whose columns the table has, of these the ones that need most columns; several where only the
    rows can tell. Raises BadInput for unknown columns, listing all known kinds, and for no measured
    column."""
    names = set(sheet.names)
    close = [kind for kind in kinds.values() if names.issuperset(kind.needed)]
    if whole := [kind for kind in close if kind.measured in names]:
        most = max(len(kind.needed) for kind in whole)
        return tuple(kind for kind in whole if len(kind.needed) == most)
    where = Place(sheet.header.file, sheet.header.number, 1)
    if close:
        kind = max(close, key=lambda kind: len(kind.needed))
        what = f"a table of {kind.name} without the measured column '{kind.measured}'"
        raise BadInput(what, where=where, hint=f"add the column '{kind.measured}'")
    listed = "; ".join(f"{kind.name}: {','.join(kind.known)}" for kind in kinds.values())
    what = f"no kind of table has the columns {shown(','.join(sheet.names))}"
    raise BadInput(what, where=where, hint=f"{_nearest(names, kinds)}known kinds and columns are {listed}")


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
        what = f"--kind {shown(name)} is not a kind of table"
        raise BadInput(what, hint=suggest(name, kinds, "kinds are"))
    kind = kinds[name]
    if missing := [column for column in (*kind.needed, kind.measured) if column not in sheet.names]:
        what = f"as {name} the table has no column {', '.join(missing)}"
        raise BadInput(
            what,
            where=Place(sheet.header.file, sheet.header.number, 1),
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
    for line in sheet.lines:
        read: dict[str, Fraction | str] = {}
        for index, (name, text) in enumerate(zip(sheet.names, line.cells, strict=True)):
            if name in columns and (text or not columns[name].optional):
                read[name] = _value(columns[name], text, line, index)
        row = MeasuredRow(line, sheet.names, read)
        if not row.number(kind.measured):
            what = f"{kind.measured} is 0, so the relative error is not defined"
            raise BadInput(what, where=row.place(kind.measured), hint="write the measured value")
        rows.append(row)
    return tuple(rows)


def _value(column: TableColumn, text: str, line: CsvLine, index: int) -> Fraction | str:
    def refuse(what: str, hint: str) -> NoReturn:
        raise BadInput(f"{column.name} {what}", where=line.place(index), hint=hint)

    if not text:
        refuse("is empty", "write a value for every column")
    if column.form == "text":
        return text
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        refuse(f"{shown(text)} is not a number", "write digits only")
    value = Fraction(text)
    if column.form == "whole" and value.denominator != 1:
        refuse(f"{text} is not a whole number", "write a number without a fraction")
    if not column.least <= value <= column.most:
        limits = f"{_plain(column.least)} to {_plain(column.most)}"
        refuse(f"{text} is out of range", f"write a number of {limits}")
    return value


def _plain(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{float(value):g}"
