"""Inputs on which users found faults, each by its command: exit code, and what is printed."""

import shlex
from pathlib import Path

import pytest

from tests.support.command_line import Call
from tests.support.folders import ROOT
from tests.support.mistakes import mistakes

CASES = ROOT / "tests" / "data" / "cases"


@pytest.mark.parametrize(("code", "command", "words"), mistakes("users_cases"))
def test_what_is_right(code: str, command: str, words: str, tmp_path: Path, call: Call) -> None:
    arguments = shlex.split(command)
    named = [str(CASES / each) if (CASES / each).exists() else each for each in arguments]
    named = [str(tmp_path / each) if each.startswith("new.") else each for each in named]
    found, out, err = call(*named)
    assert (found, words in " ".join((out + err).split())) == (int(code), True), out + err


def test_a_limit_without_an_earlier_value_is_named(tmp_path: Path, call: Call) -> None:
    base = tmp_path / "base.json"
    text = (CASES / "ci_base_no_match.json").read_text(encoding="utf-8")
    base.write_text(text.replace('"quantity": "x"', '"quantity": "peak"'), encoding="utf-8")
    code, _, err = call("ci", str(CASES / "ci_budget.yaml"), "--against", str(base))
    assert code == 0
    assert "compared with nothing, as the earlier report has no value: latency of zoo:ds_cnn" in " ".join(
        err.split()
    )
