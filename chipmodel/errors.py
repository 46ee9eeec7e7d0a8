"""Errors for the user: what is wrong, where, with which value, and how to fix it.

Exit codes of the command line: 0 success, 1 does not fit (or proven infeasible), 2 bad input,
3 not decided within the limits.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from inspect import currentframe
from types import FrameType
from warnings import warn

from chipmodel.records import dataclass

EXIT_DONE = 0
EXIT_DOES_NOT_FIT = 1
EXIT_BAD_INPUT = 2
EXIT_UNKNOWN = 3
MORE_MEMORY = (
    "give the chip more SharedMemory, by --set shared_memory.bytes or chip(..., shared_memory__bytes); "
    "'chipmodel memory', or smallest_memory(...), finds how little is enough where no "
    "tensor goes to Psram; with tensors there less may be"
)
"""The hint where a network needs more bytes than the chip has."""


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a user's file. ``line`` and ``column`` count from 1; 0 means unknown."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        if not self.line:
            return self.file
        return f"{self.file}:{self.line}:{self.column}"


def _one_line(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n")


class ChipmodelError(Exception):
    """Base of all errors that the user can fix; they are shown without a traceback."""

    exit_code = EXIT_BAD_INPUT

    def __init__(
        self, what: str, *, where: Place | None = None, hint: str = "", more: Sequence[str] = ()
    ) -> None:
        """``what`` names the problem and the offending value; ``hint`` says how to fix it; ``more`` are
        further mistakes. Each is one line: a line feed in a name is shown as ``\\n``, lest it look like a
        line of ours."""
        self.what = _one_line(what)
        self.where = where
        self.hint = _one_line(hint)
        self.more = tuple(map(_one_line, more))
        super().__init__(str(self))

    def __str__(self) -> str:
        prefix = _one_line(f"{self.where}: ") if self.where else ""
        suffix = f"\n  hint: {self.hint}" if self.hint else ""
        return "\n".join((f"{prefix}{self.what}", *self.more)) + suffix


class BadInput(ChipmodelError):
    """A file, name or option that is wrong."""


@contextmanager
def placed(where: Place) -> Generator[None]:
    """Say of a BadInput of the body, where it names no file itself, that it is ``where``."""
    try:
        yield
    except BadInput as error:
        if error.where:
            raise
        raise type(error)(error.what, where=where, hint=error.hint, more=error.more) from None


class UnknownSize(BadInput):
    """A shape or an option is given for what the workload does not have."""


class Unshaped(BadInput):
    """A layer cannot run on operands of these shapes."""


class DoesNotFit(ChipmodelError):
    """The workload needs more memory than the chip has."""

    exit_code = EXIT_DOES_NOT_FIT


class TooManyParts(DoesNotFit):
    """Memory is so small that ops would run in more parts than a plan may have; finer cuts make no fewer."""


class TimeIsOver(ChipmodelError):
    """The time limit came before there was an answer."""

    exit_code = EXIT_UNKNOWN


class PluginFault(BadInput):
    """A plug-in that cannot be loaded, or whose answer is wrong. Names it and its package."""


class PluginIgnored(UserWarning):
    """An installed plug-in is not listed among the others, because it cannot be used."""


class LimitedSearch(UserWarning):
    """A search lacks what makes it fast: its compiled kernel."""


class NotCompared(UserWarning):
    """Limits of a budget have no value in the earlier report that they are compared with."""


class RowsLeftOut(UserWarning):
    """Rows of a study's store are damaged, and nothing is made of them."""


PACKAGES = ("chipmodel", "solvers", "dma", "workloads", "reports")


def warn_caller(warning: Warning) -> None:
    """Warn at the line that called one of the packages from outside of them."""
    frame: FrameType | None = currentframe()
    level = 0
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in PACKAGES:
        frame, level = frame.f_back, level + 1
    warn(warning, stacklevel=level + 1)
