"""The values of a chip file's fields, and dataclasses whose fields are called as those."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any, TypeVar

Values = Mapping[str, Any]
"""The values of a chip file by dotted paths: exact numbers, and the words of choices."""
UNITS = ("", "_bytes", "_cycles", "_banks")
"""What a path may end with besides the name of a dataclass's field."""
TRUE = ("yes", "true")
Kind = TypeVar("Kind")


def read_as(kind: type[Kind], path: str, values: Values, **given: Any) -> Kind:
    """Return a dataclass ``kind``: its fields are ``given``, or else what ``values`` have below ``path`` by
    the same name, with underscores between the keys of a group and those in it; what is in neither keeps its
    default."""
    inside = {at[len(path) + 1 :].replace(".", "_"): at for at in values if at.startswith(f"{path}.")}
    for field in fields(kind):  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        names = (f"{field.name}{unit}" for unit in UNITS)
        present = next((inside[name] for name in names if name in inside and field.name not in given), None)
        if present is not None:
            given[field.name] = _typed(str(field.type), values[present])
    return kind(**given)


def _typed(kind: str, value: Fraction | str) -> object:
    return int(value) if kind == "int" else value in TRUE if kind == "bool" else value
