"""Values as keys of caches, compared by identity."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Same(Generic[T]):
    """A key that equals another one with the very same ``value``, which need not be hashable.

    >>> chip = {"bytes": 1024}
    >>> Same(chip) == Same(chip), Same(chip) == Same(dict(chip))
    (True, False)
    """

    def __init__(self, value: T) -> None:
        self.value = value
        self.number = id(value)

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.number == other.number
