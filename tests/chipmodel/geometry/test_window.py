"""Which rows a part reads, against a list of every kernel tap."""

from __future__ import annotations

from hypothesis import assume, given, strategies as st

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.window import Window

size = st.integers(1, 9)
small = st.integers(1, 3)


@st.composite
def windows(draw: st.DrawFn) -> Window:
    in_h, kernel, stride, dilation = draw(size), draw(small), draw(small), draw(st.integers(1, 2))
    transposed = draw(st.booleans())
    reach = dilation * (kernel - 1)
    top, bottom = draw(st.integers(0, reach)), draw(st.integers(0, reach))
    if transposed:
        out_h = (in_h - 1) * stride + reach + 1 - top - bottom
    else:
        out_h = (in_h + top + bottom - reach - 1) // stride + 1
    assume(out_h >= 1)
    return Window(
        in_h, 1, out_h, 1, kernel, 1, stride, 1, top, 0, bottom, 0, dilation, 1, transposed=transposed
    )


def taps(window: Window, out_row: int) -> set[int]:
    """Input rows that output row ``out_row`` reads, tap by tap."""
    rows: set[int] = set()
    for tap in range(window.kernel_h):
        shift = tap * window.dilation_h - window.pad_top
        if window.transposed:
            rows |= {i for i in range(window.in_h) if i * window.stride_h + shift == out_row}
        else:
            rows.add(out_row * window.stride_h + shift)
    return {r for r in rows if 0 <= r < window.in_h}


@given(windows(), st.data())
def test_input_rows_hold_every_tap_and_no_row_too_many(window: Window, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, window.out_h - 1))
    stop = data.draw(st.integers(start + 1, window.out_h))
    needed = {r for row in range(start, stop) for r in taps(window, row)}
    rows = window.input_rows(Interval(start, stop))
    assert needed <= set(range(rows.start, rows.stop))
    if needed and not window.transposed and window.dilation_h == 1:
        assert rows == Interval(min(needed), max(needed) + 1)


@given(windows(), st.integers(1, 3), st.data())
def test_a_batch_is_images_one_after_another(window: Window, batch: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, batch * window.out_h - 1))
    stop = data.draw(st.integers(start + 1, batch * window.out_h))
    needed = {
        image * window.in_h + row
        for r in range(start, stop)
        for image, out_row in [divmod(r, window.out_h)]
        for row in taps(window, out_row)
    }
    rows = window.image_rows(Interval(start, stop))
    assert needed <= set(range(rows.start, rows.stop))
