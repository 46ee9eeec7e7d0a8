"""Values that must be there, or of a type, which the type checker then knows."""

from typing import TypeVar

T = TypeVar("T")


def some(value: T | None) -> T:
    assert value is not None
    return value


def of_kind(kind: type[T], value: object) -> T:
    assert isinstance(value, kind)
    return value
