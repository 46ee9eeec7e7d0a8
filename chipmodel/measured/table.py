"""Tables of measurements, and the kinds of tables.

A kind lists the columns that describe a row, the one that was measured, and further measured columns that a
table may have. ``chipmodel.measured.kinds`` holds the known kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from chipmodel.errors import BadInput, Place
from chipmodel.files.csv_table import CsvColumn, CsvRow, CsvTable
from chipmodel.files.suggestions import shown, suggest
from chipmodel.hardware.chip import Chip
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class TableColumn(CsvColumn):
    """A column of a table. The limits exclude what no hardware of this kind has. A column with a ``field``
    may be missing: that number of the chip is used then."""

    field: str | None = None


@dataclass(frozen=True, slots=True)
class MeasuredRow:
    """One row of a table, and the values by column. Values of columns that the table does not have are
    numbers of the chip."""

    row: CsvRow
    cells: Mapping[str, Fraction | int | str]

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
        return self.row.place(name)


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


def recognise(table: CsvTable, kinds: Mapping[str, TableKind]) -> tuple[TableKind, ...]:
    """The kinds whose columns the table has, of these the ones that need most columns; several where only the
    rows can tell. Raises BadInput for unknown columns, listing all known kinds, and for no measured
    column."""
    names = set(table.at)
    close = [kind for kind in kinds.values() if names.issuperset(kind.needed)]
    if whole := [kind for kind in close if kind.measured in names]:
        most = max(len(kind.needed) for kind in whole)
        return tuple(kind for kind in whole if len(kind.needed) == most)
    where = table.place()
    if close:
        kind = max(close, key=lambda kind: len(kind.needed))
        what = f"a table of {kind.name} without the measured column '{kind.measured}'"
        raise BadInput(what, where=where, hint=f"add the column '{kind.measured}'")
    listed = "; ".join(f"{kind.name}: {','.join(kind.known)}" for kind in kinds.values())
    what = f"no kind of table has the columns {shown(','.join(table.at))}"
    raise BadInput(what, where=where, hint=f"{_nearest(names, kinds)}known kinds and columns are {listed}")


def _nearest(names: set[str], kinds: Mapping[str, TableKind]) -> str:
    def missing(kind: TableKind) -> list[str]:
        return [name for name in (*kind.needed, kind.measured) if name not in names]

    near = min(kinds.values(), key=lambda kind: len(missing(kind)) / (len(kind.needed) + 1))
    if len(missing(near)) > len(near.needed) / 2:
        return ""
    return f"as {near.name} it lacks {', '.join(missing(near))}; "


def as_kind(table: CsvTable, name: str, kinds: Mapping[str, TableKind]) -> TableKind:
    """The kind called ``name``. Raises BadInput if there is none, or the table lacks its columns."""
    if name not in kinds:
        what = f"--kind {shown(name)} is not a kind of table"
        raise BadInput(what, hint=suggest(name, kinds, "kinds are"))
    kind = kinds[name]
    if missing := [column for column in (*kind.needed, kind.measured) if column not in table.at]:
        what = f"as {name} the table has no column {', '.join(missing)}"
        raise BadInput(what, where=table.place(), hint="add it, or choose another --kind")
    return kind


def rows_of(table: CsvTable, kind: TableKind) -> tuple[MeasuredRow, ...]:
    """The rows as ``kind`` reads them, in file order. Raises BadInput at the first bad cell."""
    measured = TableColumn(kind.measured, "decimal", Fraction(0))
    others = (TableColumn(name, "decimal", Fraction(0)) for name in kind.others)
    columns = [each for each in (*kind.columns, measured, *others) if each.name in table.at]
    rows: list[MeasuredRow] = []
    for line in table.rows:
        values = ((column.name, line.value(column)) for column in columns)
        row = MeasuredRow(line, {name: value for name, value in values if value is not None})
        if not row.number(kind.measured):
            what = f"{kind.measured} is 0, so the relative error is not defined"
            line.refuse(kind.measured, what, "write the measured value")
        rows.append(row)
    if not rows:
        raise BadInput("the table has no rows", where=table.place(), hint="write a row below the header")
    return tuple(rows)
