"""Suggestions for a name that nobody knows: the nearest known one, and the list of all."""

from __future__ import annotations

from collections.abc import Iterable

MOST_LISTED = 24
LONGEST_SHOWN = 60


def suggest(word: str, known: Iterable[str], what: str) -> str:
    """A hint for the unknown ``word``: "did you mean X? keys here are X, Y, Z".

    ``what`` introduces the list ("keys here are"). Without any known name the text is empty.
    """
    # Only a mistake pays for importing it.
    from difflib import get_close_matches

    names = list(dict.fromkeys(known))
    if not names:
        return ""
    folded = {name.lower(): name for name in reversed(names)}
    near = get_close_matches(word[:LONGEST_SHOWN].lower(), list(folded), n=1, cutoff=0.6)
    hint = f"did you mean '{folded[near[0]]}'? " if near else ""
    return f"{hint}{what} {_listed(names)}"


def shown(value: object) -> str:
    """``value`` as a user wrote it, on one line and cut where it is long."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, int) and value.bit_length() > 4 * LONGEST_SHOWN:
        return f"an integer of {value.bit_length()} bits"
    return cut(repr(value[: LONGEST_SHOWN + 1]) if isinstance(value, str) else repr(value))


def cut(text: str) -> str:
    """``text`` of at most ``LONGEST_SHOWN`` characters, its loss shown by an ellipsis."""
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "..."


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return ", ".join(names[:MOST_LISTED]) + more
