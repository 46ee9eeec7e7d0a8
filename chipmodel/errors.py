"""Every error a user can meet: what is wrong, where, with which value, and how to fix it.

Exit codes of the command line: 0 done, 1 does not fit (or proven infeasible), 2 bad input,
3 unknown within the limits.
"""

from __future__ import annotations

from dataclasses import dataclass

EXIT_DONE = 0
EXIT_DOES_NOT_FIT = 1
EXIT_BAD_INPUT = 2
EXIT_UNKNOWN = 3


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a file that the user wrote; ``line`` and ``column`` count from 1, 0 is unknown."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        if not self.line:
            return self.file
        return f"{self.file}:{self.line}:{self.column}"


class ChipmodelError(Exception):
    """The base of all errors that are the user's to fix; never shown with a traceback."""

    exit_code = EXIT_BAD_INPUT

    def __init__(self, what: str, *, where: Place | None = None, hint: str = "") -> None:
        """``what`` names the problem and the offending value, ``hint`` says what to do about it."""
        self.what = what
        self.where = where
        self.hint = hint
        super().__init__(str(self))

    def __str__(self) -> str:
        prefix = f"{self.where}: " if self.where else ""
        suffix = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{prefix}{self.what}{suffix}"


class BadInput(ChipmodelError):
    """A file, name or option that cannot be understood."""


class DoesNotFit(ChipmodelError):
    """The workload cannot run in the memory that it was given."""

    exit_code = EXIT_DOES_NOT_FIT
