"""The search ``channel-slices`` on a few seeds, and that it reports faults."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.fuzz import channel_slices
from tests.fuzz.channel_slices import check, sliced_weights
from tests.fuzz.fuzzer import Fault

SEEDS = (1, 2, 4)


def test_random_slices_are_right() -> None:
    seen = sum(map(check, SEEDS), Counter[str]())
    assert seen["sliced"] == len(SEEDS)
    assert all(seen[each] for each in ("cascades", "executed", "stepped", "sums", "without_moves"))


def test_the_search_reports_weights_of_other_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers differ if a slice has weights that are not its own."""

    def wrong(*arguments: object) -> object:
        found = sliced_weights(*arguments)  # type: ignore[arg-type]
        return {name: each[::-1] for name, each in found.items()}

    monkeypatch.setattr(channel_slices, "sliced_weights", wrong)
    with pytest.raises(Fault, match="other numbers"):
        sum(map(check, SEEDS), Counter[str]())
