"""What a message calls that which a caller gave: options on the command line, parameters in Python.

A message that is about a parameter is made with the functions below, by the parameter's name in Python. They
answer with words of options, unless a function of the library was called from Python (``words_of_python``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Literal, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

Words = Literal["options", "parameters"]
OTHER_OPTIONS = {
    "inferences": "--steady-state",
    "iterations": "--iterations",
    "memories": "--memory",
    "points": "--point",
    "probabilities": "--probability",
    "shapes": "--shape",
    "states": "--state",
    "to": "--as",
}
"""Parameters whose option has another name; all others have the same, with hyphens."""
SWITCHES = {
    "execute": ("--execute", "execute=True"),
    "retry_failed": ("--retry-failed", "retry_failed=True"),
    "spill": ("--no-spill", "spill=False"),
    "strict": ("--strict", "strict=True"),
}
"""Options without a value, by parameter."""

_NUMBERS = re.compile(r"(N|[0-9.]+)(,(N|[0-9.]+))*")
_WORDS: ContextVar[Words | None] = ContextVar("words", default=None)


@contextmanager
def words_of(words: Words) -> Generator[None]:
    """Messages that are made in the body speak of options, or of parameters."""
    token = _WORDS.set(words)
    try:
        yield
    finally:
        _WORDS.reset(token)


def words_in_use() -> Words:
    """What messages speak of that are made here."""
    return _WORDS.get() or "options"


def words_of_python(function: Callable[P, R]) -> Callable[P, R]:
    """``function``, whose messages speak of parameters, unless the command line called it."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if _WORDS.get():
            return function(*args, **kwargs)
        with words_of("parameters"):
            return function(*args, **kwargs)

    return call


def option_of(name: str) -> str:
    """The option of a parameter."""
    return OTHER_OPTIONS.get(name) or f"--{name.replace('_', '-')}"


def parameter(name: str) -> str:
    """``--time-limit``, or ``time_limit``."""
    return either(option_of(name), name)


def argument(name: str, value: object) -> str:
    """``--packer exact``, or ``packer="exact"``."""
    return either(f"{option_of(name)} {value}", f"{name}={_literal(value)}")


def entries(name: str, values: Mapping[str, object]) -> str:
    """Values of a parameter that is a mapping: ``--path gate=a --path n=3``, or ``path={"gate": "a", "n":
    3}``."""
    options = " ".join(f"{option_of(name)} {key}={value}" for key, value in values.items())
    pairs = ", ".join(f'"{key}": {_literal(value)}' for key, value in values.items())
    return either(options, f"{name}={{{pairs}}}")


def switch(name: str) -> str:
    """``--no-spill``, or ``spill=False``."""
    return either(*SWITCHES[name])


def chip_field(field: str, value: object) -> str:
    """``--set psram.clock_mhz=100``, or ``chip(..., psram__clock_mhz=100)``."""
    return either(f"--set {field}={value}", f"chip(..., {field.replace('.', '__')}={_literal(value)})")


def either(command: str, python: str) -> str:
    """``command`` where messages speak of options, else ``python``."""
    return command if words_in_use() == "options" else python


def _literal(value: object) -> str:
    """Numbers and what is to be filled in, ``N`` and ``...``, as they are, several as a list; else a text."""
    text = str(value)
    if not _NUMBERS.fullmatch(text):
        return f'"{text}"'
    return f"[{text.replace(',', ', ')}]" if "," in text else text
