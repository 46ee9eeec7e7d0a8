"""The status line of a solver: on a terminal only, removed at the end."""

from __future__ import annotations

import io
import sys
import threading

import pytest

from chipmodel.terminal import solver_status as module
from chipmodel.terminal.progress import calling, observed_by, spinner
from chipmodel.terminal.solver_status import SolverStatus
from tests.support.work import wait_until


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
    terminal, before = Terminal(), threading.active_count()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(module, "DELAY_SECONDS", 0.01)
    with observed_by(spinner), module.solver_status() as line:
        line.update(12, 10, "compiling [/b] :x:")
        wait_until(lambda: "compiling" in terminal.getvalue())
        assert "best 12 B  bound 10 B  gap 20.00%  compiling [/b] :x:" in terminal.getvalue()
    ended = terminal.getvalue()
    assert "\x1b[?25h" in ended  # the cursor is back
    wait_until(lambda: threading.active_count() == before)  # nobody is left to write later
    assert terminal.getvalue() == ended


def test_quick_work_and_work_off_a_terminal_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(module, "DELAY_SECONDS", 3600.0 if stream.isatty() else 0.0)
        with observed_by(spinner), module.solver_status() as line:
            line.update(1, 1, "x")
        assert stream.getvalue() == ""


def test_an_observer_hears_of_every_change() -> None:
    heard: list[str] = []
    with observed_by(calling(heard.append)), module.solver_status() as line:
        line.update(12, 10, "searching")
    assert heard == ["packing", "packing: best 12 B  bound 10 B  gap 20.00%  searching"]
