"""Sizes in bytes and times as users write them; sizes also as they are shown."""

from __future__ import annotations

import re
from fractions import Fraction

from chipmodel.errors import BadInput
from chipmodel.files.suggestions import shown

UNITS = {"b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
_SIZE = re.compile(r"(?P<number>[0-9]+(,[0-9]{3})*(\.[0-9]+)?) *(?P<unit>[A-Za-z]*)")
_AMBIGUOUS = {"k": "KiB", "kb": "KiB", "m": "MiB", "mb": "MiB", "g": "GiB", "gb": "GiB"}
_MAX_CHARACTERS = 40
_HINT = "write bytes such as 393216, or a size such as 384 KiB or 8 MiB"


def parse_bytes(value: int | str) -> int:
    """The bytes in ``393216``, ``"384KiB"``, ``"2.5 MiB"`` or ``"1,234 B"``; units in upper or lower case.

    Raises ``BadInput`` for a negative or fractional number of bytes, and for KB, MB and GB, which are
    1000s to some and 1024s to others.
    """
    if isinstance(value, bool):
        raise BadInput(f"{shown(value)} is not a size in bytes", hint=_HINT)
    if isinstance(value, int):
        if value < 0:
            raise BadInput(f"the size {shown(value)} is negative", hint=_HINT)
        return value
    text = value.strip()
    match = _SIZE.fullmatch(text) if len(text) <= _MAX_CHARACTERS else None
    if match is None:
        if text.startswith("-"):
            raise BadInput(f"the size {shown(value)} is negative", hint=_HINT)
        raise BadInput(f"{shown(value)} is not a size in bytes", hint=_HINT)
    return _scaled(match["number"].replace(",", ""), match["unit"], value)


def format_bytes(n: int) -> str:
    """``n`` bytes exactly: "384 KiB" where the number is whole in a unit, else "1,234 B"."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if n and n % factor == 0:
            return f"{n // factor:,} {unit}"
    return f"{n:,} B"


def _scaled(number: str, unit: str, value: str) -> int:
    factor = UNITS.get(unit.lower() or "b")
    if factor is None:
        binary = _AMBIGUOUS.get(unit.lower())
        if binary is None:
            raise BadInput(f"{shown(value)} has the unknown unit '{unit}'", hint=_HINT)
        hint = f"write {number} {binary} if 1024s are meant, or the plain number of bytes"
        raise BadInput(f"{shown(value)} is ambiguous: {unit} is 1000s to some and 1024s to others", hint=hint)
    size = Fraction(number) * factor
    if size.denominator != 1:
        raise BadInput(f"{shown(value)} is not a whole number of bytes", hint=_HINT)
    return int(size)


_DURATION = re.compile(r"([0-9]{1,12}(?:\.[0-9]{0,12})?) ?(s|ms|us|µs)")
_MILLISECONDS = {"s": 1000.0, "ms": 1.0, "us": 0.001, "µs": 0.001}


def parse_milliseconds(text: str) -> float:
    """Return the milliseconds that ``text`` says. Raises BadInput for a time without a unit, and for none.

    >>> parse_milliseconds("3.6s")
    3600.0
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None or not float(match[1]):
        raise BadInput(f"{shown(text)} is not a time", hint="write a number with a unit: 3.6s, 20ms or 850us")
    return float(match[1]) * _MILLISECONDS[match[2]]
