"""Hints for an unknown name: the most similar known one, and the list of all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MAX_LISTED = 24
"""Known names in one hint."""
MAX_SHOWN = 60
"""Characters of a value in an error message."""


def suggest(word: str, known: Iterable[str], what: str) -> str:
    """A hint for the unknown ``word``: "did you mean X? keys here are X, Y, Z".

    ``what`` introduces the list ("keys here are"). Empty where there is no known name.
    """
    # Imported here because only an error needs it.
    from difflib import get_close_matches

    names = list(dict.fromkeys(known))
    if not names:
        return ""
    folded = {name.lower(): name for name in reversed(names)}
    near = get_close_matches(word[:MAX_SHOWN].lower(), list(folded), n=1, cutoff=0.6)
    hint = f"did you mean '{folded[near[0]]}'? " if near else ""
    return f"{hint}{what} {listed(names)}"


def shown(value: object) -> str:
    """``value`` as the user wrote it, on one line and shortened where it is long."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, int) and value.bit_length() > 4 * MAX_SHOWN:
        return f"an integer of {value.bit_length()} bits"
    return cut(repr(value[: MAX_SHOWN + 1]) if isinstance(value, str) else repr(value))


def cut(text: str) -> str:
    """The first ``MAX_SHOWN`` characters of ``text``, with an ellipsis where more were cut."""
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "..."


def listed(names: Sequence[str], most: int = MAX_LISTED) -> str:
    """The first ``most`` of ``names``, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
