"""The command line, called in the tests' own process."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from chipmodel.cli.main import main

Call = Callable[..., tuple[int, str, str]]
"""What the fixture ``call`` is: the words of a command line become its exit code, stdout and stderr."""


def call(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of one call, which never ends in a traceback."""
    argv = sys.argv
    sys.argv = ["chipmodel", *map(str, arguments)]
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        sys.argv = argv
    printed = capsys.readouterr()
    code = ended.value.code
    assert "Traceback" not in printed.err
    return code if isinstance(code, int) else 0, printed.out, printed.err
