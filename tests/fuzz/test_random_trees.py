"""The search ``random-trees`` on a few seeds, and that it reports faults."""

from collections import Counter

import pytest

from chipmodel.hardware.chip import Chip
from chipmodel.model.commands import Command
from chipmodel.model.program import Program
from dma.stream import streamers
from solvers.branches.mergers import mergers
from tests.fuzz import random_trees
from tests.fuzz.fuzzer import Fault
from tests.fuzz.random_trees import PACKERS, check, check_one, combinations, random_tree
from tests.support.random_trees import depth

BATCHES = 2
FIRST = 10
"""Of the trees before it one takes as long as ten others."""
TREES = 3
FITS = 2
"""The seed of a tree that fits its chip with large-first, and runs."""


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_every_combination_passes_on_random_trees(batch: int) -> None:
    seeds = range(FIRST + batch * TREES, FIRST + (batch + 1) * TREES)
    seen = sum((check(seed, 1) for seed in seeds), Counter[str]())
    assert seen["trees"] == TREES
    assert seen["verified"]
    assert seen["paths"] > TREES


def test_combinations_are_all_different_and_complete() -> None:
    turns = combinations()
    assert len(turns) == len(set(turns)) == len(mergers()) * len(PACKERS) * len(streamers())


def test_trees_are_up_to_five_deep() -> None:
    assert max(depth(random_tree(seed)[0].body) for seed in range(4, 100, 5)) == 5


def test_a_wrong_plan_is_reported_with_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    def verify(program: Program, commands: tuple[Command, ...], chip: Chip) -> tuple[str, ...]:
        return ("a fault",)

    monkeypatch.setattr(random_trees, "verify", verify)
    with pytest.raises(Fault, match=rf"seed {FITS}, .*a fault"):
        check_one(FITS, ("conflict", "large-first", "ping-pong-across"))
