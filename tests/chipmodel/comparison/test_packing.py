"""A packing answered and checked: the work for many buffers."""

from random import Random

import pytest

from chipmodel.comparison.packing import checked_answer
from solvers.core.outcome import Limits
from solvers.exact import portfolio
from tests.support.work import calls
from workloads.packing.problem_csv import parse_packing

MOST_CALLS = 110
"""For each of 4,000 buffers, to read, pack and check them (94 measured; 128 when the planner checked too)."""


def test_many_buffers_are_read_packed_and_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portfolio, "MAX_BUFFERS_IN_SEARCH", 0)

    def work(count: int) -> int:
        text = _scattered(count)
        return calls(
            lambda: checked_answer(parse_packing(text, "x.csv"), "x.csv", "exact", Limits(seconds=0.0))
        )

    work(10)  # imports what is imported where it is used
    assert work(4_000) < MOST_CALLS * 4_000


def _scattered(count: int) -> str:
    """Buffers alive from anywhere on, in no order."""
    random = Random(2)
    rows = [
        f"b{i},{start},{start + 1 + random.randrange(200)},{random.choice((64, 128, 256, 1024))}"
        for i, start in enumerate(random.randrange(count // 2) for _ in range(count))
    ]
    return "\n".join(["id,lower,upper,size", *rows])
