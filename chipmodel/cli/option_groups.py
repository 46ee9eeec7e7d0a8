"""Groups of options, each of which arrives in a command as one frozen value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Any

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]


def all_of(*options: Decorator) -> Decorator:
    """Options (or arguments) of a command, in the order in which ``--help`` lists them."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def group(keyword: str, kind: type[Any], *options: Decorator) -> Decorator:
    """The ``options`` of a command, given to it as one value: ``kind``, a dataclass with a field for each, is
    passed as ``keyword``."""
    names = [field.name for field in fields(kind)]

    def decorate(command: Command) -> Command:
        @wraps(command)
        def grouped(**values: Any) -> Any:
            values[keyword] = kind(**{name: values.pop(name) for name in names})
            return command(**values)

        return all_of(*options)(grouped)

    return decorate
