"""A spinner for slow work on a terminal, and Ctrl-C, which ends what searches with what it has."""

import io
import os
import signal
import sys
import threading
from collections.abc import Iterator

import click
import pytest

from chipmodel.cli.options import until_stopped
from chipmodel.terminal import progress
from chipmodel.terminal.progress import calling, observed_by, spinner, stage
from chipmodel.terminal.stopping import stopping
from tests.support.work import wait_until


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
    wait_until(lambda: text in stream.getvalue())


def started(before: set[threading.Thread]) -> set[threading.Thread]:
    """Threads that run now and did not run then; those of earlier tests may end meanwhile."""
    return set(threading.enumerate()) - before


def test_slow_work_shows_a_message_until_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, before = open_terminal(monkeypatch), set(threading.enumerate())
    with spinner("planning resnet18"):
        wait_for(terminal, "planning")
        assert "planning resnet18" in terminal.getvalue()
    ended = terminal.getvalue()
    assert ended.endswith("\x1b[2K") or "\x1b[?25h" in ended  # the line is cleared, the cursor back
    wait_until(lambda: not started(before))  # nobody is left to write later
    assert terminal.getvalue() == ended


def test_the_message_says_what_ctrl_c_does_while_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    with stopping(to_best=False), spinner("running"):
        wait_for(terminal, "running")
    assert "Ctrl-C" not in terminal.getvalue()
    with stopping() as stop, spinner("planning") as say:
        wait_for(terminal, "planning; Ctrl-C ends with the best found so far")
        stop.asked = True
        say("the last one")
        wait_for(terminal, "planning: the last one")
    assert "the last one; Ctrl-C" not in terminal.getvalue()
    assert not progress.HINTS


def test_names_are_not_interpreted_as_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    with spinner("reading [/b][red]w.yaml :x:"):
        wait_for(terminal, "reading")
    assert "reading [/b][red]w.yaml :x:" in terminal.getvalue()


def test_quick_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The delay is one that no machine reaches: what is quick is not what is asked here."""
    terminal, before = open_terminal(monkeypatch), set(threading.enumerate())
    monkeypatch.setattr(progress, "DELAY_SECONDS", 3600.0)
    with spinner("planning"):
        assert started(before)
    wait_until(lambda: not started(before))  # nobody is left to write later
    assert terminal.getvalue() == ""


def test_an_error_passes_through_and_ends_the_spinner(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, before = open_terminal(monkeypatch), set(threading.enumerate())

    def fail() -> None:
        with spinner("planning"):
            wait_for(terminal, "planning")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    ended = terminal.getvalue()
    assert "\x1b[?25h" in ended
    wait_until(lambda: not started(before))  # nobody is left to write later
    assert terminal.getvalue() == ended


def test_nothing_is_shown_off_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.0)
    monkeypatch.delattr(progress, "Timer")  # and nothing waits in the background either
    with spinner("planning"):
        pass
    assert stream.getvalue() == ""


def test_a_library_is_silent_unless_somebody_observes(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, before = open_terminal(monkeypatch), set(threading.enumerate())
    with stage("planning") as say:
        say(1)
        assert not started(before)
    assert terminal.getvalue() == ""


def test_an_observer_hears_of_each_stage_and_how_far_it_is_and_of_none_afterwards() -> None:
    heard: list[str] = []
    with observed_by(calling(heard.append)):
        with stage("planning") as say:
            say("candidate 2")
        with stage("simulating"):
            pass
    with stage("rendering"):
        pass
    assert heard == ["planning", "planning: candidate 2", "simulating"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_and_the_second_is_as_ever(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with stopping() as stop:
        assert signal.getsignal(number) is not before
        os.kill(os.getpid(), number)
        assert stop.asked
        assert signal.getsignal(number) is before
    assert signal.getsignal(number) is before


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Python's own reaction to Ctrl-C: a process in the background of a shell may ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_a_command_ends_its_searches_at_the_first_ctrl_c(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGINT)
    with click.Context(click.Command("simulate")):
        limit = until_stopped(None)
        assert not limit.deadline.over
        os.kill(os.getpid(), signal.SIGINT)
        assert limit.deadline.over
        assert limit.grace.over
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    said = "note: ending with the best found so far; Ctrl-C again ends at once\n"
    assert capsys.readouterr().err == said
