"""The search ``further-memories`` on a few seeds, and that it reports what is wrong."""

from __future__ import annotations

from collections import Counter

import pytest

from chipmodel.model.program import Program
from tests.fuzz import further_memories
from tests.fuzz.further_memories import check
from tests.fuzz.fuzzer import Fault


def test_random_plans_are_right() -> None:
    seen = sum(map(check, (*range(8), 10, 64)), Counter[str]())
    assert seen["planned"] > seen["refused"]
    assert seen["further transfers"] > 5
    assert seen["moves"] > seen["moves to Psram"] > 0
    assert seen["paths"]


def test_the_search_reports_what_the_verifier_says(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(program: Program, *rest: object) -> tuple[str, ...]:
        return ("as if",)

    monkeypatch.setattr(further_memories, "verify_file", wrong)
    with pytest.raises(Fault, match="as if"):
        _ = [*map(check, range(4))]
