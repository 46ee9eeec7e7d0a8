"""The scale of gaps and the choice of labels."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.study.scale import HALF, NARROW, WIDE, gap_ticks, outside_in, place, spread


def test_zero_is_on_the_scale_and_negative_gaps_are_on_the_other_side() -> None:
    assert place(0) == 0
    assert place(0.01) == pytest.approx(0.30103)
    assert place(0.99) == pytest.approx(2.0)
    assert place(-0.1) == -place(0.1)
    assert place(1e9) == place(1e12)


@given(st.floats(0, 900), st.floats(0, 900))
def test_it_keeps_the_order(one: float, two: float) -> None:
    assert (place(one) <= place(two)) or one > two


@given(st.floats(0, 100), st.sampled_from([WIDE, HALF, NARROW]))
def test_labels_never_run_into_one_another_and_zero_is_one(most: float, apart: float) -> None:
    ticks = gap_ticks(most, apart)
    assert ticks.texts[0] == "0%"
    room = apart * place(max(most, 0.01))
    assert all(after - before >= room for before, after in pairwise(ticks.places))
    assert len(ticks.places) >= 2


def test_round_labels_come_first() -> None:
    assert gap_ticks(1.0, NARROW).texts == ("0%", "2%", "10%", "100%")
    assert "0.5%" in gap_ticks(0.008, WIDE).texts
    assert gap_ticks(0.3, WIDE, least=-0.1).texts[0] == "-10%"


def test_the_ends_have_labels_before_the_middle() -> None:
    assert outside_in([1, 2, 3, 4, 5]) == [1, 5, 3, 2, 4]
    assert outside_in([1]) == [1]
    assert spread([1, 9, 5, 2], float, str, (1, 9), 0.3).texts == ("1", "5", "9")
