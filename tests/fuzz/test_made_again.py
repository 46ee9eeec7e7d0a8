"""The search ``made-again`` on a few seeds."""

from __future__ import annotations

from collections import Counter

from tests.fuzz.made_again import check

SEEDS = (*range(40), 59, 391)
"""In 59 a round begins with rows that were made before; in 391 rows that nobody needs are made at the end."""


def test_random_cascades_that_compute_rows_again_are_right() -> None:
    seen = sum(map(check, SEEDS), Counter[str]())
    assert seen["again"] > len(SEEDS) // 3
    assert seen["more_macs"] > 5
    assert seen["in_bands"]
    assert seen["adding_up"]
    assert seen["executed"] > len(SEEDS) // 3
    assert seen["without_moves"] > len(SEEDS) // 4
