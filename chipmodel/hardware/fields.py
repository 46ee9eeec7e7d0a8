"""Every field of a chip file by its dotted path: its type, limits and default, and how its text is read."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Literal, cast

from chipmodel.entry_points import plugin_names
from chipmodel.errors import BadInput, Place
from chipmodel.files.sizes import format_bytes, parse_bytes
from chipmodel.files.suggestions import shown
from chipmodel.hardware.further_memories import GROUP, memory_names, memory_path
from chipmodel.hardware.plugin_npu import Parameter, parameters_of
from chipmodel.hardware.psram_parts import DEVICES
from chipmodel.records import dataclass

Kind = Literal["bytes", "whole", "rational", "choice"]

_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
# Short numbers only: Fraction("1e999999999") would compute for ever.
_RATIONAL = re.compile(r"[-+]?([0-9]{1,18}(\.[0-9]{0,18})?|\.[0-9]{1,18})([eE][-+]?[0-9]{1,2})?")
_RATIO = re.compile(r"[-+]?[0-9]{1,18}/0*[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class Field:
    """Type and limits of one field; ``low`` and ``high`` are both allowed."""

    kind: Kind
    low: Fraction
    high: Fraction
    unit: str
    power_of_two: bool = False
    options: tuple[str, ...] = ()
    only: tuple[str, tuple[str, ...]] | None = None
    """The choice (field, options) that the field depends on; a chip with another option does not have it."""
    default: str | None = None
    """The value where a chip file does not give one; empty for a field that may stay unknown."""

    def belongs(self, choices: Mapping[str, str]) -> bool:
        """Whether a chip with these choices has the field."""
        return self.only is None or choices.get(self.only[0]) in self.only[1]

    def limit(self, value: Fraction) -> str:
        """``value`` with its unit."""
        if self.kind == "bytes":
            return format_bytes(int(value))
        text = f"{int(value):,}" if value.denominator == 1 else f"{float(value):g}"
        return f"{text} {self.unit}"


def _read(row: Mapping[str, str]) -> Field:
    kind, power = ("whole", True) if row["kind"] == "power of two" else (row["kind"], False)
    number = parse_bytes if kind == "bytes" else Fraction
    low, high = (Fraction(number(row[limit] or "0")) for limit in ("low", "high"))
    choice, _, needed = row["only_if"].partition("=")
    return Field(
        cast("Kind", kind),
        low,
        high,
        row["unit"],
        power_of_two=power,
        options=DEVICES if row["path"] == "psram.device" else tuple(filter(None, row["options"].split("|"))),
        only=(choice, tuple(needed.split("|"))) if choice else None,
        default={"": None, "(none)": ""}.get(row["default"], row["default"]),
    )


with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as _table:
    _ROWS = {row["path"]: _read(row) for row in csv.DictReader(_table)}
_EACH_MEMORY = f"{GROUP}.NAME."
FIELDS: Mapping[str, Field] = {
    path: field for path, field in _ROWS.items() if not path.startswith(_EACH_MEMORY)
}
"""Every field by its path, as in ``fields.csv``. The limits are wide: they catch typing errors and absurdly
long numbers, not unusual chips. ``only_if`` is the choice that a field depends on; a ``default`` of (none)
may stay unknown."""
FURTHER: Mapping[str, Field] = {
    path.removeprefix(_EACH_MEMORY): field for path, field in _ROWS.items() if path not in FIELDS
}
"""The fields of each memory below ``memories``, by its keys."""

MODEL = "npu.model"


def children(path: str) -> tuple[str, ...]:
    """The keys directly below the group ``path`` ("" for the whole file); empty for a field."""
    inside = memory_path(path)
    if path == GROUP or inside:
        return _children(inside[1] if inside else "", FURTHER) if inside else ("NAME",)
    below = _children(path, FIELDS) or tuple(field[len(path) + 1 :] for field in _plugin_fields(path))
    return below if path else (*below, GROUP)


def _children(path: str, fields: Iterable[str]) -> tuple[str, ...]:
    prefix = f"{path}." if path else ""
    return tuple(dict.fromkeys(f[len(prefix) :].split(".")[0] for f in fields if f.startswith(prefix)))


def field_at(path: str) -> Field | None:
    """The field of that path, also of further memories and plug-ins; None for none. Raises PluginFault."""
    inside = memory_path(path)
    known = FURTHER.get(inside[1]) if inside else FIELDS.get(path)
    return known or _plugin_fields(path.rpartition(".")[0]).get(path)


def fields_with(choices: Mapping[str, str], given: Iterable[str]) -> Mapping[str, Field]:
    """All fields: also those of the plug-in that is the NPU model of these choices, and of the memories that
    have any of the fields ``given``."""
    further = {f"{GROUP}.{name}.{key}": each for name in memory_names(given) for key, each in FURTHER.items()}
    return {**FIELDS, **_plugin_fields(f"npu.{choices.get(MODEL, '')}"), **further}


def _plugin_fields(group: str) -> Mapping[str, Field]:
    """The fields in ``npu.NAME`` of the NPU model NAME that is a plug-in; empty where there is none."""
    top, _, name = group.partition(".")
    if top != "npu" or not name or any(path.startswith(f"{group}.") for path in FIELDS):
        return {}
    return {f"{group}.{key}": _field_of(name, each) for key, each in parameters_of(name).items()}


def _field_of(model: str, parameter: Parameter) -> Field:
    kind: Kind = "whole" if parameter.whole else "rational"
    low, high = Fraction(parameter.low), Fraction(parameter.high)
    only = (MODEL, (model,))
    return Field(kind, low, high, parameter.unit, only=only, default=parameter.default)


def read_choice(path: str, text: str, where: Place) -> str:
    """One of the field's options. Raises ``BadInput`` at ``where`` for anything else."""
    options = FIELDS[path].options
    if path == MODEL and text not in options:
        options = (*options, *plugin_names("NPU model", (*options, *children("npu"))))
    if text not in options:
        raise BadInput(f"{path} is {shown_text(text)}", where=where, hint=f"one of {', '.join(options)}")
    return text


def read_number(path: str, text: str, where: Place) -> Fraction:
    """The exact value of ``text`` for the field ``path``.

    Raises ``BadInput`` at ``where`` if it is not of the field's type or outside its limits.
    """
    field = field_at(path)
    assert field is not None, f"{path} is a field"
    value = _bytes(path, text, where) if field.kind == "bytes" else _plain(path, field, text, where)
    if not field.low <= value <= field.high:
        low = field.limit(field.low).removesuffix(f" {field.unit}")
        limits = f"between {low} and {field.limit(field.high)}"
        raise BadInput(f"{path} is {shown_text(text)}", where=where, hint=f"write a number {limits}")
    if field.power_of_two and int(value).bit_count() != 1:
        hint = "write a power of two, such as 1, 4 or 16"
        raise BadInput(f"{path} is {shown_text(text)}", where=where, hint=hint)
    return value


def shown_text(text: str) -> str:
    """``text`` for a message: without quotes where it is a number."""
    return text if _RATIONAL.fullmatch(text) else shown(text)


def _bytes(path: str, text: str, where: Place) -> Fraction:
    try:
        return Fraction(parse_bytes(text))
    except BadInput as error:
        raise BadInput(f"{path}: {error.what}", where=where, hint=error.hint) from None


def _plain(path: str, field: Field, text: str, where: Place) -> Fraction:
    if field.kind == "whole":
        if not _WHOLE.fullmatch(text):
            what = f"{path} must be a whole number of {field.unit}, not {shown_text(text)}"
            raise BadInput(what, where=where, hint="write plain digits, such as 16")
    elif not (_RATIONAL.fullmatch(text) or _RATIO.fullmatch(text)):
        what = f"{path} must be a number of {field.unit}, not {shown_text(text)}"
        raise BadInput(
            what, where=where, hint="write a decimal number such as 30.891, or a ratio such as 400/3"
        )
    return Fraction(text)
