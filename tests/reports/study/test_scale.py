"""The scale of gaps and the choice of labels."""

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from reports.study.scale import APART, gap_ticks, place


def test_the_scale_begins_at_zero_and_ends() -> None:
    assert place(0) == 0
    assert place(0.01) == pytest.approx(0.30103)
    assert place(0.99) == pytest.approx(2.0)
    assert place(1e9) == place(1e12)


@given(st.floats(0, 900), st.floats(0, 900))
def test_it_keeps_the_order(one: float, two: float) -> None:
    assert (place(one) <= place(two)) or one > two


@given(st.floats(0, 100))
def test_labels_never_run_into_one_another_and_zero_is_one(most: float) -> None:
    ticks = gap_ticks(most)
    assert ticks.texts[0] == "0%"
    room = APART * place(max(most, 0.01))
    assert all(after - before >= room for before, after in pairwise(ticks.places))
    assert len(ticks.places) >= 2
