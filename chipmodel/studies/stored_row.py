"""The row of a study's store as a pydantic model: types and ranges of what a database may hold."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, Json, create_model

from chipmodel.answers.study_row import Point, Row
from chipmodel.files.strict_model import StrictModel

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


class StoredOwner(BaseModel):
    """A process that works on the study."""

    model_config = ConfigDict(strict=True, frozen=True)

    id: int
    host: str
    pid: Annotated[int, Field(ge=1, lt=1 << 31)]
    started: str
    beat: Time
