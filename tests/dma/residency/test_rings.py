"""Rolling buffers that tensors share row by row, against a model of every byte."""

from hypothesis import given, settings, strategies as st

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.window import Window
from chipmodel.model.program import Op, Program
from chipmodel.model.work import Conv
from dma.residency.rings import RingMember, distance, shared_ring
from dma.residency.tiling import Tiling
from tests.support.small_networks import small_network
from workloads.build.builder import ProgramBuilder

SHAPES = st.tuples(st.integers(1, 3), st.integers(3, 9), st.integers(1, 4))
WINDOWS = st.tuples(st.sampled_from((1, 2, 3, 5)), st.integers(1, 3), st.integers(0, 2))


def layer(shape: tuple[int, int, int], window: tuple[int, int, int], channels: int) -> tuple[Program, Op]:
    """A convolution of an image of channels, rows and columns by a kernel with its stride and padding."""
    side, stride, pad = window
    builder = ProgramBuilder("layer")
    x = builder.input("x", (1, *shape))
    kernel = (side, min(side, shape[2] + 2 * pad))
    builder.output(builder.conv("conv", x, channels, kernel, stride=stride, pad=pad))
    program = builder.build()
    return program, next(program.ops())


def window_of(op: Op) -> Window:
    assert isinstance(op.work, Conv)
    return op.work.window


def needed_rows(op: Op, row: int) -> range:
    """The rows of the input that an output row reads, by the definition of a convolution."""
    window = window_of(op)
    first = row * window.stride_h - window.pad_top
    return range(max(0, first), min(window.in_h, first + window.kernel_h))


def spoils(program: Program, op: Op, rows: int, below: int) -> bool:
    """Whether a step writes a byte of the input that it or a later one reads, where the output begins so many
    bytes below."""
    (name,), (out,) = op.inputs, op.outputs
    each_in = program.tensors[name].bytes // window_of(op).in_h
    each_out = program.tensors[out].bytes // op.work.rows
    steps = [range(at, min(at + rows, op.work.rows)) for at in range(0, op.work.rows, rows)]
    for number, step in enumerate(steps):
        read = {need for later in steps[number:] for row in later for need in needed_rows(op, row)}
        kept = {byte for row in read for byte in range(row * each_in, (row + 1) * each_in)}
        written = range(step.start * each_out - below, step.stop * each_out - below)
        if not kept.isdisjoint(written):
            return True
    return False


@settings(deadline=None)
@given(shape=SHAPES, window=WINDOWS, channels=st.integers(1, 4), rows=st.integers(1, 4))
def test_the_distance_is_the_least_with_which_nothing_is_lost(
    shape: tuple[int, int, int], window: tuple[int, int, int], channels: int, rows: int
) -> None:
    side, stride, pad = window
    if shape[1] + 2 * pad < side or stride > side or pad >= side:
        return
    program, op = layer(shape, window, channels)
    rows = min(rows, op.work.rows)
    found = distance(program, op, "x", rows)
    assert not spoils(program, op, rows, found)
    assert found == 0 or spoils(program, op, rows, found - 1)


def test_a_kernel_of_three_rows_needs_a_row_more_than_a_step_computes() -> None:
    program, op = layer((2, 9, 4), (3, 1, 1), 2)
    assert [distance(program, op, "x", rows) for rows in (1, 2, 4)] == [16, 24, 40]


def test_all_rows_at_once_need_all_bytes_between() -> None:
    program, op = layer((2, 9, 4), (3, 1, 1), 2)
    assert distance(program, op, "x", 9) == program.tensors["conv"].bytes


def test_stripes_are_those_of_the_tiling() -> None:
    """Two images: no stripe of three rows has rows of both."""
    program = small_network("two images")
    op = next(program.ops())
    assert list(Tiling(3, 1).stripes(op)) == [Interval(0, 3), Interval(3, 4), Interval(4, 7), Interval(7, 8)]
    assert distance(program, op, "x", 3) == 6


MEMBERS = st.lists(
    st.tuples(st.integers(1, 5), st.integers(1, 8), st.integers(0, 60), st.booleans()), min_size=1, max_size=5
)


@given(first=st.tuples(st.integers(1, 8), st.integers(1, 8)), members=MEMBERS, turns=st.booleans())
def test_every_member_lies_below_the_one_whose_memory_it_takes(
    first: tuple[int, int], members: list[tuple[int, int, int, bool]], turns: bool
) -> None:
    rows, row = first
    given_members = [RingMember(rows * row, row if turns else 0, 0, None)]
    for rows, row, below, same in members:
        before = given_members[-1]
        size = before.bytes if same else rows * row
        turning = before.row if same else row
        given_members.append(
            RingMember(size, turning if turns else 0, len(given_members) - 1, None if same else below)
        )
    size, places = shared_ring(given_members, 4)
    assert size % 4 == 0
    for member, at in zip(given_members, places, strict=True):
        assert 0 <= at < size
        assert at % 4 == 0
        assert member.bytes <= size
        assert at + member.bytes <= size or (member.row and (size - at) % member.row == 0)
    for member, at in zip(given_members[1:], places[1:], strict=True):
        parent, above = given_members[member.parent], places[member.parent]
        if member.below is None:
            assert at == above
        else:
            lower = (above - at - member.below) % size + member.below
            assert lower <= size - parent.bytes


def test_a_chain_of_equal_rows_goes_round_in_a_buffer_of_one_tensor_and_the_distance() -> None:
    chain = [RingMember(8000, 320, 0, None), *(RingMember(8000, 320, n, 640) for n in range(6))]
    assert shared_ring(chain, 16) == (8640, (640, 0, 8000, 7360, 6720, 6080, 5440))


def test_a_chip_that_cannot_go_round_has_the_tensors_beside_each_other_or_below() -> None:
    chain = [RingMember(8000, 0, 0, None), *(RingMember(8000, 0, n, 640) for n in range(2))]
    assert shared_ring(chain, 16)[0] == 8000 + 2 * 640


def test_a_tensor_lies_as_near_as_it_may() -> None:
    """The second one is so small that it could also lie at the very bottom."""
    chain = [RingMember(80, 8, 0, None), RingMember(8, 8, 0, 16), RingMember(80, 8, 0, 16)]
    assert shared_ring(chain, 8) == (96, (16, 0, 0))
    wide = [RingMember(80, 8, 0, None), RingMember(8, 8, 0, 8), RingMember(96, 8, 0, 16)]
    assert shared_ring(wide, 8) == (96, (16, 8, 0))


def test_a_long_chain_that_cannot_go_round_takes_turns_at_both_ends() -> None:
    chain = [RingMember(1000, 0, 0, None), *(RingMember(1000, 0, n, 640) for n in range(9))]
    assert shared_ring(chain, 8)[0] == 2_000
