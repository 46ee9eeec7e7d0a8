"""stdout and stderr, whatever their encoding and whether or not somebody reads them."""

from __future__ import annotations

import io
import os
import sys

ERRORS = "backslashreplace"
"""What stands for a character that an encoding does not have: an escape such as ``\\u4e2d``."""


def open_streams() -> None:
    """Make stdout and stderr streams that take any text.

    Where stdin, stdout or stderr is closed, the null device stands in for it: else the next file that is
    opened becomes it, and gets what is printed. What the encoding does not have is escaped.
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
