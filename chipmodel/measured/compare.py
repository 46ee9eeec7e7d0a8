"""The model compared with a table of measurements: a prediction and an error for every row, and a summary.

There is no pass or fail: errors are listed, however large they are. They are exact rationals until the
document is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from chipmodel.errors import BadInput, placed
from chipmodel.files.csv_table import read_csv
from chipmodel.files.document import document as as_document
from chipmodel.files.suggestions import shown
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.measured.kinds import KINDS
from chipmodel.measured.table import MeasuredRow, TableKind, as_kind, recognise, rows_of
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class MeasuredTable:
    """A table that has been read. It has several ``kinds`` where only the errors can tell which one it is."""

    file: str
    kinds: tuple[TableKind, ...]
    rows: tuple[MeasuredRow, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """A row with the model's prediction for each measured column of its kind."""

    row: MeasuredRow
    measured: Fraction
    predicted: Fraction
    answers: Mapping[str, Fraction]

    @property
    def error(self) -> Fraction:
        """Predicted less measured."""
        return self.predicted - self.measured

    @property
    def relative(self) -> Fraction:
        """The error as a share of what was measured."""
        return self.error / self.measured


@dataclass(frozen=True, slots=True)
class TableComparison:
    """A whole table compared with the model of ``chip``."""

    file: str
    kind: TableKind
    chip: str
    rows: tuple[ComparedRow, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ErrorSummary:
    """Sizes of the errors of some rows, without signs; None where there are no rows."""

    rows: int
    exact: int
    max_abs_error: Fraction | None
    max_relative_error: Fraction | None
    mean_relative_error: Fraction | None


def read_table(
    text: str, file: str, kind: str | None = None, kinds: Mapping[str, TableKind] = KINDS
) -> MeasuredTable:
    """The table in the CSV ``text``, of ``kind`` or the one of ``kinds`` recognised by its columns.

    Raises BadInput with the place of the first fault.
    """
    table = read_csv(text, file)
    recognised = (as_kind(table, kind, kinds),) if kind else recognise(table, kinds)
    rows = rows_of(table, recognised[0])
    notes = [f"column {shown(name)} is not used" for name in table.at if name not in recognised[0].known]
    if len(recognised) > 1 and any(row.whole("in_c") != row.whole("out_c") for row in rows):
        recognised = (KINDS["luna_conv2d"],)
        notes.append("read as luna_conv2d: in_c and out_c differ in some rows")
    return MeasuredTable(file, recognised, rows, tuple(notes))


def chip_for(table: MeasuredTable, name: str | None = None, overrides: Sequence[str] = ()) -> Chip:
    """The chip that ``table`` is compared with: the one called ``name``, or its kind's default. Raises
    BadInput for a chip with another DMA model than the table's."""
    kind = table.kinds[0]
    chip = load_chip(name or kind.chip, overrides)
    model = chip.figures["dma.model"].value
    if kind.dma_model not in (None, model):
        what = f"a table of {kind.name} is compared with {kind.chip}, not with --chip {shown(chip.name)}"
        hint = f"leave --chip out, or name a chip with dma.model = {kind.dma_model}; its own is {model}"
        raise BadInput(what, hint=hint)
    return chip


def compare(table: MeasuredTable, chip: Chip) -> TableComparison:
    """Every row of ``table`` predicted for ``chip``, the result of ``chip_for``.

    Columns that the table does not have are numbers of the chip. Of several kinds, the one with the smaller
    sum of errors is used, the first if they are equal. Raises BadInput for an impossible row.
    """
    tried = [(kind, tuple(_compared(kind, chip, row) for row in table.rows)) for kind in table.kinds]
    sums = [sum(abs(row.error) for row in rows) for _, rows in tried]
    best = sums.index(min(sums))
    kind, rows = tried[best]
    notes = (*table.notes, *_unused(table, kind, chip))
    if len(tried) > 1:
        errors = ", ".join(f"{number(s):,} as {k.name}" for s, (k, _) in zip(sums, tried, strict=True))
        notes = (*notes, f"read as {kind.name}, which has the smaller sum of errors: {errors}")
    return TableComparison(table.file, kind, chip.name, rows, notes)


def _unused(table: MeasuredTable, kind: TableKind, chip: Chip) -> Iterator[str]:
    """Notes on the user's own numbers of the chip that a column of the table replaces."""
    for column in kind.inputs:
        figure = chip.figures.get(column.field or "")
        if figure and figure.mark == "given" and any(column.name in row.cells for row in table.rows):
            yield f"{column.field} = {figure.value} is not used: the table has the column {column.name}"


def _compared(kind: TableKind, chip: Chip, row: MeasuredRow) -> ComparedRow:
    row = _filled(kind, chip, row)
    with placed(row.place()):
        answers = kind.predict(chip, row)
    return ComparedRow(row, row.number(kind.measured), answers[kind.measured], answers)


def _filled(kind: TableKind, chip: Chip, row: MeasuredRow) -> MeasuredRow:
    """The row, with the chip's numbers in the columns that it does not have."""
    fields = {column.name: column.field for column in kind.inputs if column.field}
    numbers = {name: Fraction(chip.figures[field].value) for name, field in fields.items()}
    return replace(row, cells={**numbers, **row.cells})


def summary(rows: Iterable[ComparedRow]) -> ErrorSummary:
    """Summarise the sizes of the errors of ``rows``."""
    pairs = [(abs(row.error), abs(row.relative)) for row in rows]
    if not pairs:
        return ErrorSummary(0, 0, None, None, None)
    errors, shares = [error for error, _ in pairs], [share for _, share in pairs]
    # A mean of floats: the exact one has thousands of digits because of its many denominators.
    mean = Fraction(sum(map(float, shares)) / len(shares))
    return ErrorSummary(len(pairs), errors.count(Fraction(0)), max(errors), max(shares), mean)


def parts(comparison: TableComparison) -> dict[str, ErrorSummary]:
    """The summaries of the row groups that a table's kind lists separately, such as transfers below 1 KiB."""
    summaries = {
        name: summary(row for row in comparison.rows if belongs(row.row))
        for name, belongs in (comparison.kind.parts or {}).items()
    }
    group = comparison.kind.group
    texts = dict.fromkeys(row.row.text(group) for row in comparison.rows if group in row.row.cells)
    for text in texts:
        summaries[text] = summary(
            row for row in comparison.rows if group in row.row.cells and row.row.text(group) == text
        )
    return summaries


def document(comparison: TableComparison) -> dict[str, Any]:
    """The comparison as data for JSON; numbers are integers where they are whole."""
    kind = comparison.kind
    whole = _listed(summary(comparison.rows))
    return {
        "table": Path(comparison.file).name,
        "kind": kind.name,
        "chip": comparison.chip,
        "measured_column": kind.measured,
        "notes": list(comparison.notes),
        "rows": [_row(kind, row) for row in comparison.rows],
        "summary": whole | {name: _listed(part) for name, part in parts(comparison).items()},
    }


def _row(kind: TableKind, compared: ComparedRow) -> dict[str, Any]:
    row = compared.row
    described = [c.name for c in kind.columns if not c.optional or c.name in row.cells]
    given = described + [name for name in kind.others if name in row.cells]
    return {
        "line": row.row.line.number,
        **{name: _plain(row.cells[name]) for name in given},
        "measured": number(compared.measured),
        "predicted": number(compared.predicted),
        "error": number(compared.error),
        "relative_error": float(compared.relative),
        **{f"predicted_{name}": number(compared.answers[name]) for name in kind.others},
    }


def _listed(part: ErrorSummary) -> dict[str, int | float | None]:
    largest = {} if part.max_abs_error is None else {"max_abs_error": number(part.max_abs_error)}
    return as_document(part) | largest


def _plain(value: Fraction | int | str) -> int | float | str:
    return value if isinstance(value, str) else number(value)


def number(value: Fraction | int) -> int | float:
    """``value`` as an int where it is whole, otherwise as the nearest float."""
    return int(value) if value == int(value) else float(value)
