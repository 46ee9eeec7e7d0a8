r"""Names from files as text that a terminal or browser only shows: no commands, nothing invisible.

A character that is not drawn as itself becomes a visible escape: control characters and ESC (``\x1b``), C1,
bidirectional overrides (``\u202e``), zero-width characters and line separators, lone surrogates, characters
that Unicode has not assigned, and those that it says are drawn as nothing.
"""

from __future__ import annotations

import re
from unicodedata import category

DRAWN_AS_NOTHING = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Default_Ignorable_Code_Point of Unicode (DerivedCoreProperties.txt) that Python counts as printable."""
_NUMBER = "x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}"
_BACKSLASHES = re.compile(rf"(\\+)(?=({_NUMBER})|(.))", re.DOTALL)
_SIGNED_NUMBER = re.compile(r"[-+][0-9.]+([eE][-+]?[0-9]+)?")
_OURS = "\n\t"
"""Characters of a composed text, as opposed to those of a name."""


def visible(name: str) -> str:
    r"""``name`` on one line, as it is where it draws as it is. Two different names are never shown alike: a
    backslash is doubled where it would begin what looks like an escape."""
    if _plain(name) and "\\" not in name:
        return name

    def doubled(found: re.Match[str]) -> str:
        slashes, number, following = found.groups()
        return slashes * 2 if number or not _plain(following) else slashes

    return "".join(c if _plain(c) else escape(c) for c in _BACKSLASHES.sub(doubled, name))


def printable(text: str) -> str:
    """A composed ``text``, of several lines perhaps, with what is not drawn escaped. Names in it may already
    have been escaped, by ``visible`` or in quotes by ``repr``; they stay as they are."""
    if _plain(text):
        return text
    return "".join(c if c in _OURS or _plain(c) or _is_space(c) else escape(c) for c in text)


def printable_line(text: str) -> str:
    """``printable``, but of line feeds and tabs only those at the beginning stay, as parts of the layout."""
    body = text.lstrip("\n")
    if not any(c in body for c in _OURS):
        return printable(text)
    shown = "".join(escape(c) if c in _OURS else c for c in printable(body))
    return text[: len(text) - len(body)] + shown


def cell_text(text: str) -> str:
    """``printable`` text for a cell of CSV: what a spreadsheet would compute as a formula begins with an
    apostrophe, which marks text there. Numbers stay.

    Source: OWASP, "CSV Injection"."""
    formula = text.startswith(("=", "+", "-", "@", "\t", "\r")) and not _SIGNED_NUMBER.fullmatch(text)
    return f"'{printable(text)}" if formula else printable(text)


def escape(character: str) -> str:
    r"""``\x1b``, ``\u202e`` or ``\U000e0001``."""
    number = ord(character)
    if number < 1 << 8:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 1 << 16 else f"\\U{number:08x}"


def _plain(text: str) -> bool:
    return text.isprintable() and not DRAWN_AS_NOTHING.search(text)


def _is_space(character: str) -> bool:
    """Whether a character is a space of some width and nothing else, as our own texts may have it."""
    return category(character) == "Zs"
