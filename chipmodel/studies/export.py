"""A study's rows as a table: CSV or Parquet, the same bytes for the same rows.

Columns: ``workload, chip``, one for each field under ``set`` and for each of the study's ``columns``,
``packer, merge, streamer, cascade, buffers, seed, time_limit, node_limit, status``, bytes, cycles,
``milliseconds``, ``microjoules``, the gaps to the bounds that all rows of a question share, ``problem`` (rows
in which it is the same packed the same buffers), ``error``, digests, ``key`` and, unless left out, seconds of
each stage, when and where.
Rows are sorted by what was asked; what is not known is an empty cell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from chipmodel.answers.study_columns import cell_of, columns_of
from chipmodel.answers.study_row import Point, Row
from chipmodel.errors import BadInput
from chipmodel.files.csv_table import Cell, csv_text
from chipmodel.files.sizes import parse_bytes
from chipmodel.files.suggestions import shown
from chipmodel.studies.columns import type_of
from reports.export import parquet


def table_of(rows: Sequence[Row], times: bool = True) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
    """The columns, and the rows in order."""
    columns = columns_of(rows, times)
    ordered = sorted(rows, key=lambda row: _order(row.point))
    return columns, [tuple(cell_of(row, name) for name in columns) for row in ordered]


def writer_of(path: Path) -> Callable[[Sequence[Row], bool], bytes]:
    """What makes a table for a file of that name. Raises BadInput for others and a missing library."""
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return csv_bytes
    if suffix == ".parquet":
        parquet.pyarrow()
        return parquet_bytes
    raise BadInput(f"{shown(path.name)} is not a table", hint="name it FILE.csv or FILE.parquet")


def csv_bytes(rows: Sequence[Row], times: bool = True) -> bytes:
    """UTF-8; numbers so that they are read back exactly."""
    return csv_text(*table_of(rows, times)).encode()


def parquet_bytes(rows: Sequence[Row], times: bool = True) -> bytes:
    """The table by ``reports.export.parquet``; integers are 64 bits wide."""
    columns, lines = table_of(rows, times)
    numbers: dict[str, parquet.Kind] = {name: "float64" for row in rows for name, _ in row.costs}
    numbers |= {name: "float64" for name in columns if name.endswith("_gap")}
    known: dict[type, parquet.Kind] = {int: "int64", float: "float64", str: "string"}
    kinds: dict[str, parquet.Kind] = {name: numbers.get(name) or known[type_of(name)] for name in columns}
    return parquet.parquet_bytes(kinds, lines)


def _order(point: Point) -> tuple[Any, ...]:
    """The order of rows: by what was asked, sizes and other numbers by their value."""
    overrides = tuple((field, _size(value), value) for field, value in point.overrides)
    limits = point.time_limit or 0.0, point.node_limit or 0
    planners = point.packer, point.merge, point.streamer, point.cascade
    return (point.workload, point.chip, overrides, *planners, point.seed, limits)


def _size(text: str) -> float:
    try:
        return float(parse_bytes(text))
    except BadInput:
        try:
            return float(text)
        except ValueError:
            return -1.0
