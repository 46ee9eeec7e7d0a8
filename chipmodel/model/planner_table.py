"""Rows of tables of planners: found by the name that a user writes, and imported when they first run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any, Literal, TypeVar

from chipmodel.entry_points import Plugin, plugin_named, plugin_names
from chipmodel.errors import BadInput
from chipmodel.files.suggestions import suggest
from chipmodel.geometry.interval import Interval

Row = TypeVar("Row")


def row_named(kind: str, text: str, rows: Mapping[str, Row]) -> tuple[Row, str | None]:
    """The row that ``NAME`` or ``NAME:SETTING`` means, and the setting; None without a colon. ``kind`` says
    in messages what the rows are, such as ``packer``. Raises BadInput for an unknown name."""
    name, colon, setting = text.partition(":")
    if name not in rows:
        raise BadInput(f"unknown {kind} {text!r}", hint=suggest(name, rows, f"{kind}s are"))
    return rows[name], setting if colon else None


def row_or_plugin(
    kind: Literal["packer", "streamer"], text: str, rows: Mapping[str, Row], row_of: Callable[[Plugin], Row]
) -> tuple[Row, str | None]:
    """The same, also with the plug-ins of that kind, of which ``row_of`` makes rows. They are looked for
    where no built-in row has the name. The row of a plug-in has the setting already."""
    name, colon, setting = text.partition(":")
    if name in rows:
        return rows[name], setting if colon else None
    plugin = plugin_named(kind, name)
    if plugin is None:
        known = (*rows, *plugin_names(kind, rows))
        raise BadInput(f"unknown {kind} {text!r}", hint=suggest(name, known, f"{kind}s are"))
    if not colon:
        return row_of(plugin), None
    if not plugin.takes_setting:
        raise no_setting(kind, name, setting)
    return row_of(replace(plugin, setting=setting)), None


def no_setting(kind: str, name: str, setting: str) -> BadInput:
    """The error of a setting for a planner that has none."""
    return BadInput(f"{kind} {name!r} has no setting, but {setting!r} is given", hint=f"write {name}")


def whole_setting(planner: str, text: str, allowed: Interval, what: str, hint: str) -> int:
    """Return the whole number that a user writes after the name of ``planner`` and a colon.

    Raises BadInput ("is not a ``what``") with that ``hint`` if the text is not a number within ``allowed``.
    """
    if text.isascii() and text.isdigit() and len(text) <= len(str(allowed.stop)) and int(text) in allowed:
        return int(text)
    raise BadInput(f"{planner}:{text[:60]} is not a {what}", hint=hint)


@cache
def imported(reference: str) -> Any:
    """What ``"module:attribute"`` names; its module is imported if it is not yet."""
    module, _, attribute = reference.partition(":")
    return getattr(import_module(module), attribute)
