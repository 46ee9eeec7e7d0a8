"""Commands from the rows of ``options.csv``: their arguments and options, and what a function is called with.

The columns of a row, which stands once for all ``commands`` that have it:

* ``option``: as it is typed, such as ``--output -o``; without dashes it is an argument
* ``metavar``: what ``--help`` shows of its value; an option without one is a flag or, if ``takes`` has words
  between bars, one of these
* ``takes``: the kind of its value, one of ``KINDS`` or a range such as ``0..100``; by default text, or what
  the metavar says. An argument of a kind that ends in ``?`` may be left out
* ``default``, and ``to``: the parameter in which it arrives, by default its own name
* ``heading`` and ``meaning`` in ``--help``

Words in braces are constants of ``chipmodel.pipeline.choices``.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache, wraps
from pathlib import Path
from typing import Any

import click

from chipmodel.cli.file_options import (
    READS,
    READS_CHIP,
    READS_WORKLOAD,
    WRITES,
    WRITES_OR_STDOUT,
    FileCommand,
    Store,
    WritesInFolder,
)
from chipmodel.cli.help_page import ListedOption
from chipmodel.cli.options import ChipOptions, WorkloadOptions, names_between_commas, path_choices, path_word
from chipmodel.cli.output import AnswerFiles
from chipmodel.cli.packing_source import CapacityOptions
from chipmodel.pipeline import choices

Row = Mapping[str, str]
GROUPS = {kind.__name__: kind for kind in (WorkloadOptions, ChipOptions, CapacityOptions, AnswerFiles)}
"""Options that arrive in a command as one frozen value with a field for each, by the class of that."""


def _reading(read: Callable[[Any], object]) -> Callable[[click.Context, click.Parameter, Any], object]:
    return lambda _, __, given: None if given is None else read(given)


KINDS: Mapping[str, Mapping[str, Any]] = {
    "FILE": {"type": WRITES},
    "FILE|-": {"type": WRITES_OR_STDOUT},
    "DIR": {"type": WritesInFolder()},
    "NAME|FILE": {"type": READS_CHIP},
    "N": {"type": int},
    "S": {"type": float},
    "number": {"type": float},
    "file": {"type": READS},
    "chip": {"type": READS_CHIP},
    "workload": {"type": READS_WORKLOAD},
    "output": {"type": WRITES},
    "folder": {"type": WritesInFolder()},
    "store": {"type": Store("study_file", kept=True)},
    "stored": {"type": Store("study", kept=False)},
    "many": {"multiple": True},
    "names": {"callback": _reading(names_between_commas)},
    "path": {"multiple": True, "callback": _reading(path_choices)},
    "extreme": {"multiple": True, "callback": _reading(path_word)},
    "percent": {"type": click.FloatRange(0), "callback": _reading(lambda percent: percent / 100)},
    "no": {"flag_value": False, "default": True},
    "[8]": {"is_flag": False, "flag_value": "8"},
}
"""Settings of click by what an option takes, or by its metavar."""


def command(function: Callable[..., Any]) -> click.Command:
    """Return the command that calls ``function``, whose name it has, with the values of its options."""
    groups = {name: GROUPS[kind] for name, kind in function.__annotations__.items() if kind in GROUPS}

    @wraps(function)
    def called(**values: Any) -> Any:
        for name, kind in groups.items():
            values[name] = kind(**{field.name: values.pop(field.name) for field in fields(kind)})
        return function(**values)

    own = [_parameter(row) for row in _rows() if function.__name__ in row["commands"].split()]
    return click.command(cls=FileCommand, params=own)(called)


@cache
def _rows() -> tuple[Row, ...]:
    with Path(__file__).with_name("options.csv").open(encoding="utf-8", newline="") as table:
        return tuple(csv.DictReader(table))


def _parameter(row: Row) -> click.Parameter:
    takes, metavar = row["takes"].removesuffix("?"), row["metavar"] or None
    default, meaning = (row[key].format_map(vars(choices)) for key in ("default", "meaning"))
    settings = {**KINDS.get(row["metavar"], {}), **_settings(takes, row["metavar"])}
    if default:
        settings["default"] = default
    names = row["option"].split() + ([row["to"]] if row["to"] else [])
    if not names[0].startswith("-"):
        needed = not default and takes == row["takes"]
        return click.Argument(names, required=needed, metavar=metavar, **settings)
    if metavar or "|" in takes:
        shown = {"metavar": metavar, "show_default": bool(default) and "[" not in meaning}
        settings = {**shown, "required": "|" in takes and not default, **settings}
    else:
        settings["is_flag"] = True
    return ListedOption(row["heading"], names, help=meaning, **settings)


def _settings(takes: str, metavar: str) -> Mapping[str, Any]:
    if "|" in takes:
        return {"type": click.Choice(takes.split("|"))}
    low, between, high = takes.partition("..")
    if between and metavar == "N":
        return {"type": click.IntRange(int(low), int(high) if high else None)}
    return {"type": click.FloatRange(int(low))} if between else KINDS[takes] if takes else {}
