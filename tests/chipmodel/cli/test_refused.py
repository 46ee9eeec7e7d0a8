"""Command lines that are refused: the exit code, no answer, one message with the words that help."""

import shlex
from pathlib import Path

import pytest

from tests.support.command_line import Call

TABLE = Path(__file__).with_name("refused.txt")
"""A call a line: its exit code, the command line, and words of the message."""
LINES = TABLE.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("line", LINES)
def test_it_is_refused_in_one_message(line: str, call: Call) -> None:
    expected, command, *words = line.replace("  |  ", "  ").split("  ")
    code, out, err = call(*shlex.split(command))
    assert (code, out) == (int(expected), ""), err
    assert [each for each in words if each not in " ".join(err.split())] == []
