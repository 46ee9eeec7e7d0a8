"""Where parts lie, as runs for the verifier and byte by byte for the machine that executes plans."""

from hypothesis import given, strategies as st

from chipmodel.execute.places import numbers, part_addresses
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share
from chipmodel.model.commands import Located
from chipmodel.model.schedule import Part
from chipmodel.verify.places import MAX_RUNS, bytes_of_share, placed_runs

ROWS, CHANNELS, COLUMNS = 4, 3, 5
"""Of a tensor of two bytes in each."""
TOTAL = 2 * ROWS * CHANNELS * COLUMNS


def some(of: int) -> st.SearchStrategy[Interval]:
    return st.lists(st.integers(0, of), min_size=2, max_size=2, unique=True).map(
        lambda ends: Interval(*sorted(ends))
    )


@st.composite
def shares(draw: st.DrawFn) -> Share:
    rows, columns = draw(some(ROWS)), draw(some(COLUMNS))
    if len(columns) < COLUMNS:
        return Share(rows, ROWS, Interval(0, CHANNELS), CHANNELS, columns, COLUMNS)
    return Share(rows, ROWS, draw(some(CHANNELS)), CHANNELS)


@st.composite
def places(draw: st.DrawFn) -> Located:
    """Of each kind: alone, in its tensor, in its tensor within a concat, in a ring."""
    part, offset = Part("t", draw(shares())), draw(st.integers(0, 9))
    if draw(st.booleans()):
        ring = draw(st.integers(1, TOTAL))
        return Located(part, offset, ring, rolls=True, first=draw(st.integers(0, ring - 1)))
    runs = draw(st.sampled_from((1, 2, ROWS, TOTAL)))
    pitch = 0 if runs == 1 else TOTAL // runs + draw(st.integers(0, 9))
    return Located(part, offset, TOTAL, in_tensor=runs > 1 or draw(st.booleans()), runs=runs, pitch=pitch)


@given(places())
def test_runs_have_the_bytes_and_the_addresses_of_the_part(place: Located) -> None:
    runs = placed_runs(place, TOTAL)
    bytes_of_runs = [byte for run in runs for byte in range(run.first, run.first + run.bytes)]
    addresses = [at for run in runs for at in range(run.address, run.address + run.bytes)]
    assert bytes_of_runs == numbers(place.part.share, TOTAL).tolist()
    assert bytes_of_runs == [
        byte for span in bytes_of_share(place.part.share, TOTAL) for byte in range(span.start, span.stop)
    ]
    assert addresses == part_addresses(place, TOTAL, 0).tolist()


def test_two_channels_of_a_row_in_a_concat_and_across_the_end_of_a_ring() -> None:
    part = Part("t", Share(Interval(1, 2), ROWS, Interval(1, 3), CHANNELS))
    assert placed_runs(Located(part, 100, 20), TOTAL) == ((100, 40, 20),)
    assert placed_runs(Located(part, 100, TOTAL, in_tensor=True), TOTAL) == ((140, 40, 20),)
    concat = Located(part, 100, TOTAL, in_tensor=True, runs=4, pitch=50)
    assert placed_runs(concat, TOTAL) == ((160, 40, 20),)
    ring = Located(part, 100, 35, rolls=True, first=10)
    assert placed_runs(ring, TOTAL) == ((115, 40, 20),)
    assert placed_runs(Located(part, 100, 45, rolls=True), TOTAL) == ((140, 40, 5), (100, 45, 15))


def test_a_part_in_more_runs_than_a_plan_has_lies_nowhere() -> None:
    """A plan file with such a place is refused, soon."""
    total = 2 * MAX_RUNS
    assert placed_runs(Located(Part("t"), 0, 1, rolls=True), total) == ()
    assert placed_runs(Located(Part("t"), 0, total, runs=total, pitch=2), total) == ()
    lines = Share(Interval(0, total), total, Interval(0, 1), 1, Interval(0, 1), 2)
    assert bytes_of_share(lines, total) == ()
