"""The values of a chip file's fields, and dataclasses whose fields are called as those."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any, TypeVar

Values = Mapping[str, Any]
"""The values of a chip file by dotted paths: exact numbers, and the words of choices."""
UNITS = ("", "_bytes", "_cycles")
"""What a path may end with besides the name of a dataclass's field."""
TRUE = ("yes", "true")
Kind = TypeVar("Kind")


def read_as(kind: type[Kind], path: str, values: Values, **given: Any) -> Kind:
    """Return a dataclass ``kind``: its fields are ``given``, or else what ``values`` have below ``path`` by
    the same name; what neither has keeps its default."""
    for field in fields(kind):  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        paths = (f"{path}.{field.name}{unit}" for unit in UNITS)
        present = next((at for at in paths if at in values and field.name not in given), None)
        if present is not None:
            given[field.name] = _typed(str(field.type), values[present])
    return kind(**given)


def _typed(kind: str, value: Fraction | str) -> object:
    return int(value) if kind == "int" else value in TRUE if kind == "bool" else value
