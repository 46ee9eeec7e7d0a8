"""One call of the command line in this process, and what is wrong with how it ended."""

import io
import os
import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

from chipmodel.cli.main import main

CODES = (0, 1, 2, 3)
_RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that a terminal obeys, or that turn the text around them."""
MOST_PRINTED = 2_000_000
"""Characters that an answer of a tiny example may have."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a call ended: its exit code, what it printed, and the traceback of what escaped."""

    code: int
    out: str
    err: str
    escaped: str = ""


def call(arguments: Sequence[str]) -> Ended:
    """Run ``chipmodel`` with ``arguments``; stdin is empty."""
    before = sys.argv
    sys.argv = ["chipmodel", *arguments]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    code, escaped = 0, ""
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    except BaseException:
        code, escaped = 70, traceback.format_exc()
    finally:
        sys.argv = before
    printed = [stream.buffer.getvalue().decode() for stream in (out, err)]
    return Ended(code, printed[0], printed[1], escaped)


def fault_of(ended: Ended, arguments: Sequence[str]) -> str:
    """What is wrong with the end of a call, in words; empty for nothing."""
    if ended.escaped:
        return f"an exception escaped:\n{ended.escaped}"
    if ended.code not in CODES:
        return f"exit code {ended.code}: {ended.err.strip()}\n{_traceback(arguments)}"
    if "Traceback (most recent" in ended.err + ended.out:
        return f"a traceback was printed:\n{ended.err}"
    if ended.code == 2 and not ended.err.strip():
        return "bad input without a message"
    for name, text in (("stdout", ended.out), ("stderr", ended.err)):
        found = None if name == "stdout" and _is_document(arguments) else _RAW.search(text)
        if found:
            around = text[max(0, found.start() - 80) :][:160]
            return f"{name} has the raw character U+{ord(found[0]):04X}: {around!r}"
        if len(text) > MOST_PRINTED:
            return f"{name} has {len(text):,} characters"
    return ""


def _is_document(arguments: Sequence[str]) -> bool:
    """Whether stdout, which is no terminal here, gets a document in a format of its own, byte for byte."""
    return arguments[0] == "export" or "-" in arguments


def _traceback(arguments: Sequence[str]) -> str:
    """The same call again, so that what was wrong escapes."""
    os.environ["CHIPMODEL_TRACEBACK"] = "1"
    try:
        return call(arguments).escaped
    finally:
        del os.environ["CHIPMODEL_TRACEBACK"]
