"""The status line of a solver: on a terminal only, removed at the end."""

from __future__ import annotations

import io
import sys
import time

import pytest

from chipmodel.terminal import solver_status as module
from chipmodel.terminal.solver_status import SolverStatus


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_line_has_elapsed_time_best_bound_and_gap() -> None:
    line = SolverStatus()
    assert "no plan yet" in line.line()
    line.update(1_050_624, 1_048_576, "searching")
    words = line.line()
    assert words.split()[1] == "s"
    assert "best 1,050,624 B  bound 1,048,576 B  gap 0.20%  searching" in words
    line.update(None, 0, "")
    assert line.line().endswith("no plan yet")


def test_on_a_terminal_it_is_updated_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(module, "DELAY_SECONDS", 0.01)
    with module.solver_status() as line:
        line.update(12, 10, "compiling [/b] :x:")
        deadline = time.monotonic() + 5
        while "compiling" not in terminal.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert "best 12 B  bound 10 B  gap 20.00%  compiling [/b] :x:" in terminal.getvalue()
    ended = terminal.getvalue()
    assert "\x1b[?25h" in ended  # the cursor is back
    time.sleep(0.1)
    assert terminal.getvalue() == ended


def test_quick_work_and_work_off_a_terminal_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        if not stream.isatty():
            monkeypatch.setattr(module, "DELAY_SECONDS", 0.0)
        with module.solver_status() as line:
            line.update(1, 1, "x")
        assert stream.getvalue() == ""
