"""The search ``cycle-bounds`` on a few programs, and that it reports a bound that is too high."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest

from chipmodel.bounds.time_bound import time_bound
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Loop, Program
from chipmodel.model.time_bound import TimeBound
from tests.fuzz import cycle_bounds
from tests.fuzz.cycle_bounds import BoundedRun, random_case, random_runs, tally
from tests.fuzz.runner import main

QUICK = ("sync", "ping-pong", "prefetch-greedy", "ping-pong-across")


def test_no_plan_beats_the_bound() -> None:
    seen = sum((tally(random_runs(seed, QUICK)) for seed in range(6)), Counter[str]())
    assert seen["runs"] > 18
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


def test_cases_are_of_all_kinds() -> None:
    cases = [random_case(seed) for seed in range(160)]
    chips = [chip for _, chip in cases]
    assert {chip.npu.luna is None for chip in chips} == {False, True}
    assert {type(chip.dma).__name__ for chip in chips} >= {"Dma", "BurstDma"}
    assert {chip.dma.channels.count > 1 for chip in chips} == {False, True}
    assert any(isinstance(node, Loop) for program, _ in cases for node in program.body)


def test_a_bound_that_is_too_high_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def high(program: Program, chip: Chip, path: Mapping[str, str], cascades: bool) -> TimeBound:
        bound = time_bound(program, chip, path, cascades)
        return replace(bound, cycles=bound.cycles * 50)

    monkeypatch.setattr(cycle_bounds, "time_bound", high)
    assert main(["cycle-bounds", "--count", "3", "--streamers", "sync"]) == 1
    assert capsys.readouterr().out.startswith("seed 0: Fault: seed 0, sync, ")


def test_counts_of_runs() -> None:
    runs = (
        BoundedRun("x", "sync", {}, 10, 10, joint=True),
        BoundedRun("x", "sync", {}, 30, 10, joint=False),
    )
    assert tally(iter(runs)) == Counter(runs=2, joint=1, tight=1)
