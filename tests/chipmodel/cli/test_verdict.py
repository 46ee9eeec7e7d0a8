"""The last word: whether a plan fits, and what a time limit leaves open."""

from dataclasses import replace

import pytest

from chipmodel.cli.verdict import verdict
from chipmodel.model.fit import Fit, MemoryNeed
from chipmodel.model.plan import Plan, Solved, Status


def fit(peak: int, psram: int = 0, weights: int = 0) -> Fit:
    shared = MemoryNeed("SharedMemory", "shared_memory.bytes", peak, 100)
    return Fit(shared, MemoryNeed("Psram", "psram.bytes", psram, 1000), weights)


def solved(status: Status = "unknown") -> Solved:
    return Solved(Plan({}), status, 0, 120, 0.0, "large-first")


def test_a_plan_that_fits_has_no_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert verdict(fit(100), solved(), True) == 0
    assert capsys.readouterr().err == ""


def test_that_nothing_else_fits_is_not_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert verdict(fit(120), solved(), False) == 1
    said = capsys.readouterr().err
    assert "packer large-first needs 120 B of 100 B; that no other plan fits is not proven" in said
    assert "--set shared_memory.bytes=120" in said


def test_after_a_time_limit_it_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert verdict(fit(120), solved(), True) == 3
    assert "--time-limit came before a plan that fits" in capsys.readouterr().err
    assert verdict(fit(120), solved("infeasible"), True) == 1


def test_weights_may_have_a_memory_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    own = MemoryNeed("memory of the weights", "weights.bytes", 1100, 1000)
    assert verdict(replace(fit(10, 20, 1100), weights=own), solved(), True) == 1
    said = capsys.readouterr().err
    assert "the memory of the weights needs 1,100 B of 1,000 B" in said
    assert "--set weights.bytes=1100" in said


def test_too_many_weights_are_proven_whatever_the_limit(capsys: pytest.CaptureFixture[str]) -> None:
    assert verdict(fit(10, 1200, 1100), solved(), True) == 1
    assert "the weights alone take 1,100 B" in capsys.readouterr().err
