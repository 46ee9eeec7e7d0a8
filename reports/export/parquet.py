"""Tables as Parquet, with the same bytes for the same rows."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Literal

from chipmodel.errors import BadInput

Kind = Literal["int64", "float64", "string"]


def parquet_bytes(columns: Mapping[str, Kind], rows: Sequence[Sequence[object]]) -> bytes:
    """A Parquet file in row groups of a million, compressed by Snappy. Raises BadInput without pyarrow."""
    arrow, parquet = pyarrow()
    fields = [arrow.field(name, getattr(arrow, kind)()) for name, kind in columns.items()]
    cells = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
    arrays = [arrow.array(values, field.type) for values, field in zip(cells, fields, strict=True)]
    buffer = io.BytesIO()
    parquet.write_table(arrow.table(arrays, schema=arrow.schema(fields)), buffer)
    return buffer.getvalue()


def pyarrow() -> tuple[Any, Any]:
    """The modules pyarrow and pyarrow.parquet. Raises BadInput where they are missing."""
    try:
        arrow: Any = import_module("pyarrow")
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError:
        hint = "install chipmodel[parquet], or write CSV"
        raise BadInput("Parquet needs pyarrow, which is not installed", hint=hint) from None
    return arrow, parquet
