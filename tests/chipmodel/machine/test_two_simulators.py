"""The event-driven simulator against the one that counts every cycle: banks, channels, the CPU,
refreshes and clock ratios included. ``python -m tests.fuzz two-simulators`` tries more seeds."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.fuzz.two_simulators import check

BATCHES = 1
BATCH = 200
LONGEST = 3000
"""Cycles: nine runs of ten are shorter, and the others take most of the time."""


@pytest.mark.parametrize("batch", range(BATCHES))
def test_traces_are_equal_event_for_event(batch: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        seen += check(seed, LONGEST)
    assert seen["skipped"] < 0.2 * BATCH
    assert seen["bank"] > 100
    assert seen["arbitration"] > 100
    assert seen["cpu"] > 100
    assert seen["refresh"]
