"""Labels of logarithmic axes are round numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.plot_area import FEWEST, round_numbers
from reports.words import round_magnitude


@pytest.mark.parametrize(
    ("ends", "labels"),
    [
        ((379_684, 905_026), ["400 k", "500 k", "600 k", "800 k"]),
        ((1_000, 1_000_000), ["1 k", "10 k", "100 k", "1 M"]),
        ((8_225_838, 37_717_178), ["10 M", "15 M", "20 M", "30 M"]),
        ((90_000, 1_200_000), ["100 k", "200 k", "500 k", "1 M"]),
    ],
)
def test_the_fewest_round_numbers_that_are_enough(ends: tuple[int, int], labels: list[str]) -> None:
    assert [round_magnitude(each) for each in round_numbers(*ends)] == labels


@given(st.integers(10, 10**9), st.integers(170, 900))
def test_there_are_enough_and_all_lie_on_the_axis(least: int, percent: int) -> None:
    most = least * percent // 100
    found = round_numbers(least, most)
    assert all(least <= each <= most for each in found)
    assert len(found) >= FEWEST or most < 200
