"""Which rows a part reads, against a list of every kernel tap."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from chipmodel.model.interval import Interval
from chipmodel.model.work import (
    WHOLE,
    Conv,
    Matmul,
    Pool,
    Recurrent,
    Share,
    Vector,
    Window,
    Work,
    output_share,
)

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


@given(st.integers(1, 5000), st.integers(1, 7), st.integers(1, 7), st.data())
def test_shares_of_a_tensor_add_up(total: int, of_rows: int, of_channels: int, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, of_rows))
    channels = Interval(0, of_channels)
    a = Share(Interval(0, cut), of_rows, channels, of_channels).bytes(total)
    b = Share(Interval(cut, of_rows), of_rows, channels, of_channels).bytes(total)
    assert total <= a + b <= total + 1


WORKS: list[Work] = [
    Conv(Window(8, 8, 8, 8, 3, 3, pad_top=1, pad_left=1, pad_bottom=1, pad_right=1), 4, 6),
    Conv(Window(8, 8, 6, 6, 3, 3), 4, 8, groups=2),
    Conv(Window(8, 8, 6, 6, 3, 3), 6, 6, groups=6),
    Pool(Window(8, 8, 4, 4, 2, 2, 2, 2), 6),
    Matmul(5, 7, 6),
    Matmul(4, 3, 5, batch=2, shared_right=False),
    Recurrent(5, 3, 4, gates=4),
    Recurrent(5, 3, 4, gates=3, directions=2),
    Vector(60, 60, 60, rows=6),
]


def test_the_whole_of_any_work_reads_and_writes_whole_tensors() -> None:
    for work in WORKS:
        rows, channels = Interval(0, work.rows), Interval(0, work.channels)
        assert output_share(work, rows, channels) == WHOLE
        assert work.needs(0, rows, channels) == WHOLE
        assert work.part(work.rows, work.channels) == work


def test_some_channels_of_several_rows_are_a_run_in_each_row() -> None:
    some, every, rows = Interval(1, 3), Interval(0, 6), Interval(2, 5)
    assert Share(rows, 8, some, 6).runs == 3
    assert Share(Interval(2, 3), 8, some, 6).runs == 1
    assert Share(rows, 8, every, 6).runs == 1
    assert WHOLE.runs == Share(rows, 8).runs == Share(Interval(0, 0)).runs == 1
    # A pooling that needs all rows of some channels, the right matrix of a product, and one direction of a
    # recurrent op, which is one row of work but writes all of its time steps.
    pool = Pool(Window(8, 8, 1, 1, 8, 8), 6)
    assert pool.needs(0, Interval(0, 1), some) == Share(Interval(0, 8), 8, some, 6)
    assert Matmul(5, 7, 6).needs(1, Interval(0, 2), some) == Share(Interval(0, 7), 7, some, 6)
    both = Recurrent(5, 3, 4, gates=3, directions=2)
    one = Interval(1, 2)
    assert output_share(both, Interval(0, 1), one) == Share(Interval(0, 5), 5, one, 2)


def test_parts_hold_all_of_the_macs() -> None:
    for work in WORKS:
        for channels in range(1, work.channels + 1):
            if isinstance(work, Conv) and work.groups > 1 and channels % (work.out_c // work.groups):
                continue  # a part of a group is costed as a whole group
            one = work.part(1, channels)
            assert one.macs * work.rows * work.channels == work.macs * channels, (work, channels)
