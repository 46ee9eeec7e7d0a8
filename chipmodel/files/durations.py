"""Times as users write them: ``3.6s``, ``20ms``, ``850us``."""

from __future__ import annotations

import re

from chipmodel.errors import BadInput
from chipmodel.files.suggestions import shown

_DURATION = re.compile(r"([0-9]{1,12}(?:\.[0-9]{0,12})?) ?(s|ms|us|µs)")
_MILLISECONDS = {"s": 1000.0, "ms": 1.0, "us": 0.001, "µs": 0.001}


def parse_milliseconds(text: str) -> float:
    """Return the milliseconds that ``text`` says. Raises BadInput for a time without a unit, and for none.

    >>> parse_milliseconds("3.6s")
    3600.0
    """
    found = _DURATION.fullmatch(text.strip())
    if found is None or not float(found[1]):
        raise BadInput(f"{shown(text)} is no time", hint="write a number with a unit: 3.6s, 20ms or 850us")
    return float(found[1]) * _MILLISECONDS[found[2]]
