"""A spinner for slow work on a terminal, and no output otherwise."""

from __future__ import annotations

import io
import sys
import time

import pytest

from chipmodel.terminal import progress
from chipmodel.terminal.progress import stage


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def open_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Not a fixture: between setup and test, pytest puts its own stderr in place."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.01)
    return stream


def wait_for(stream: Terminal, text: str) -> None:
    deadline = time.monotonic() + 5
    while text not in stream.getvalue() and time.monotonic() < deadline:
        time.sleep(0.01)


def test_slow_work_shows_a_message_until_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    with stage("planning resnet18"):
        wait_for(terminal, "planning")
        assert "planning resnet18" in terminal.getvalue()
    ended = terminal.getvalue()
    assert ended.endswith("\x1b[2K") or "\x1b[?25h" in ended  # the line is cleared, the cursor back
    time.sleep(0.1)
    assert terminal.getvalue() == ended


def test_names_are_not_interpreted_as_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    with stage("reading [/b][red]w.yaml :x:"):
        wait_for(terminal, "reading")
    assert "reading [/b][red]w.yaml :x:" in terminal.getvalue()


def test_quick_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.05)
    with stage("planning"):
        pass
    time.sleep(0.1)
    assert terminal.getvalue() == ""


def test_an_error_passes_through_and_ends_the_spinner(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)

    def fail() -> None:
        with stage("planning"):
            wait_for(terminal, "planning")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    ended = terminal.getvalue()
    assert "\x1b[?25h" in ended
    time.sleep(0.1)
    assert terminal.getvalue() == ended


def test_nothing_is_shown_off_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.0)
    monkeypatch.delattr(progress, "Timer")  # and nothing waits in the background either
    with stage("planning"):
        time.sleep(0.05)
    assert stream.getvalue() == ""
