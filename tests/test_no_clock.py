"""No test's answer depends on how fast the machine is: tests do not read clocks, and do not wait in seconds.

What a test may do instead: count work, or put a counted clock in the place of the real one
(``tests/support/work.py``); limit a search by nodes; wait for an event. Speed is measured in ``bench``.
"""

import re
from pathlib import Path

import pytest

from tests.support.folders import ROOT

CLOCK = re.compile(
    r"\bimport [\w, ]*\btime\b|\bfrom time import|\btime\.(sleep|monotonic|\w+_counter|process_time)"
    r"|\btimeout=|\bwait_for_timeout\("
)
"""A clock, also in a script for another process; a parameter or method that gives up after some time."""
ALLOWED = {
    "support/work.py": "waits minutes for what happens in any case",
    "conftest.py": "the browser gives up after minutes",
    "solvers/core/test_deadline.py": "the beginning of a limit that a clock of its own ends",
    "fuzz/runner.py": "a command for hours, which reports its progress; its tests give it numbers of runs",
    "fuzz/study_kills.py": "kills processes at random moments; gives up after minutes",
}
"""Files that may read a clock, and why."""


def test_no_test_reads_a_clock() -> None:
    tests = ROOT / "tests"
    files = {str(path.relative_to(tests)): path for path in tests.rglob("*.py") if path != Path(__file__)}
    found = {name for name, path in files.items() if CLOCK.search(path.read_text(encoding="utf-8"))}
    assert found == {*ALLOWED}, "count work (tests/support/work.py), or measure in bench/"


@pytest.mark.parametrize("code", ["import sys, time; print()", "process.wait(timeout=3)", "time.sleep(1)"])
def test_clocks_are_found(code: str) -> None:
    assert CLOCK.search(code)
