"""Rows of a study as columns of a database table, and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from chipmodel.model.study_row import Improved, Point, Row

_TYPES = {"seed": "INTEGER", "time_limit": "REAL", "node_limit": "INTEGER", "seconds": "REAL"}
_POINT = tuple(field.name for field in fields(Point))
_ANSWER = tuple(field.name for field in fields(Row) if field.name not in ("point", "key"))


def _type(name: str) -> str:
    return _TYPES.get(name, "INTEGER" if name.endswith(("_bytes", "_cycles")) else "TEXT")


COLUMNS = ", ".join(
    [
        "key TEXT PRIMARY KEY",
        *(f"{name} {_type(name)}" for name in _POINT),
        *(f"{name} {'REAL' if name == 'milliseconds' else _type(name)}" for name in _ANSWER),
    ]
)
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
    """The inverse of ``record_of``."""
    values = dict(zip(("key", *_POINT, *_ANSWER), record, strict=True))
    values["overrides"] = tuple((name, value) for name, value in json.loads(values["overrides"]))
    values["trajectory"] = tuple(Improved(*step) for step in json.loads(values["trajectory"]))
    point = Point(**{name: values.pop(name) for name in _POINT})
    return Row(point=point, **values)
