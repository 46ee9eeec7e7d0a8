"""``bench.bound_soundness`` on a few programs; and that it would tell of a bound that is too high."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from bench import bound_soundness
from bench.bound_soundness import Run, Tally, random_case, random_runs
from chipmodel.bounds.residency import residency_problem
from chipmodel.bounds.time_bound import time_bound
from chipmodel.chip.chip import Chip
from chipmodel.model.program import Loop, Program
from chipmodel.model.time_bound import TimeBound

QUICK = ("sync", "ping-pong", "prefetch-greedy", "ping-pong-across")
COUNTED_TWICE = 359
"""The seed of a program whose plan beat a bound that counted a channel's weights twice."""


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_no_plan_beats_the_bound(first: int) -> None:
    tally = Tally()
    for seed in range(first, first + 10):
        for run in random_runs(seed, QUICK):
            tally.add(run)
    assert not tally.beaten
    assert tally.counts["runs"] > 30
    assert tally.counts["joint"]


@pytest.mark.parametrize("seed", [0, 3, 7, 11, 19, COUNTED_TWICE])
def test_nor_does_the_exact_one(seed: int) -> None:
    runs = list(random_runs(seed, ("exact:5",)))
    assert runs
    assert not any(run.beaten for run in runs)


def test_cases_are_of_all_kinds() -> None:
    cases = [random_case(seed) for seed in range(80)]
    chips = [chip for _, chip in cases]
    assert {chip.npu.luna is None for chip in chips} == {False, True}
    assert {type(chip.dma).__name__ for chip in chips} >= {"Dma", "BurstDma"}
    assert {chip.dma.channels.count > 1 for chip in chips} == {False, True}
    assert any(isinstance(node, Loop) for program, _ in cases for node in program.body)
    asked = [residency_problem(program, chip, {}) for program, chip in cases if _straight(program)]
    assert sum(problem is not None and bool(problem.overlays) for problem in asked) > 3


def _straight(program: Program) -> bool:
    return all(hasattr(node, "work") for node in program.body)


def test_a_bound_that_is_too_high_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def high(program: Program, chip: Chip, path: Mapping[str, str], residency: bool = False) -> TimeBound:
        bound = time_bound(program, chip, path, residency)
        return replace(bound, cycles=bound.cycles * 50)

    monkeypatch.setattr(bound_soundness, "time_bound", high)
    assert bound_soundness.main(["--count", "3", "--streamers", "sync"])
    assert "BEATEN: seed" in capsys.readouterr().out


def test_what_is_said_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    assert not bound_soundness.main(["--count", "2", "--streamers", "sync,ping-pong"])
    assert "2 programs from seed 0 on: " in capsys.readouterr().out
    tally = Tally()
    tally.add(Run("x", "sync", {}, 10, 10, joint=True))
    tally.add(Run("x", "sync", {}, 30, 10, joint=False))
    assert str(tally) == (
        "2 runs, the bound decided by residency on 1, met by 1, median 100.0% above it; beaten by 0"
    )
