"""Messages that name options of the command line, in the words of a caller in Python.

What is below the command line says what is wrong once, with the names of options. Functions of the library
translate it, unless the command line called them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

from chipmodel.errors import ChipmodelError

P = ParamSpec("P")
R = TypeVar("R")

MAPPINGS = {
    "--iterations": "iterations",
    "--memory": "memories",
    "--path": "path",
    "--probability": "probabilities",
    "--shape": "shapes",
    "--state": "states",
}
"""Options of the form NAME=VALUE, which are mappings in Python."""
FLAGS = {
    "--execute": "execute=True",
    "--no-spill": "spill=False",
    "--retry-failed": "retry_failed=True",
    "--strict": "strict=True",
}
OTHER_NAMES = {"--as": "to", "--point": "points", "--steady-state": "inferences"}
"""Options whose parameter has another name; all others have the same, with underscores."""
CALLS = {
    r"chipmodel simulate WORKLOAD --plan (\S+) --json (\S+)": r"write_plan(\1) and to_json() of a simulation",
    r"chipmodel simulate WORKLOAD(?: --order \.\.\.)? --plan (\S+)": r"simulate(WORKLOAD).write_plan(\1)",
    r"chipmodel simulate WORKLOAD --json \S+": "simulate(WORKLOAD).to_json()",
    r"chipmodel pack --json": "pack(...).to_json()",
    r"chipmodel study (\S+)": r"study(\1)",
    r"chipmodel chips": "chips()",
}
"""Commands that messages name, and the calls that do the same."""
_QUOTED = re.compile(r"('[^']*')")
_OPTION = re.compile(r"(?<![\w-])(--[a-z]+(?:-[a-z]+)*)(?: ([A-Za-z0-9_.\[\]]+)=([^\s;,:)]+))?")
_VALUE = re.compile(
    r"(?<![\w-])(--(?:packer|merge|streamer|dtype|as|kind)) ([a-z0-9][a-z0-9_-]*)(?=$|[;,.)])"
)

_OPTIONS: ContextVar[bool] = ContextVar("options", default=False)


@contextmanager
def words_of_options() -> Generator[None]:
    """Leave messages of the body as they are: who reads them gave options."""
    token = _OPTIONS.set(True)
    try:
        yield
    finally:
        _OPTIONS.reset(token)


def worded(function: Callable[P, R]) -> Callable[P, R]:
    """``function``, whose errors speak of parameters where its caller gave parameters."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except ChipmodelError as error:
            if not _OPTIONS.get():
                error.what, error.hint = in_python(error.what), in_python(error.hint)
                error.more = tuple(map(in_python, error.more))
                error.args = (str(error),)
            raise

    return call


def in_python(text: str) -> str:
    """``text`` with parameters for options and calls for commands, outside of quoted names."""
    parts = _QUOTED.split(text)
    return "".join(part if part.startswith("'") else _reworded(part) for part in parts)


def _reworded(text: str) -> str:
    for command, call in CALLS.items():
        text = re.sub(command, call, text)
    text = _VALUE.sub(lambda found: f'{_name(found[1])}="{found[2]}"', text)
    return _OPTION.sub(_parameter, text)


def _parameter(found: re.Match[str]) -> str:
    option, name, value = found.groups()
    if option == "--set":
        return f"chip(..., {name.replace('.', '__')}={_literal(value)})" if name else "overrides of the chip"
    if option in FLAGS:
        return FLAGS[option] + (f" {name}={value}" if name else "")
    if name and option in MAPPINGS:
        return f'{_name(option)}={{"{name}": {_literal(value)}}}'
    return _name(option) + (f" {name}={value}" if name else "")


def _name(option: str) -> str:
    return MAPPINGS.get(option) or OTHER_NAMES.get(option) or option.removeprefix("--").replace("-", "_")


def _literal(value: str) -> str:
    """A number as it is, anything else as a text; ``...`` stands for what is to be filled in."""
    return value if re.fullmatch(r"[0-9.]+|N", value) else f'"{value}"'
