"""The keys that a pydantic model allows at a location in its document, through unions and their tags."""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, RootModel, Tag
from pydantic.fields import FieldInfo

Loc = tuple[int | str, ...]


def keys_at(model: type[BaseModel], loc: Loc) -> list[str]:
    """The keys of the model, or of all models of a union, at pydantic's location ``loc``."""
    here = list(_members(model))
    for step in loc:
        here = _after(here, step)
    return [key for _, kind in here if _is_model(kind) for key in _fields(kind)]


Member = tuple[str | None, Any]
"""A member of a union: its tag, where a callable discriminator chooses among them, and its type."""


def _members(kind: Any, tag: str | None = None) -> Iterator[Member]:
    """The types that ``kind`` stands for: every member of a union, the target of an alias."""
    origin = get_origin(kind)
    if origin is Annotated:
        tags = [m.tag for m in kind.__metadata__ if isinstance(m, Tag)]
        yield from _members(get_args(kind)[0], tags[0] if tags else tag)
    elif origin is Union or origin is UnionType:
        for member in get_args(kind):
            yield from _members(member, tag)
    elif hasattr(kind, "__value__"):
        yield from _members(kind.__value__, tag)
    elif _is_model(kind) and issubclass(kind, RootModel):
        yield from _members(kind.model_fields["root"].annotation, tag)
    elif kind is not NoneType and kind is not None:
        yield (tag, kind)


def _after(members: list[Member], step: int | str) -> list[Member]:
    """The types at the next element of a location; a union's tag only selects among its members."""
    if len(members) > 1 and isinstance(step, str):
        chosen = [m for m in members if _has_tag(m, step)]
        if chosen:
            return chosen
    inner = [m for _, kind in members for m in _inner(kind, step)]
    return inner or members


def _inner(kind: Any, step: int | str) -> Iterator[Member]:
    arguments = get_args(kind)
    if _is_model(kind):
        field = _fields(kind).get(str(step))
        if field is not None:
            yield from _members(field.annotation)
    elif isinstance(step, int) and arguments:
        fixed = get_origin(kind) is tuple and Ellipsis not in arguments
        yield from _members(arguments[step] if fixed and step < len(arguments) else arguments[0])
    elif isinstance(step, str) and len(arguments) == 2:
        yield from _members(arguments[1])


def _has_tag(member: Member, step: str) -> bool:
    tag, kind = member
    if not _is_model(kind):
        return tag == step
    literals = [f.annotation for f in kind.model_fields.values() if get_origin(f.annotation) is Literal]
    return step in (tag, kind.__name__) or any(step in get_args(literal) for literal in literals)


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The model's fields by the key that a file writes."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
