"""The pairs that every pair of boxes compared gives, from far fewer comparisons."""

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest

from chipmodel.verify import fast_offsets
from chipmodel.verify.fast_offsets import Integers, Sweep, overlapping_owners


def random_boxes(random: Random, count: int, side: int) -> list[tuple[int, ...]]:
    def edges() -> tuple[int, int]:
        start = random.randrange(side)
        return start, start + random.randint(1, side)

    return [(random.randrange(count), *edges(), *edges()) for _ in range(count)]


def every_pair(boxes: list[tuple[int, ...]]) -> set[tuple[int, int]]:
    return {
        (max(a[0], b[0]), min(a[0], b[0]))
        for at, a in enumerate(boxes)
        for b in boxes[:at]
        if a[0] != b[0] and a[1] < b[2] and b[1] < a[2] and a[3] < b[4] and b[3] < a[4]
    }


@pytest.mark.parametrize("large", [0, 1 << 70])
@pytest.mark.parametrize("per_box", [0, 1, 64])
def test_equals_every_pair_compared(monkeypatch: pytest.MonkeyPatch, per_box: int, large: int) -> None:
    monkeypatch.setattr(fast_offsets, "CANDIDATES_PER_BOX", per_box)
    monkeypatch.setattr(fast_offsets, "MOST_AT_ONCE", 7)
    for seed in range(150):
        random = Random(seed)
        boxes = random_boxes(random, random.randint(1, 30), random.randint(1, 40))
        boxes = [(i, start, stop, low + large, high + large) for i, start, stop, low, high in boxes]
        assert overlapping_owners(np.array(boxes).T) == every_pair(boxes), seed


COUNT = 4000
STACK = [(i, 0, COUNT, i, i + 1) for i in range(COUNT)]
ROW = [(i, i, i + 1, 0, 1) for i in range(COUNT)]
PLANS = {
    "a stack": STACK,
    "a row": ROW,
    "a stack, then a row": [*((COUNT + i, -1, 0, i, i + 1) for i in range(COUNT)), *ROW],
    "a row below a stack": [*((COUNT + i, 0, COUNT, i + 1, i + 2) for i in range(COUNT)), *ROW],
}


@pytest.mark.parametrize("boxes", PLANS.values(), ids=PLANS)
def test_compares_about_as_many_candidates_as_there_are_boxes(
    monkeypatch: pytest.MonkeyPatch, boxes: list[tuple[int, ...]]
) -> None:
    """All pairs of the last two are 32 million."""
    compared: list[int] = []

    class Counted(Sweep):
        def pairs(self) -> Iterator[tuple[Integers, Integers]]:
            compared.append(self.total)
            return super().pairs()

    monkeypatch.setattr(fast_offsets, "Sweep", Counted)
    assert not overlapping_owners(np.array(boxes).T)
    assert sum(compared) <= 2 * fast_offsets.CANDIDATES_PER_BOX * len(boxes)
