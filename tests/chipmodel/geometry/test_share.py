"""The bytes of shares of a tensor."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share


@given(st.integers(1, 5000), st.integers(1, 7), st.integers(1, 7), st.data())
def test_shares_of_a_tensor_add_up(total: int, of_rows: int, of_channels: int, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, of_rows))
    channels = Interval(0, of_channels)
    a = Share(Interval(0, cut), of_rows, channels, of_channels).bytes(total)
    b = Share(Interval(cut, of_rows), of_rows, channels, of_channels).bytes(total)
    assert total <= a + b <= total + 1
