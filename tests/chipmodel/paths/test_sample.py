"""Sampled paths: their cycles, the coverage of the confidence interval, and Student's t."""

from collections import Counter
from fractions import Fraction
from random import Random

import pytest

from chipmodel.model.chances import Chances
from chipmodel.model.commands import Branch, BranchArm, Repeat
from chipmodel.paths.sample import PathSampler, SampleStatistics, draw_index, student
from chipmodel.paths.tree import weighted_tree
from tests.chipmodel.machine.test_simulate import PLAIN, compute


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
