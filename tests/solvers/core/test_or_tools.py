"""What works without the packages that chipmodel[exact] adds, and what is said where it does not."""

from __future__ import annotations

from subprocess import CompletedProcess

import pytest

from tests.support.processes import run_python

HINT = "pip install 'chipmodel[exact]'"


def _without(*arguments: str, missing: str = "ortools,pandas") -> CompletedProcess[str]:
    """A command in a process that cannot import the ``missing`` packages."""
    code = f"import sys; sys.modules |= dict.fromkeys({missing!r}.split(','));"
    code += f"sys.argv = ['chipmodel', *{arguments!r}]; from chipmodel.cli.main import main; main()"
    return run_python(code)


def test_a_simulation_is_the_same_byte_for_byte() -> None:
    asked = ("simulate", "zoo:resnet8", "--json", "-")
    without, with_all = _without(*asked), _without(*asked, missing="nothing_that_exists")
    assert without.returncode == 0
    assert without.stderr == with_all.stderr
    assert without.stdout == with_all.stdout


def test_a_plan_that_mixed_integer_programming_might_better_is_made_and_says_so_once() -> None:
    ended = _without("simulate", "zoo:resnet8", "--streamer", "exact")
    assert ended.returncode == 0
    assert ended.stderr.count("decided by the state search") == 1
    assert ended.stderr.count(HINT) == 1


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        (("pack", "workloads/packing-example.csv", "--packer", "cp-sat"), "CP-SAT"),
        (("simulate", "zoo:resnet8", "--streamer", "exact", "--cascade", "off"), "mixed-integer programming"),
    ],
)
def test_what_needs_or_tools_is_refused_with_a_hint(asked: tuple[str, ...], what: str) -> None:
    ended = _without(*asked)
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"error: {what} needs OR-Tools, which is not installed")
    assert HINT in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_comparison_says_so_in_the_row_of_that_planner_only() -> None:
    ended = _without("compare", "zoo:resnet8", "--packers", "exact,cp-sat", "--streamers", "sync")
    assert ended.returncode == 0
    assert ended.stdout.count("CP-SAT needs OR-Tools") == 1
    assert "proven optimal" in ended.stdout


def test_the_exact_packer_answers_and_says_once_what_could_have_proven_more() -> None:
    ended = _without("pack", "guillotine:n=300,seed=1", "--node-limit", "200")
    assert ended.returncode == 0
    assert "259.8 KiB less is not" in ended.stdout
    assert ended.stderr.count("the packing search goes on alone") == 1
    assert ended.stderr.count(HINT) == 1
