"""Sampled paths: their cycles, the coverage of the confidence interval, and Student's t."""

from collections import Counter
from fractions import Fraction
from random import Random

import pytest

from chipmodel.machine.simulate import simulate
from chipmodel.model.chances import Chances
from chipmodel.model.commands import Branch, BranchArm, Repeat
from chipmodel.paths.decisions import by_name
from chipmodel.paths.exact import AnalysisBudget, ExactAnalysis
from chipmodel.paths.sample import PathSampler, SampleStatistics, draw_index, student
from chipmodel.paths.tree import count_paths, weighted_tree
from tests.chipmodel.machine.test_simulate import PLAIN, compute, start, wait
from tests.support.chips import tiny_chip
from tests.support.every_path import random_chances, unrolled
from tests.support.random_commands import random_commands


@pytest.mark.parametrize(("degrees", "value"), [(15, 2.1314), (29, 2.0452), (99, 1.9842), (999, 1.9623)])
def test_quantiles_of_student(degrees: int, value: float) -> None:
    # The two-sided 95 % column of any table of Student's t.
    assert student(degrees) == pytest.approx(value, abs=1e-4)


def test_an_interval_by_hand() -> None:
    statistics = SampleStatistics()
    for cycles in range(1, 17):
        statistics.add(cycles, None)
    # Mean 8.5, variance 68 / 3, so the standard error is sqrt(68 / 48) = 1.190238.
    low, high = statistics.interval()
    assert statistics.mean == Fraction(17, 2)
    assert low == pytest.approx(8.5 - 2.1314 * 1.190238, abs=1e-3)
    assert high == pytest.approx(8.5 + 2.1314 * 1.190238, abs=1e-3)


def test_indices_are_drawn_with_their_probabilities() -> None:
    random = Random(1)
    chances = (Fraction(1, 6), Fraction(1, 2), Fraction(1, 3))
    counts = Counter(draw_index(chances, random) for _ in range(6000))
    assert [round(counts[n] / 1000) for n in range(3)] == [1, 3, 2]
    assert {draw_index((Fraction(1),), random) for _ in range(9)} == {0}


@pytest.mark.slow
def test_sampled_paths_take_the_cycles_of_the_simulator() -> None:
    tried = 0
    for seed in range(120):
        random = Random(seed)
        chip = tiny_chip(random)
        commands = random_commands(random, chip.shared_memory.bytes, random.randint(4, 30))
        tree = weighted_tree(commands, random_chances(commands, random), {})
        if count_paths(tree) < 3:
            continue
        tried += 1
        sampler = PathSampler(tree, chip, seed)
        for _ in range(3):
            sampler.sample()
        for found in (sampler.statistics.least, sampler.statistics.most):
            assert found is not None
            assert simulate(unrolled(commands, by_name(found[1])), chip).cycles == found[0]
    assert tried > 20


@pytest.mark.slow
def test_the_interval_holds_the_mean_in_about_95_of_100_samples() -> None:
    arms = BranchArm("slow", (compute("s", 40),)), BranchArm("fast", (start("w", 3), wait("w")))
    body = (Branch("g", arms), compute("c", 4))
    commands = (start("a", 30), Repeat("l", 4, body), Branch("last", arms), wait("a"))
    chances = Chances({"g": {"slow": Fraction(1, 3), "fast": Fraction(2, 3)}}, {})
    chances = Chances(chances.arms, {"l": ((1, Fraction(1, 5)), (4, Fraction(4, 5)))})
    tree = weighted_tree(commands, chances, {})
    (end,) = ExactAnalysis(PLAIN, AnalysisBudget(10**6, 10**6)).all_paths(tree).ends.values()
    held = 0
    for seed in range(150):
        sampler = PathSampler(tree, PLAIN, seed)
        for _ in range(40):
            sampler.sample()
        low, high = sampler.statistics.interval()
        held += low <= end.cycles <= high
    # Of 150, 142.5 on average with a standard deviation of 2.7; a wrong quantile or spread is far outside.
    assert 132 <= held <= 149


def test_the_same_seed_draws_the_same_paths() -> None:
    tree = weighted_tree(
        (Repeat("l", 9, (Branch("g", (BranchArm("a", (compute("c", 4),)), BranchArm("b", ()))),)),),
        Chances(),
        {},
    )

    def means(seed: int) -> list[Fraction]:
        sampler = PathSampler(tree, PLAIN, seed)
        found: list[Fraction] = []
        for _ in range(20):
            sampler.sample()
            found.append(sampler.statistics.mean)
        return found

    assert means(1) == means(1)
    assert means(1) != means(2)
