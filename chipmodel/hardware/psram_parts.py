"""Psram parts by name: the rows of ``psram_parts.csv``, with the numbers of their datasheets
(docs/reference/hardware.md, "Psram devices").

An empty cell is the field's default. ``latency_codes`` are ``MHz:clocks``, of HyperRAM the clocks of its
tACC; ``refresh`` is microseconds between row refreshes, 64 ms / 8192 rows (HyperRAM datasheets), and
nanoseconds of one, assumed as long as an access of the array, tACC. Loads measured on LUNA-ARCS show no
shorter burst at the end of a page (``chipmodel.timing.routes``), so that only reads stop there.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from chipmodel.errors import BadInput
from chipmodel.files.suggestions import suggest
from chipmodel.hardware.psram_device import Device, Refresh


def _latency(text: str) -> tuple[tuple[Fraction, int], ...]:
    codes = (code.split(":") for code in text.split())
    return tuple((Fraction(limit), int(clocks)) for limit, clocks in codes)


def _refresh(text: str) -> Refresh:
    return Refresh(*map(Fraction, text.split()))


_READ: Mapping[str, Callable[[str], object]] = {
    "latency_codes": _latency,
    "refresh": _refresh,
    "assumed": lambda text: tuple(text.split()),
    **dict.fromkeys(("clock_mhz", "crossing_mhz", "ce_low_max_us", "ce_high_ns", "recovery_ns"), Fraction),
}
"""How the cells of a column are read; others are whole numbers or words."""


with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as _table:
    _ROWS = {row["name"]: row for row in csv.DictReader(_table)}
DEVICES = tuple(_ROWS)
"""The names of all known parts."""


@cache
def device_named(name: str) -> Device:
    """The part with this name. Raises BadInput, with the most similar name, for an unknown one."""
    if name not in _ROWS:
        raise BadInput(f"no Psram device is named '{name}'", hint=suggest(name, DEVICES, "known devices are"))
    given: dict[str, Any] = {
        field: _READ[field](text) if field in _READ else int(text) if text.isdigit() else text
        for field, text in _ROWS[name].items()
        if text
    }
    return Device(**given)
