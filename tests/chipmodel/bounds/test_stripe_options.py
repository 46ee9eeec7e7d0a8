"""Options to stream tensors: every real tiling takes at least the memory and cycles of some option."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from random import Random

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from chipmodel.bounds.program_windows import LeastTransferCosts
from chipmodel.bounds.stripe_options import (
    MAX_OPTIONS,
    StripeOption,
    slice_options,
    stripe_options,
)
from chipmodel.bounds.tiling_costs import (
    OpOnChip,
    StreamedTiling,
    last_tile_bytes,
    most_tile_bytes,
    tile_bytes,
)
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share
from chipmodel.hardware.chip import Channels, Chip
from chipmodel.model.program import Op, Program, ops
from chipmodel.model.schedule import Direction
from chipmodel.npu.cycles import op_cycles
from chipmodel.npu.least_costs import least_cycles, read_share
from chipmodel.timing.transfer import transfer_cycles
from dma.residency.tiling import Tiling, weight_share
from tests.chipmodel.machine.test_simulate import PLAIN
from tests.support.chips import tiny_chip
from tests.support.random_programs import TreeShape, random_program
from workloads.build.builder import ProgramBuilder


@dataclass(frozen=True)
class RealTiling:
    """An op some of whose tensors are streamed in the stripes of ``tiling``."""

    program: Program
    chip: Chip
    op: Op
    passing: frozenset[str]
    tiling: Tiling

    def tiles(self) -> list[tuple[Interval, Interval]]:
        return list(self.tiling.tiles(self.op))

    def transfers(self) -> Iterator[tuple[Direction, str, list[Share]]]:
        """The parts that move for each streamed operand; a part moves again if another one came between."""
        for index, name in enumerate(self.op.inputs):
            if name in self.passing and name not in self.op.inputs[:index]:
                yield "load", name, _without_repeats(self.op.reads(index, r, c) for r, c in self.tiles())
        for name in self.op.outputs:
            if name in self.passing:
                yield "store", name, _without_repeats(self.op.writes(name, r, c) for r, c in self.tiles())

    @property
    def weights(self) -> int:
        return self.program.block_bytes(self.op)

    def slices(self) -> list[Share]:
        return _without_repeats(weight_share(self.op, c) for _, c in self.tiles()) if self.weights else []

    def bytes(self) -> int:
        """Bytes of the largest tile, and of its weights beyond those of one channel."""
        own = (tile_bytes(self.program, self.op, self.passing, r, c) for r, c in self.tiles())
        slices = (weight_share(self.op, c).bytes(self.weights) for _, c in self.tiles())
        one = -(-self.weights // self.op.work.channels)
        return max(a + b for a, b in zip(own, slices, strict=True)) - one

    def npu(self) -> int:
        tiles = sum(op_cycles(self.chip.npu, self.op, len(r), len(c)) for r, c in self.tiles())
        return tiles - least_cycles(self.chip.npu, self.op)

    def moved(self) -> Fraction:
        """DMA cycles beyond those to move each tensor and the weights once."""
        costs, total = LeastTransferCosts(self.chip), Fraction(0)
        for direction, name, parts in self.transfers():
            size = self.program.tensors[name].bytes
            total += sum(transfer_cycles(self.chip, direction, part.bytes(size)) for part in parts)
            read = int(size * read_share(self.op, name, 1))
            total -= costs.load(read) if direction == "load" else costs.store(size)
        total += sum(transfer_cycles(self.chip, "load", part.bytes(self.weights)) for part in self.slices())
        return total - costs.load(self.weights) if self.weights else total

    def meanwhile(self, capacity: int) -> int:
        """Of the bytes that move once, those that can move while tiles compute: none for a single tile, else
        at most what all tiles leave of ``capacity``, less the bytes that move again."""
        tensors, tiles, slices = self.program.tensors, self.tiles(), self.slices()
        if len(tiles) == 1:
            return 0
        left = sum(
            capacity
            - tile_bytes(self.program, self.op, self.passing, rows, channels)
            - weight_share(self.op, channels).bytes(self.weights)
            for rows, channels in tiles
        )
        once = moved = sum(share.bytes(self.weights) for share in dict.fromkeys(slices))
        moved += sum(share.bytes(self.weights) for share in slices) - once
        for _, name, parts in self.transfers():
            once += int(tensors[name].bytes * (read_share(self.op, name, 1) or 1))
            moved += sum(part.bytes(tensors[name].bytes) for part in parts)
        return min(once, left - (moved - once))


def _without_repeats(parts: Iterator[Share]) -> list[Share]:
    return [part for part, _ in groupby(parts)]


def random_tiling(seed: int) -> RealTiling | None:
    """None where no op of the program has stripes."""
    random = Random(seed)
    side = random.choice((3, 6, 10))
    program = random_program(seed, TreeShape(ops=4, depth=0, side=side, channels=random.choice((4, 12))))
    chip = tiny_chip(random)
    chip = replace(chip, dma=replace(chip.dma, channels=Channels()))
    op = random.choice(list(ops(program.body)))
    names = [n for n in dict.fromkeys((*op.inputs, *op.outputs)) if program.tensors[n].bytes]
    if not names or op.absorbs or not op.work.rows:
        return None
    rows, channels = (random.randint(1, n) for n in (op.work.rows, op.work.channels))
    passing = frozenset(random.sample(names, random.randint(1, len(names))))
    tiling = Tiling(rows, channels, striped=True, channels_outer=random.random() < 0.5)
    return RealTiling(program, chip, op, passing, tiling)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6))
@example(10040)  # two rows of which each reads both input rows: they are not loaded again
def test_every_real_tiling_costs_at_least_as_much_as_some_option(seed: int) -> None:
    """One buffer for each operand: a second one only takes more."""
    real = random_tiling(seed)
    assume(real is not None)
    assert real is not None
    kept = frozenset((*real.op.inputs, *real.op.outputs)) - real.passing
    one = -(-real.weights // real.op.work.channels)
    for capacity in (real.bytes() + one, 2 * real.bytes() + one, 1 << 30):
        on_chip = OpOnChip(real.program, real.chip, real.op)
        found = stripe_options(StreamedTiling(on_chip, kept, True, capacity))
        assert 1 <= len(found) <= MAX_OPTIONS
        least = StripeOption(real.bytes(), real.npu(), int(real.moved()), real.meanwhile(capacity))
        assert any(_no_worse(option, least) for option in found), (real.tiling, capacity, least, found)
    tiles = real.tiles()
    end = tile_bytes(real.program, real.op, real.passing, *tiles[-1])
    assert last_tile_bytes(real.program, real.op, real.passing) <= end
    most = max(tile_bytes(real.program, real.op, real.passing, r, c) for r, c in tiles)
    assert (
        most_tile_bytes(real.program, real.op, real.passing, real.tiling.rows, real.tiling.channels) <= most
    )


def _no_worse(option: StripeOption, real: StripeOption) -> bool:
    cheaper = all(o <= r for o, r in zip(option[:-1], real[:-1], strict=True))
    return cheaper and option.meanwhile >= real.meanwhile


def conv(channels: int = 4) -> tuple[Program, Op]:
    """x of 4 rows of 8 bytes, 3 x 3 kernels, y of 4 rows of 4 bytes a channel; weights of 18 bytes each."""
    builder = ProgramBuilder("conv")
    y = builder.conv("y", builder.input("x", (1, 2, 4, 4)), channels, 3, pad=1, bias=False)
    builder.output(y)
    program = builder.build()
    return program, next(ops(program.body))


def options_within(capacity: int, channels: int = 4, weights: bool = True) -> list[StripeOption]:
    program, op = conv(channels)
    return stripe_options(StreamedTiling(OpOnChip(program, PLAIN, op), frozenset(), weights, capacity))


def test_stripes_of_a_convolution_by_hand() -> None:
    """Two stripes read 3 rows each, so 16 bytes twice; four read up to 3 each, which is two rows twice at
    each of three borders. A load is set up in 10 cycles, a store in 5; a byte takes one. Three stripes are
    two."""
    found = options_within(1 << 20, 1)
    costs = [option[:-1] for option in found]
    assert costs == [(24 + 4, 0, 3 * (10 + 5 + 16)), (24 + 8, 0, 10 + 5 + 16), (32 + 16, 0, 0)]
    assert [option[:-1] for option in options_within(40, 1)] == costs[:2]
    assert [option[:-1] for option in options_within(20, 1)] == costs[:1]


def test_stripes_that_read_the_same_input_rows_load_them_once() -> None:
    """Each of two rows reads both input rows, 8 bytes, for two channels of 18 bytes of weights. With two
    stripes and two slices, outermost, x and each slice are loaded once, and y is stored in four parts."""
    builder = ProgramBuilder("small")
    builder.output(builder.conv("y", builder.input("x", (1, 2, 2, 2)), 2, 3, pad=1, bias=False))
    program = builder.build()
    (op,) = ops(program.body)
    found = stripe_options(StreamedTiling(OpOnChip(program, PLAIN, op), frozenset(), True, 1 << 20))
    assert found[0][:-1] == (8 + 2, 0, 10 + 3 * 5)


def test_bytes_that_move_while_stripes_compute_by_hand() -> None:
    """Of 40 bytes four stripes leave 4 * 40, less x's 32 and y's 16, less 18 of weights each; two rows of x
    move again at three borders, for both stripes. In a large memory all 66 bytes may move, but with a single
    stripe none."""
    assert [option.meanwhile for option in options_within(40, 1)] == [
        4 * 40 - 32 - 16 - 4 * 18 - 2 * 3 * 16,
        2 * 40 - 32 - 16 - 2 * 18 - 2 * 16,
    ]
    assert [option.meanwhile for option in options_within(1 << 20, 1)] == [66, 66, 0]


def test_slices_of_weights_alone_by_hand() -> None:
    """Four blocks of 18 bytes: with two and three slices the largest has 36, with one 72. Of 40 bytes without
    x and y three slices leave 3 * 40 - 72."""
    program, op = conv()
    assert slice_options(OpOnChip(program, PLAIN, op), 1 << 20) == [
        StripeOption(0, 0, 3 * 10, 72),
        StripeOption(18, 0, 10, 72),
        StripeOption(54, 0, 0, 0),
    ]
    assert slice_options(OpOnChip(program, PLAIN, op), 40) == [
        StripeOption(0, 0, 3 * 10, 72),
        StripeOption(18, 0, 10, 2 * 40 - 72),
        StripeOption(18, 0, 2 * 10, 3 * 40 - 72),
    ]


def test_slices_of_a_convolution_by_hand() -> None:
    """Two slices of 36 bytes, half of y each, x whole: two set-ups more, or with four slices six. One
    channel's 18 bytes are counted elsewhere. With x in two stripes as well, 16 bytes of it move twice, and
    either it is loaded again for three more slices (96 cycles), or the weights for another stripe (72)."""
    found = options_within(1 << 20)
    costs = [option[:-1] for option in found]
    assert costs[-2:] == [(32 + 32 + 18, 0, 10 + 5), (32 + 64 + 54, 0, 0)]
    assert costs[-3] == (32 + 16, 0, 3 * (10 + 5))
    assert costs[-4] == (24 + 8, 0, 10 + 16 + 3 * 10 + 7 * 5 + 72)


def test_options_without_weights() -> None:
    found = options_within(1 << 20, weights=False)
    assert max(found) == StripeOption(32 + 64, 0, 0, 0)


def test_the_largest_tile_and_the_last_by_hand() -> None:
    """One row reads 3 of 8 bytes within, 2 at the end; it makes 16 bytes, 4 of one channel."""
    program, op = conv()
    both = frozenset(("x", "y"))
    assert most_tile_bytes(program, op, both, 1, 4) == 24 + 16
    assert most_tile_bytes(program, op, both, 1, 1) == 24 + 4
    assert last_tile_bytes(program, op, both) == 16 + 4
    assert last_tile_bytes(program, op, frozenset("x")) == 16


def test_a_tensor_that_is_both_operands_counts_once() -> None:
    builder = ProgramBuilder("twice")
    x = builder.input("x", (1, 4, 4, 4))
    builder.output(builder.elementwise("add", "y", [x, x]))
    program = builder.build()
    op = next(ops(program.body))
    rows = op.work.rows
    assert most_tile_bytes(program, op, frozenset(("x", "y")), rows, 1) == 128
    assert most_tile_bytes(program, op, frozenset("x"), 1, 1) == -(-64 // rows)
