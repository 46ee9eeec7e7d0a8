"""Random programs on random chips through the whole pipeline: every plan is checked by code that shares
nothing with the planners, and the event-driven simulator equals the one that counts every cycle.

``python -m tests.fuzz random-programs`` tries more seeds, with all of the exact streamer's nodes and longer
runs on the stepper.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.fuzz.random_programs import SMALL, check

BATCHES = 2
BATCH = 20


@pytest.mark.parametrize("batch", range(BATCHES))
def test_every_plan_is_correct_and_both_simulators_agree(batch: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        seen += check(seed, SMALL)
    assert seen["planned"] > seen["refused"]
    assert seen["stepped"] > 0.8 * seen["planned"]
    assert seen["striped"]
    assert seen["spilled"]
