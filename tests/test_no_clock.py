"""No test's answer depends on how fast the machine is: tests do not read clocks, and do not wait in seconds.

What a test may do instead: count work, or put a counted clock in the place of the real one
(``tests/support/work.py``); limit a search by nodes; wait for an event. Speed is measured in ``bench``.
"""

from __future__ import annotations

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
LIMITS = re.compile(r"^--time-limit$|\btime_limit: |^--timeout")
"""Texts that give a command or a study a limit in seconds."""
ALLOWED = {
    "support/work.py": "waits minutes for what happens in any case",
    "conftest.py": "the browser gives up after minutes",
    "solvers/core/test_deadline.py": "the beginning of a limit that a clock of its own ends",
    "fuzz/runner.py": "a command for hours, which reports its progress; its tests give it numbers of runs",
    "fuzz/study_kills.py": "kills processes at random moments; gives up after minutes",
}
"""Files that may read a clock, and why."""
ALLOWED_LIMITS = {
    "solvers/core/test_deadline.py": "asks how much of a limit is left, by a clock of its own",
    "fuzz/hostile/examples.py": "a study that is read after it was damaged, and never run",
    "chipmodel/cli/test_plan.py": "0 seconds, which are over on any machine",
    "chipmodel/cli/test_pack.py": "bad limits, which are refused",
    "chipmodel/cli/test_compare.py": "bad limits, which are refused",
    "chipmodel/studies/test_pool.py": "its point is killed; the limit only ends what a failing test leaves",
    "chipmodel/studies/test_answer.py": "compares the limits that are read, and runs nothing",
    "chipmodel/studies/test_points.py": "compares the limits that are read, and runs nothing",
    "chipmodel/studies/test_study_file.py": "compares the limits that are read, and runs nothing",
}
"""Files that may name a limit in seconds to a command or in a study, and why."""
MOST_HARMLESS_SECONDS = 1000
"""``Limits(seconds=...)``: 0 is over at once, so many are never over; anything between is a race."""


def _called(node: ast.Call) -> str:
    match node.func:
        case ast.Attribute(ast.Name("time"), name) if name in CLOCKS:
            return f"time.{name}"
        case ast.Attribute(_, name) | ast.Name(name):
            return name
        case _:
            return ""


def _seconds(node: ast.Call) -> list[ast.expr]:
    """What a call of ``Limits`` or ``StopCriterion`` gives as its seconds."""
    given = node.args[:1] if _called(node) == "Limits" else []
    return given + [each.value for each in node.keywords if each.arg == "seconds"]


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


def races(tree: ast.AST) -> list[tuple[int, str]]:
    """Line and text of each limit in seconds that a slow machine may reach and a fast one may not."""
    fake = "counted_clock" in {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) in ("Limits", "exact", "solve") and not fake:
            values = [v.value for v in _seconds(node) if isinstance(v, ast.Constant)]
            between = [v for v in values if isinstance(v, int | float) and 0 < v < MOST_HARMLESS_SECONDS]
            found += [(node.lineno, f"seconds={value}") for value in between]
    return found


def limits(tree: ast.AST) -> list[tuple[int, str]]:
    """Line and text of each limit in seconds that a command or a study is given."""
    texts = (n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str))
    return [(node.lineno, str(node.value)[:60]) for node in texts if LIMITS.search(str(node.value))]


FILES = {str(path.relative_to(TESTS)): path for path in sorted(TESTS.rglob("*.py"))}


@cache
def trees() -> dict[str, ast.Module]:
    """Every other test's syntax, read when a test asks for it: collecting the tests takes no time for it."""
    return {
        name: ast.parse(path.read_text(encoding="utf-8"))
        for name, path in FILES.items()
        if path != Path(__file__).resolve()
    }


def test_no_test_reads_a_clock() -> None:
    found = {name: clocks(tree) for name, tree in trees().items()}
    new = {name: uses for name, uses in found.items() if uses and name not in ALLOWED}
    assert new == {}, "count work (tests/support/work.py), or measure in bench/"
    assert [name for name in ALLOWED if not found[name]] == [], "need no leave any more"


def test_no_search_in_a_test_ends_by_the_clock() -> None:
    found = {name: races(tree) for name, tree in trees().items()}
    new = {name: uses for name, uses in found.items() if uses and name not in ALLOWED_LIMITS}
    assert new == {}, "limit it by nodes"


def test_no_command_in_a_test_ends_by_the_clock() -> None:
    found = {name: limits(tree) for name, tree in trees().items()}
    new = {name: uses for name, uses in found.items() if uses and name not in ALLOWED_LIMITS}
    assert new == {}, "use --node-limit or node_limit"
    needed = [name for name in ALLOWED_LIMITS if found[name] or races(trees()[name])]
    assert needed == list(ALLOWED_LIMITS), "the others need no leave any more"


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


@pytest.mark.parametrize(
    ("code", "number"),
    [("Limits(seconds=5.0)", 1), ("Limits(30)", 1), ("Limits(seconds=0.0)", 0), ("Limits(nodes=5)", 0)],
)
def test_races_are_found(code: str, number: int) -> None:
    assert len(races(ast.parse(code))) == number
