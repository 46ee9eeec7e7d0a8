"""Ctrl-C once ends what searches with what it has; twice ends the command."""

import os
import signal
from collections.abc import Iterator

import click
import pytest

from chipmodel.cli.options import until_stopped
from chipmodel.terminal.stopping import stopping


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
