"""The search ``core-splits`` on a few seeds, and that it reports faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from chipmodel.model.program import Program
from tests.fuzz import core_splits
from tests.fuzz.core_splits import check
from tests.fuzz.fuzzer import Fault

SEEDS = range(6, 15)


def check_all(seeds: Iterable[int]) -> Counter[str]:
    return sum(map(check, seeds), Counter[str]())


def test_random_splits_are_right() -> None:
    seen = check_all(SEEDS)
    assert all(seen[each] for each in ("rows", "channels", "again", "computed", "executed", "stepped"))
    assert seen["planned"] > len(SEEDS) // 2


def test_the_search_reports_a_bound_that_is_beaten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound that gives each op as a whole to one core is none for ops that are split."""

    def none(program: Program) -> frozenset[str]:
        return frozenset()

    monkeypatch.setattr("chipmodel.bounds.time_bound.splittable", none)
    with pytest.raises(Fault, match="faster than the lower bound"):
        check_all(range(100))


def test_the_search_reports_what_the_verifier_says(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: object) -> tuple[str, ...]:
        return ("as if",)

    monkeypatch.setattr(core_splits, "verify_cores", wrong)
    with pytest.raises(Fault, match="as if"):
        check_all(SEEDS)
