"""The search ``core-cascades`` on a few seeds, and that it reports faults."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.fuzz import core_cascades
from tests.fuzz.core_cascades import check
from tests.fuzz.fuzzer import Fault

SEEDS = (*range(12), 39)


def check_all() -> Counter[str]:
    return sum(map(check, SEEDS), Counter[str]())


def test_random_cascades_on_several_cores_are_right() -> None:
    seen = check_all()
    assert seen["planned"] > len(SEEDS) // 2
    assert all(
        seen[each]
        for each in ("on two cores or more", "in bands", "imports in a cascade", "exports of a cascade")
    )
    assert seen["executed"]


def test_the_search_reports_what_the_verifier_says(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: object) -> tuple[str, ...]:
        return ("as if",)

    monkeypatch.setattr(core_cascades, "verify_cores", wrong)
    with pytest.raises(Fault, match="as if"):
        check_all()
