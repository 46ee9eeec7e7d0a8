"""Work that is counted instead of timed: a busy machine changes seconds, but no count."""

import time
from collections.abc import Callable
from cProfile import Profile
from dataclasses import dataclass

import pytest

PATIENCE_SECONDS = 300.0
"""How long to wait for another thread or process, which a busy machine may start late: no test's answer
depends on it, and only what will never happen takes so long."""


def calls(work: Callable[[], object]) -> int:
    """How many calls ``work`` makes in this thread: of functions, built-in ones too, and resumed generators.

    What happens inside of one built-in call (a sort, a regular expression, compiled code) counts as one.
    The first run in a process also counts imports and the filling of caches.
    """
    profile = Profile()
    profile.enable()
    try:
        work()
    finally:
        profile.disable()
    return sum(entry.callcount for entry in profile.getstats())


@dataclass
class CountedClock:
    """A clock that is ``step`` seconds later each time that it is read."""

    step: float
    reads: int = 0

    def __call__(self) -> float:
        self.reads += 1
        return self.reads * self.step


def counted_clock(monkeypatch: pytest.MonkeyPatch, step: float, *modules: str) -> CountedClock:
    """Put one ``CountedClock`` in the place of ``perf_counter`` in these modules, which share it."""
    clock = CountedClock(step)
    for module in modules:
        monkeypatch.setattr(f"{module}.perf_counter", clock)
    return clock


def wait_until(happened: Callable[[], bool]) -> None:
    """Wait for what another thread or process does; fails after ``PATIENCE_SECONDS``."""
    began = time.monotonic()
    while not happened():
        assert time.monotonic() - began < PATIENCE_SECONDS, "what the test waits for does not happen"
        time.sleep(0.01)
