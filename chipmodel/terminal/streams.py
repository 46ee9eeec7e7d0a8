"""stdout and stderr, whatever their encoding and whether or not somebody reads them."""

from __future__ import annotations

import codecs
import io
import os
import sys

from chipmodel.terminal.escapes import escape

ERRORS = "chipmodel.legible"
"""The name of the error handler of ``legible`` in Python's registry of codecs."""
HORIZONTAL = "\u2500\u2501\u2504\u2505\u2508\u2509\u254c\u254d\u2550\u2574\u2576\u2578\u257a\u257c\u257e"
VERTICAL = "\u2502\u2503\u2506\u2507\u250a\u250b\u254e\u254f\u2551\u2575\u2577\u2579\u257b\u257d\u257f"
SYMBOLS = {
    **dict.fromkeys(HORIZONTAL, "-"),
    **dict.fromkeys(VERTICAL, "|"),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-"),
    **dict.fromkeys("\u2018\u2019", "'"),
    **dict.fromkeys("\u201c\u201d", '"'),
    **dict.fromkeys("\u00a0\u2007\u2009\u202f", " "),
    **dict.fromkeys("\N{MICRO SIGN}\N{GREEK SMALL LETTER MU}", "u"),
    "\N{MULTIPLICATION SIGN}": "x",
    "\N{MIDDLE DOT}": ".",
    "\N{BULLET}": "*",
    "\N{EM DASH}": "--",
    "\N{HORIZONTAL ELLIPSIS}": "...",
    "\N{LESS-THAN OR EQUAL TO}": "<=",
    "\N{GREATER-THAN OR EQUAL TO}": ">=",
    "\N{NOT EQUAL TO}": "!=",
    "\N{ALMOST EQUAL TO}": "~",
    "\N{PLUS-MINUS SIGN}": "+-",
    "\N{RIGHTWARDS ARROW}": "->",
    "\N{LEFTWARDS ARROW}": "<-",
    "\N{SUPERSCRIPT TWO}": "2",
    "\N{SUPERSCRIPT THREE}": "3",
    "\N{INFINITY}": "inf",
}
"""What stands for a character of our own texts where an encoding does not have it."""
DRAWN = (
    (range(0x2500, 0x2580), "+"),  # Box Drawing: corners and crossings; lines are among the two below.
    (range(0x2580, 0x25A0), "#"),  # Block Elements
    (range(0x2800, 0x2900), "*"),  # Braille Patterns, of which rich makes what turns
)


def legible(error: UnicodeError) -> tuple[str, int]:
    r"""Replace what an encoding does not have: symbols by ASCII that looks like them, others by escapes such
    as ``\u4e2d``. An error handler for ``codecs.register_error``."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unknown = error.object[error.start : error.end]
    return "".join(map(_legible, unknown)), error.end


def _legible(character: str) -> str:
    if character in SYMBOLS:
        return SYMBOLS[character]
    return next((like for block, like in DRAWN if ord(character) in block), escape(character))


codecs.register_error(ERRORS, legible)


def open_streams() -> None:
    """Make stdout and stderr streams that take any text.

    Where stdin, stdout or stderr is closed, the null device stands in for it: else the next file that is
    opened becomes it, and gets what is printed. What the encoding does not have is replaced legibly.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # The lowest number that is free.
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=ERRORS)


def leave_stdout() -> None:
    """Send what is still to be printed nowhere, as its reader has left."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def leave_stderr() -> None:
    """Print nothing more on stderr, in this process."""
    sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115


def stderr_is_a_terminal() -> bool:
    """Whether somebody watches: then progress is drawn, else not."""
    return sys.stderr.isatty()
