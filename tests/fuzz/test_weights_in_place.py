"""The search ``weights-in-place`` on a few seeds, and that it reports what is wrong."""

from __future__ import annotations

from collections import Counter

import pytest

from chipmodel.model.program import Program
from tests.fuzz import weights_in_place
from tests.fuzz.fuzzer import Fault
from tests.fuzz.weights_in_place import check


def test_random_plans_are_right() -> None:
    seen = sum(map(check, range(12)), Counter[str]())
    assert seen["planned"] > seen["refused"]
    assert seen["in_place"]
    assert seen["paths"]


def test_the_search_reports_what_the_verifier_says(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(program: Program, *rest: object) -> tuple[str, ...]:
        return ("as if",)

    monkeypatch.setattr(weights_in_place, "verify_file", wrong)
    with pytest.raises(Fault, match="as if"):
        _ = [*map(check, range(6))]
