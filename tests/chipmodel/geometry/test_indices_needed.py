"""The indices that many outputs need together, counted without looking at each."""

from hypothesis import given, strategies as st

from chipmodel.geometry.interval import Interval, merged
from chipmodel.geometry.window import Reach, Window

REACHES = st.builds(
    Reach,
    step=st.integers(1, 6),
    offset=st.integers(-9, 9),
    scale=st.integers(1, 4),
    more=st.integers(0, 3),
)


@given(REACHES, st.integers(1, 9), st.integers(1, 12), st.booleans())
def test_as_many_as_are_found_one_by_one(reach: Reach, count: int, size: int, apart: bool) -> None:
    each = merged(reach.needed(Interval(y, y + 1), size, apart) for y in range(count))
    assert reach.needed_by_any(count, size, apart) == sum(map(len, each))


@given(
    st.tuples(*(st.integers(1, 9) for _ in range(2))),
    st.tuples(*(st.integers(1, 4) for _ in range(3))),
    st.integers(0, 3),
    st.booleans(),
)
def test_windows_of_convolutions(
    rows: tuple[int, int], kernel: tuple[int, int, int], pad: int, transposed: bool
) -> None:
    taps, stride, dilation = kernel
    window = Window(
        *(rows[0], 1, rows[1], 1, taps, 1, stride),
        pad_top=pad,
        dilation_h=dilation,
        transposed=transposed,
    )
    each = merged(window.input_rows(Interval(y, y + 1)) for y in range(rows[1]))
    assert window.rows_read == sum(map(len, each))


def test_a_hundred_million_outputs_take_no_time() -> None:
    assert Reach(step=7, more=2).needed_by_any(10**8, 10**9) == 3 * 10**8
