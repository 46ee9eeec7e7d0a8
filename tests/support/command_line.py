"""The command line, called in the tests' own process."""

import sys
from pathlib import Path

import pytest

from chipmodel.cli.main import main


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
