"""Statistics of a study: brute-force oracles, and figures of their authors."""

from itertools import product

import pytest
from hypothesis import given, settings, strategies as st

from chipmodel.answers import study_statistics
from chipmodel.answers.study_statistics import holm, wilcoxon


def by_all_signs(differences: list[float]) -> float:
    """The share of all choices of signs whose rank sum is at least as far from the middle."""
    sizes = sorted(abs(d) for d in differences if d)
    if not sizes:
        return 1.0
    rank = {
        size: sum(k + 1 for k, each in enumerate(sizes) if each == size) / sizes.count(size) for size in sizes
    }
    middle = sum(rank[size] for size in sizes) / 2

    def off(signs: tuple[bool, ...]) -> float:
        return abs(sum(rank[size] for sign, size in zip(signs, sizes, strict=True) if sign) - middle)

    asked = abs(sum(rank[abs(d)] for d in differences if d > 0) - middle)
    choices = [*product((True, False), repeat=len(sizes))]
    return sum(off(signs) >= asked for signs in choices) / len(choices)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-5, 5), max_size=8))
def test_wilcoxons_test_counts_all_signs(differences: list[float]) -> None:
    assert wilcoxon(differences) == pytest.approx(by_all_signs(differences))


def test_wilcoxons_test_of_darwins_maize() -> None:
    """Differences of 15 pairs of plants in eighths of an inch (C. Darwin, The Effects of Cross and Self
    Fertilisation, 1876): W = 24, for which tables give p = 0.0413, two-sided."""
    darwin = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
    assert wilcoxon(darwin) == pytest.approx(0.0413, abs=5e-5)


def test_many_pairs_are_as_good_as_normal(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [(1 if k * 7 % 13 < 7 else -1) * (k % 17 + 1) for k in range(300)]
    exact = wilcoxon(pairs)
    monkeypatch.setattr(study_statistics, "MOST_EXACT", 0)
    assert wilcoxon(pairs) == pytest.approx(exact, rel=0.02)


def test_holms_correction_is_that_of_its_example() -> None:
    """p-values 0.01, 0.04, 0.03, 0.005 of four hypotheses, as S. Holm's procedure steps through them."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
