"""Rows of a study as columns of a database table, and back, checked value by value."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Annotated, Any, TypeAlias, get_type_hints

from pydantic import BaseModel, Field, Json, ValidationError, create_model

from chipmodel.answers.study_row import Improved, Point, Row
from chipmodel.errors import BadInput
from chipmodel.files.strict_model import StrictModel
from chipmodel.files.suggestions import shown

MAX_STORED = (1 << 63) - 1
"""The largest integer of a database."""

Count = Annotated[int, Field(ge=0, le=MAX_STORED)]
Time = Annotated[float, Field(ge=0, allow_inf_nan=False)]
MaybeCount: TypeAlias = Count | None
MaybeTime: TypeAlias = Time | None
Key = Annotated[str, Field(min_length=1)]
_STORED: dict[Any, Any] = {int: Count, int | None: MaybeCount, float: Time, float | None: MaybeTime}
_SPECIAL: dict[str, Any] = {
    "key": Key,
    "overrides": Json[tuple[tuple[str, str], ...]],
    "trajectory": Json[tuple[tuple[Time, MaybeCount, Count], ...]],
}


def _column(name: str, kind: Any) -> Any:
    """The type of a column for a field of a point or row."""
    return _SPECIAL.get(name) or _STORED.get(kind, kind), ...


_FIELDS = {**get_type_hints(Point), **get_type_hints(Row)}
StoredRow: type[BaseModel] = create_model(
    "StoredRow",
    __base__=StrictModel,
    **{name: _column(name, kind) for name, kind in _FIELDS.items() if name not in ("point", "costs")},
)
"""A point and its answer."""


_POINT = tuple(field.name for field in fields(Point))
_ANSWER = tuple(field.name for field in fields(Row) if field.name not in ("point", "key", "costs"))
NAMES = ("key", *_POINT, *_ANSWER)


def type_of(name: str) -> type[str] | type[int] | type[float]:
    """The type of a column, whose cells may be empty; JSON is a text."""
    for kind in (int, float):
        if _FIELDS.get(name) in (kind, kind | None):
            return kind
    return str


_SQL: dict[type, str] = {int: "INTEGER", float: "REAL", str: "TEXT"}
COLUMNS = ", ".join(f"{name} {_SQL[type_of(name)]}{' NOT NULL' * (name == 'key')}" for name in NAMES)
"""For CREATE TABLE. ``overrides`` and ``trajectory`` are JSON."""


def record_of(row: Row) -> tuple[Any, ...]:
    """The values of ``COLUMNS``."""
    point = [getattr(row.point, name) for name in _POINT]
    point[_POINT.index("overrides")] = json.dumps(row.point.overrides)
    answer = [getattr(row, name) for name in _ANSWER]
    steps = [(each.seconds, each.peak_bytes, each.lower_bound_bytes) for each in row.trajectory]
    answer[_ANSWER.index("trajectory")] = json.dumps(steps)
    return (row.key, *point, *answer)


def row_of(record: Sequence[Any]) -> Row:
    """The inverse of ``record_of``. Raises BadInput, with row and column, for a value that no study of
    chipmodel stores."""
    values: dict[str, Any] = dict(zip(NAMES, record, strict=True))
    try:
        stored = StoredRow.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        column, *inner = map(str, first["loc"])
        path = "".join(f"[{step}]" for step in inner)
        said = first["msg"][:1].lower() + first["msg"][1:]
        what = f"row {shown(values['key'])}: {column}{path} is {shown(first['input'])}: {said}"
        raise BadInput(what) from None
    values = dict(vars(stored))
    values["trajectory"] = tuple(Improved(*step) for step in values["trajectory"])
    point = Point(**{name: values.pop(name) for name in _POINT})
    return Row(point, **values)
