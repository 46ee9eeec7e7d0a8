"""Tilings of ops: every tile once, slices within their limit, stripes within their memory."""

from dataclasses import replace

from hypothesis import given, strategies as st

from chipmodel.cascades.rewrite import CascadeChoice, cascade_op
from chipmodel.geometry.interval import Interval
from chipmodel.model.cascade_work import CascadeWork
from chipmodel.model.program import Op, Program, ops
from chipmodel.model.work import output_share
from dma.residency.tiling import (
    SETUP_BYTES,
    Tiling,
    least_stripe,
    slice_bytes,
    sliced,
    stripe_bytes,
    striped,
    transfer_bytes,
    weight_share,
    whole_tiling,
)
from workloads.build.builder import ProgramBuilder


def of(builder: ProgramBuilder) -> tuple[Program, Op]:
    program = builder.build()
    (op,) = ops(program.body)
    return program, op


def conv(in_c: int, out_c: int, side: int, kernel: int, stride: int = 1) -> tuple[Program, Op]:
    builder = ProgramBuilder("conv")
    x = builder.input("x", (1, in_c, side, side))
    builder.conv("c", x, out_c, kernel, pad=kernel // 2, stride=stride, bias=False)
    return of(builder)


def dense(inner: int, features: int, rows: int = 1) -> tuple[Program, Op]:
    builder = ProgramBuilder("dense")
    builder.dense("d", builder.input("x", (rows, inner)), features, bias=False)
    return of(builder)


def lstm(directions: int = 1) -> tuple[Program, Op]:
    builder = ProgramBuilder("lstm")
    builder.recurrent("l", builder.input("x", (6, 1, 5)), 8, "lstm", directions=directions)
    return of(builder)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 12), st.integers(1, 12), st.booleans())
def test_every_row_of_every_channel_is_in_exactly_one_tile(
    rows: int, channels: int, by_rows: int, by_channels: int, outer: bool
) -> None:
    _, op = dense(3, channels, rows)
    tiling = Tiling(by_rows, by_channels, channels_outer=outer)
    tiles = list(tiling.tiles(op))
    cells = [(r, c) for rs, cs in tiles for r in range(rs.start, rs.stop) for c in range(cs.start, cs.stop)]
    assert sorted(cells) == [(r, c) for r in range(rows) for c in range(channels)]
    assert len(tiles) == tiling.count(op)
    assert all(0 < len(r) <= by_rows and 0 < len(c) <= by_channels for r, c in tiles)


def test_the_order_of_tiles() -> None:
    _, op = dense(3, 4, 4)
    a, b = Interval(0, 2), Interval(2, 4)
    assert list(Tiling(2, 2).tiles(op)) == [(a, a), (a, b), (b, a), (b, b)]
    assert list(Tiling(2, 2, channels_outer=True).tiles(op)) == [(a, a), (b, a), (a, b), (b, b)]


@given(st.integers(1, 40), st.integers(1, 60), st.integers(0, 800), st.sampled_from((1, 2, 4, 16)))
def test_slices_fit_their_limit_and_sum_to_the_block(
    inner: int, features: int, limit: int, granule: int
) -> None:
    program, op = dense(inner, features)
    block = inner * features
    width = sliced(program, op, limit, granule)
    if width is None:
        assert inner > limit
        return
    assert 1 <= width <= features
    assert slice_bytes(program, op, width) <= limit
    shares = [weight_share(op, c) for _, c in Tiling(1, width).tiles(op)]
    assert sum(s.bytes(block) for s in shares) == block
    assert max(s.bytes(block) for s in shares) == slice_bytes(program, op, width)
    most = max(w for w in range(1, features + 1) if w * inner <= limit)
    assert width == features or width % granule == 0 or most < granule
    # No more slices than the widest slice on the array's grid needs.
    grid = most - most % granule if most >= granule and most < features else most
    assert -(-features // width) == -(-features // grid)


def test_slices_by_hand() -> None:
    program, op = dense(10, 24)
    assert sliced(program, op, 240, 2) == 24
    assert sliced(program, op, 239, 2) == 12  # 22 would do, but two equal slices are as many
    assert sliced(program, op, 99, 1) == 8
    assert sliced(program, op, 99, 4) == 8
    assert sliced(program, op, 50, 4) == 4
    assert sliced(program, op, 25, 4) == 2
    assert sliced(program, op, 10, 4) == 1
    assert sliced(program, op, 9, 4) is None
    assert sliced(program, op, -5, 4) is None
    assert slice_bytes(program, op, 100) == 240


def test_an_op_without_weights_is_never_sliced() -> None:
    builder = ProgramBuilder("relu")
    builder.elementwise("relu", "r", [builder.input("x", (4, 4))])
    program, op = of(builder)
    assert sliced(program, op, 0, 4) == op.work.channels
    assert slice_bytes(program, op, 1) == 0


def test_a_recurrent_op_with_cut_weights_goes_step_by_step() -> None:
    program, op = lstm()
    assert whole_tiling(op, 8) == Tiling(6, 8)
    assert whole_tiling(op, 4) == Tiling(1, 4)
    assert whole_tiling(dense(4, 8, 3)[1], 4) == Tiling(3, 4)
    tiling = striped(program, op, 1000, 4, False)
    assert tiling is not None
    assert (tiling.rows, tiling.channels_outer) == (1, False)
    assert list(tiling.tiles(op))[:3] == [
        (Interval(0, 1), Interval(0, 4)),
        (Interval(0, 1), Interval(4, 8)),
        (Interval(1, 2), Interval(0, 4)),
    ]


def test_stripe_bytes_by_hand() -> None:
    """3x3 windows on 8 rows of 4 channels of 8 elements; 2 output channels."""
    program, op = conv(4, 2, 8, 3)
    row_in, row_out = 4 * 8, 2 * 8
    assert stripe_bytes(program, op, Tiling(8, 2, striped=True)) == 8 * row_in + 8 * row_out
    # Two output rows read four input rows (three at an edge), and there are several such stripes.
    assert stripe_bytes(program, op, Tiling(2, 2, striped=True)) == 4 * row_in + 2 * row_out
    assert stripe_bytes(program, op, Tiling(2, 2, striped=True, depth=2)) == 2 * (4 * row_in + 2 * row_out)
    assert stripe_bytes(program, op, Tiling(2, 1, striped=True)) == 4 * row_in + row_out
    # One stripe of all rows for either channel: only the output needs a second buffer.
    assert stripe_bytes(program, op, Tiling(8, 1, striped=True, depth=2)) == 8 * row_in + 8 * row_out
    assert least_stripe(program, op) == 3 * row_in + row_out // 2


def real_stripe_bytes(program: Program, op: Op, tiling: Tiling) -> int:
    """The largest parts that pass through each operand's buffers, tile by tile."""
    tiles = list(tiling.tiles(op))
    total = 0
    for index, name in enumerate(op.inputs):
        shares = [op.work.needs(index, r, c) for r, c in tiles]
        total += max(s.bytes(program.tensors[name].bytes) for s in shares)
    for name in op.outputs:
        total += max(output_share(op.work, r, c).bytes(program.tensors[name].bytes) for r, c in tiles)
    return total


@given(
    st.integers(1, 4), st.integers(1, 6), st.integers(1, 12), st.sampled_from((1, 3, 5)),
    st.integers(1, 3), st.integers(1, 12), st.integers(1, 6),
)  # fmt: skip
def test_the_sampled_tiles_include_a_largest_one(
    in_c: int, out_c: int, side: int, kernel: int, stride: int, rows: int, channels: int
) -> None:
    program, op = conv(in_c, out_c, side, kernel, stride)
    tiling = Tiling(min(rows, op.work.rows), min(channels, out_c), striped=True)
    assert stripe_bytes(program, op, tiling) == real_stripe_bytes(program, op, tiling)


@given(st.integers(3, 9), st.sampled_from((8, 12, 16)), st.sampled_from((2, 4)), st.integers(1, 40))
def test_the_sampled_tiles_of_a_cascade_in_bands_include_a_largest_one(
    height: int, width: int, bands: int, rows: int
) -> None:
    """No stripe has the columns of two bands but in all their rows."""
    builder = ProgramBuilder("bands")
    x = builder.input("x", (1, 3, height, width))
    builder.output(builder.conv("b", builder.conv("a", x, 4, 3, pad=1), 2, 3, pad=1))
    program = builder.build()
    choice = CascadeChoice(("a", "b"), (1, 1), bands=bands)
    op = cascade_op(program, list(program.ops()), choice)
    assert isinstance(op.work, CascadeWork)
    tiling = Tiling(min(rows, op.work.rows), 1, striped=True)
    each = op.work.rows // bands
    assert all(
        len(piece) % each == 0 or op.work.band_of(piece.start) == op.work.band_of(piece.stop - 1)
        for piece in tiling.stripes(op)
    )
    real = sum(
        max(share.bytes(program.tensors[name].bytes) for share in shares)
        for name, shares in (
            ("x", [op.reads(0, r, c) for r, c in tiling.tiles(op)]),
            ("b", [op.writes("b", r, c) for r, c in tiling.tiles(op)]),
        )
    )
    assert stripe_bytes(program, op, tiling) == real


def moved(program: Program, op: Op, tiling: Tiling) -> int:
    """Bytes fetched and set-ups paid, tile by tile: a part is fetched when it differs from the last."""
    total = 0
    tiles = list(tiling.tiles(op))
    for index, name in enumerate(op.inputs):
        last = None
        for r, c in tiles:
            part = op.work.needs(index, r, c)
            if part != last:
                total += part.bytes(program.tensors[name].bytes) + SETUP_BYTES
            last = part
    last = None
    for _, c in tiles:
        part = weight_share(op, c)
        if part != last and program.block_bytes(op):
            total += part.bytes(program.block_bytes(op)) + SETUP_BYTES
        last = part
    return total + SETUP_BYTES * len(tiles) * len(op.outputs)


@given(
    st.integers(1, 4), st.integers(1, 8), st.integers(2, 10), st.sampled_from((1, 3)),
    st.integers(10, 900), st.booleans(),
)  # fmt: skip
def test_stripes_stay_in_their_room_and_are_the_cheaper_order(
    in_c: int, out_c: int, side: int, kernel: int, room: int, double: bool
) -> None:
    program, op = conv(in_c, out_c, side, kernel)
    tiling = striped(program, op, room, out_c, double)
    if tiling is None:
        assert room < least_stripe(program, op)
        return
    assert tiling.striped
    assert tiling.depth in ((1, 2) if double else (1,))
    assert stripe_bytes(program, op, tiling) <= room
    # Equal stripes: one row less in each would take one stripe more.
    if tiling.rows > 1:
        assert -(-op.work.rows // (tiling.rows - 1)) > -(-op.work.rows // tiling.rows)
    if kernel == 1:  # without halo rows the estimate is exact
        other = replace(tiling, channels_outer=not tiling.channels_outer)
        assert moved(program, op, tiling) <= moved(program, op, other)


def test_the_order_of_stripes_loads_the_smaller_operand_again() -> None:
    """Six slices of 8 channels by six stripes: either the input or the weights come six times."""
    heavy_input, op = dense(64, 48, rows=48)
    weights_anew = striped(heavy_input, op, 64 * 8 + 8 * 8, 8, False)
    assert weights_anew is not None
    # 3,072 bytes each, but the weights' slices pay a set-up on each stripe as well; either is as dear.
    assert moved(heavy_input, op, weights_anew) == moved(
        heavy_input, op, replace(weights_anew, channels_outer=not weights_anew.channels_outer)
    )
    light_input, op = dense(64, 960, rows=8)
    tiling = striped(light_input, op, 64 + 8 * 8, 8, False)
    assert tiling is not None
    assert tiling.channels_outer


def test_a_transfer_in_runs_counts_as_the_bytes_of_its_time() -> None:
    """680 for the set-up; a run of 20 bytes moves a line of 32 and opens a burst of its own: 23 bytes."""
    assert transfer_bytes(1000, 1) == 1680
    assert transfer_bytes(200, 10) == 680 + 10 * (32 + 23)
    assert transfer_bytes(330, 10) == 680 + 10 * (64 + 23)


def test_of_stripes_with_as_many_transfers_those_in_fewer_runs_are_taken() -> None:
    """A 1x1 convolution from 1 to 8 channels, 8 x 8, in 64 bytes: four rows by one channel or one row by
    four. Either way there are 16 stores of 32 bytes, in four runs of 8 bytes or in one."""
    program, op = conv(1, 8, 8, 1)
    tiling = striped(program, op, 64, 8, False)
    assert tiling is not None
    assert (tiling.rows, tiling.channels) == (1, 4)
    other = Tiling(4, 1, striped=True)
    assert stripe_bytes(program, op, other) <= 64
    assert other.count(op) == tiling.count(op) == 16


def test_where_not_even_one_row_of_one_channel_fits() -> None:
    program, op = conv(4, 2, 8, 3)
    least = least_stripe(program, op)
    assert striped(program, op, least - 1, 2, True) is None
    smallest = striped(program, op, least, 2, True)
    assert smallest is not None
    assert (smallest.rows, smallest.channels, smallest.depth) == (1, 1, 1)
