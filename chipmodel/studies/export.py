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

from chipmodel.answers.study_row import Point, Row
from chipmodel.errors import BadInput
from chipmodel.files.csv_table import Cell, csv_text
from chipmodel.files.sizes import parse_bytes
from chipmodel.files.suggestions import shown
from chipmodel.studies.columns import type_of
from reports.export import parquet

_ASKED = ("packer", "merge", "streamer", "cascade", "buffers", "seed", "time_limit", "node_limit")
_ANSWERED = (
    *("status", "peak_bytes", "peak_lower_bound_bytes", "merger_lower_bound_bytes", "capacity_bytes"),
    *("psram_bytes", "psram_capacity_bytes", "total_cycles", "lower_bound_cycles", "bound_space"),
    *("sync_cycles", "npu_busy_cycles", "dma_busy_cycles", "milliseconds", "microjoules"),
    *("peak_gap", "merger_gap", "packer_gap", "cycle_gap", "problem"),
)
_STAGES = ("seconds", "schedule_seconds", "packer_seconds", "bound_seconds", "simulation_seconds")
_IDENTITY = ("error", "workload_digest", "chip_digest", "key")
TIMES = (*_STAGES, "code", "origin", "answered")
"""What differs from run to run."""


def columns_of(rows: Sequence[Row], times: bool = True) -> tuple[str, ...]:
    """The names of the columns; with ``times``, those that differ from run to run as well."""
    swept = sorted({field for row in rows for field, _ in row.point.overrides})
    own = dict.fromkeys(name for row in rows for name, _ in row.costs)
    return ("workload", "chip", *swept, *own, *_ASKED, *_ANSWERED, *_IDENTITY, *(TIMES if times else ()))


def table_of(rows: Sequence[Row], times: bool = True) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
    """The columns, and the rows in order."""
    columns = columns_of(rows, times)
    ordered = sorted(rows, key=lambda row: _order(row.point))
    return columns, [tuple(_value(row, name) for name in columns) for row in ordered]


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


def _value(row: Row, name: str) -> Cell:
    if name in ("workload", "chip", *_ASKED):
        return _told(getattr(row.point, name))
    if name == "error":
        return _told(row.error.partition("\nTraceback")[0])
    if name in (*_ANSWERED, *_IDENTITY, *TIMES):
        return _told(getattr(row, name))
    own: dict[str, Cell] = {**dict(row.point.overrides), **dict(row.costs)}
    return own.get(name)


def _told(value: Cell) -> Cell:
    """Nothing for an empty text, as in a CSV the two are one."""
    return None if value == "" else value
