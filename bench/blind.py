"""Predictions for measured rows that nobody had seen: their errors, and whether their intervals held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean

from bench.boards import load_board
from bench.predicted_rows import NamedRow, Prediction, named, predicted
from chipmodel.errors import BadInput, ChipmodelError
from chipmodel.files.csv_lines import CsvLine, read_lines
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.measured_networks import BlindRow

UNITS = {"s": Fraction(1000), "ms": Fraction(1), "us": Fraction(1, 1000)}
MEASURED = ("measured", "latency_ms", "milliseconds")
"""Columns that have the measured time, in the unit of the column ``unit`` or in milliseconds."""


@dataclass(frozen=True, slots=True)
class TriedRow:
    """A row with its prediction, or why there is none."""

    row: NamedRow
    measured: float
    found: Prediction | None
    refused: str = ""

    @property
    def record(self) -> BlindRow | None:
        """What a chip file keeps of it, without its date."""
        found = self.found
        if found is None:
            return None
        low, high = found.interval or (0.0, 0.0)
        return BlindRow("", found.workload, found.kind, self.measured, found.milliseconds, low, high)


def tried(text: str, file: str) -> Iterator[TriedRow]:
    """The rows of the CSV ``text``, which has ``chip`` or ``board``, ``network``, and a measured time. Raises
    BadInput for a table without these columns, and for a time that is none."""
    header, *lines = tuple(read_lines(text, file)) or (CsvLine(file, 1, "", ()),)
    for line in lines:
        row = named(line, header.cells)
        time = _measured(row)
        try:
            yield TriedRow(row, time, predicted(row))
        except ChipmodelError as error:
            yield TriedRow(row, time, None, f"{error.where}: {error.what}")


def _measured(row: NamedRow) -> float:
    with row.at(MEASURED):
        text, unit = row.first(MEASURED), row["unit"] or "ms"
        try:
            time = float(text) * float(UNITS[unit])
        except (KeyError, ValueError):
            time = 0.0
        if not 0 < time < float("inf"):
            raise BadInput(f"'{text} {unit}' is no measured time", hint="write milliseconds as 'measured'")
        return time


def lines(rows: Iterable[TriedRow]) -> Iterator[str]:
    """A table of the rows, and the errors of each class of each preset."""
    yield "| preset | network | class | measured ms | predicted ms | error | interval | inside |"
    yield "| --- | --- | --- | ---: | ---: | ---: | --- | --- |"
    found: dict[str, list[BlindRow]] = {}
    for row in rows:
        record = row.record
        if record is None or row.found is None:
            yield f"| | {row.row.first(('network', 'workload'))} | {row.refused} | {row.measured:g} | | | | |"
            continue
        interval = f"{record.low:.4g} to {record.high:.4g}" if record.high else "not known"
        held = {True: "yes", False: "no", None: ""}[record.inside]
        times = f"{record.measured:g} | {record.predicted:.2f} | {_error(record):+.1%}"
        yield f"| {row.found.preset} | {record.workload} | {record.kind} | {times} | {interval} | {held} |"
        found.setdefault(f"`{row.found.preset}`: {record.kind or 'not measured'}", []).append(record)
    yield ""
    yield from (f"{name}: {words(each)}" for name, each in found.items())
    every = [record for each in found.values() for record in each]
    if every:
        yield f"all: {words(every)}"


def _error(row: BlindRow) -> float:
    return row.predicted / row.measured - 1


def words(rows: Sequence[BlindRow]) -> str:
    """The mean error of blind rows, and how many intervals held."""
    inside = [row.inside for row in rows if row.inside is not None]
    held = f"{sum(inside)} of {len(inside)} inside" if inside else "no interval"
    error = fmean(abs(_error(row)) for row in rows)
    return f"{len(rows)} row{'s' if rows[1:] else ''}, mean error {error:.1%}, {held}"


def newest(chip: Chip) -> str:
    """The newest blind result of a chip, empty for none."""
    if not chip.blind:
        return ""
    last = chip.blind[-1].date
    return f"{last}: {words([row for row in chip.blind if row.date == last])}"


def recorded(rows: Iterable[TriedRow], date: str) -> dict[str, list[BlindRow]]:
    """The blind rows of each preset with those of ``date`` added."""
    found: dict[str, list[BlindRow]] = {}
    for row in rows:
        if row.found is not None and (record := row.record) is not None:
            preset = row.found.preset
            kept = found.setdefault(preset, list(load_board(preset).blind))
            times = record.measured, record.predicted, record.low, record.high
            kept.append(BlindRow(date, record.workload, record.kind, *times))
    return found
