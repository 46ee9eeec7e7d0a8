"""The search ``rows-in-place`` on a few seeds, and that it reports faults."""

from __future__ import annotations

from collections import Counter

import pytest

from chipmodel.model.program import Program
from tests.fuzz import cascades
from tests.fuzz.fuzzer import Fault
from tests.fuzz.rows_in_place import check

SEEDS = range(20)
TREE = 1078
"""Tensors of a concat, one of which the op after it overwrites byte for byte, and that one row by row."""


def test_random_ops_in_place_by_rows_are_right() -> None:
    seen = sum(map(check, (*SEEDS, TREE)), Counter[str]())
    assert seen["in_rows"] > len(SEEDS)
    assert seen["executed"]
    assert seen["across_the_end"]
    assert seen["without_moves"]


def test_the_search_reports_what_the_verifier_says(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(program: Program, *rest: object) -> tuple[str, ...]:
        return ("as if",)

    monkeypatch.setattr(cascades, "verify_file", wrong)
    with pytest.raises(Fault, match="as if"):
        check(TREE)
