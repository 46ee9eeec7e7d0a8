"""No test's answer depends on how fast the machine is: tests do not read clocks, and do not wait in seconds.

What a test may do instead: count work, or put a counted clock in the place of the real one
(``tests/support/work.py``); limit a search by nodes; wait for an event. Speed is measured in ``bench``.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.support.folders import ROOT

TESTS = ROOT / "tests"
CLOCKS = {
    *("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time"),
    *("process_time_ns", "thread_time", "thread_time_ns", "sleep"),
}
"""Of the module ``time``; also those imported by name."""
WAITS = {"timeout", "wait_for_timeout"}
"""Parameters and methods that give up, or go on, after some time."""
CLOCK_IN_A_SCRIPT = re.compile(r"\bimport [\w, ]*\btime\b|\btime\.(sleep|monotonic|\w+_counter|process_time)")
"""Texts that are Python code for another process."""
ALLOWED = {
    "support/work.py": "waits minutes for what happens in any case",
    "conftest.py": "the browser gives up after minutes",
    "solvers/core/test_deadline.py": "the beginning of a limit that a clock of its own ends",
    "fuzz/runner.py": "a command for hours, which reports its progress; its tests give it numbers of runs",
    "fuzz/study_kills.py": "kills processes at random moments; gives up after minutes",
}
"""Files that may read a clock, and why."""


def _called(node: ast.Call) -> str:
    match node.func:
        case ast.Attribute(ast.Name("time"), name) if name in CLOCKS:
            return f"time.{name}"
        case ast.Attribute(_, name) | ast.Name(name):
            return name
        case _:
            return ""


def clocks(tree: ast.AST) -> list[tuple[int, str]]:
    """Line and name of each use of a clock."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        match node:
            case ast.Import(names) if any(each.name == "time" for each in names):
                found.append((node.lineno, "import time"))
            case ast.ImportFrom("time", names):
                found.append((node.lineno, "from time import"))
            case ast.Call(keywords=keywords):
                name = _called(node)
                found += [(node.lineno, each.arg) for each in keywords if each.arg in WAITS]
                found += [(node.lineno, name)] if name in WAITS else []
            case ast.Constant(str(text)) if CLOCK_IN_A_SCRIPT.search(text):
                found.append((node.lineno, text[:60]))
            case _:
                pass
    return found


FILES = {str(path.relative_to(TESTS)): path for path in sorted(TESTS.rglob("*.py"))}


@cache
def trees() -> dict[str, ast.Module]:
    """Every other test's syntax, read when a test asks for it: collecting the tests takes no time for it."""
    return {
        name: ast.parse(path.read_text(encoding="utf-8"))
        for name, path in FILES.items()
        if path != Path(__file__).resolve()
    }


@pytest.mark.slow
def test_no_test_reads_a_clock() -> None:
    found = {name: clocks(tree) for name, tree in trees().items()}
    new = {name: uses for name, uses in found.items() if uses and name not in ALLOWED}
    assert new == {}, "count work (tests/support/work.py), or measure in bench/"
    assert [name for name in ALLOWED if not found[name]] == [], "need no leave any more"


@pytest.mark.parametrize(
    ("code", "number"),
    [
        ("import time", 1),
        ("from time import perf_counter", 1),
        ("run('import sys, time; print()')", 1),
        ("process.wait(timeout=3)", 1),
        ("page.wait_for_timeout(50)", 1),
        ("page.wait_for_selector('x')", 0),
    ],
)
def test_clocks_are_found(code: str, number: int) -> None:
    assert len(clocks(ast.parse(code))) == number
