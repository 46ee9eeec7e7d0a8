"""``bench.random_trees`` on a few trees: every merger, packer and streamer, checked as in the long run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest

from bench import random_trees
from bench.random_trees import PACKERS, Fault, combinations, look, look_all, random_tree
from chipmodel.chip.chip import Chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.commands import Command
from chipmodel.model.program import If, Loop, Node, Program
from chipmodel.model.trace import Trace
from dma.stream import streamers
from solvers.branches.mergers import mergers

BATCHES = 4
TREES = 5
FITS = 2
"""The seed of a tree that fits its chip with large-first, and runs."""


@pytest.mark.parametrize("batch", range(BATCHES))
def test_every_combination_passes_on_random_trees(batch: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(batch * TREES, (batch + 1) * TREES):
        seen += look_all(seed, 1)
    assert seen["trees"] == TREES
    assert seen["verified"]
    assert seen["paths"] > TREES


def test_combinations_take_turns_until_each_has_been_met() -> None:
    turns = combinations()
    assert len(turns) == len(set(turns)) == len(mergers()) * len(PACKERS) * len(streamers())


def depth(body: tuple[Node, ...]) -> int:
    inner = [arm.body for n in body if isinstance(n, If) for arm in n.arms]
    inner += [n.body for n in body if isinstance(n, Loop)]
    return 1 + max(map(depth, inner)) if inner else 0


def test_trees_are_up_to_five_deep() -> None:
    assert max(depth(random_tree(seed)[0].body) for seed in range(4, 100, 5)) == 5


def test_a_wrong_plan_is_told_with_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    def verify(program: Program, commands: tuple[Command, ...], chip: Chip) -> tuple[str, ...]:
        return ("a fault",)

    monkeypatch.setattr(random_trees, "verify", verify)
    with pytest.raises(Fault, match=rf"seed {FITS}, .*a fault"):
        look(FITS, ("conflict", "large-first", "ping-pong-across"))


def test_two_machines_that_differ_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(commands: tuple[Command, ...], chip: Chip, choices: Mapping[str, str]) -> Trace:
        trace = simulate(commands, chip, choices)
        return replace(trace, cycles=trace.cycles + 1)

    monkeypatch.setattr(random_trees, "simulate", late)
    with pytest.raises(Fault, match="differ"):
        look(FITS, ("conflict", "large-first", "sync"))
