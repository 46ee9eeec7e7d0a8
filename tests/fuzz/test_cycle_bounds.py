"""The search ``cycle-bounds`` on a few programs, and that it reports a bound that is too high."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest

from chipmodel.bounds.time_bound import time_bound
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Program
from chipmodel.model.time_bound import TimeBound
from tests.fuzz import cycle_bounds
from tests.fuzz.cycle_bounds import random_runs, tally
from tests.fuzz.runner import main

QUICK = ("sync", "ping-pong", "prefetch-greedy", "ping-pong-across")


def test_no_plan_beats_the_bound() -> None:
    seen = sum((tally(random_runs(seed, QUICK)) for seed in range(4)), Counter[str]())
    assert seen["runs"] > 10
    assert seen["joint"]


@pytest.mark.slow
def test_no_plan_beats_the_bound_for_cascades() -> None:
    runs = (random_runs(seed, ("prefetch-greedy",), cascades=True) for seed in range(14))
    seen = sum(map(tally, runs), Counter[str]())
    assert seen["runs"] > 10
    assert seen["joint"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 7, 11])
def test_no_exact_plan_beats_the_bound(seed: int) -> None:
    assert tally(random_runs(seed, ("exact:5",)))["runs"]


def test_a_bound_that_is_too_high_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def high(program: Program, chip: Chip, path: Mapping[str, str], cascades: bool) -> TimeBound:
        bound = time_bound(program, chip, path, cascades)
        return replace(bound, cycles=bound.cycles * 50)

    monkeypatch.setattr(cycle_bounds, "time_bound", high)
    assert main(["cycle-bounds", "--count", "3", "--streamers", "sync"]) == 1
    assert capsys.readouterr().out.startswith("seed 0: Fault: seed 0, sync, ")
