"""Ways to pass tensors: every real tiling needs what some way says, and costs that, or more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from random import Random

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from chipmodel.bounds.op_costs import least_cycles, read_share
from chipmodel.bounds.program_windows import Costs
from chipmodel.bounds.stripe_options import MOST, Way, sliced_ways, ways
from chipmodel.bounds.tiling_costs import largest, last, tile_bytes
from chipmodel.chip.chip import Channels, Chip
from chipmodel.model.interval import Interval
from chipmodel.model.program import Op, Program, ops
from chipmodel.model.schedule import Direction
from chipmodel.model.work import Share
from chipmodel.npu.cycles import op_cycles
from dma.residency.tiling import Tiling, weight_share
from dma.timing.transfer import transfer_cycles
from tests.chipmodel.machine.test_simulate import PLAIN
from tests.support.chips import tiny_chip
from workloads.build.builder import ProgramBuilder
from workloads.build.random_programs import Shape, random_program


@dataclass(frozen=True)
class Case:
    """An op some of whose tensors pass in the stripes of ``tiling``."""

    program: Program
    chip: Chip
    op: Op
    passing: frozenset[str]
    tiling: Tiling

    def tiles(self) -> list[tuple[Interval, Interval]]:
        return list(self.tiling.tiles(self.op))

    def lanes(self) -> Iterator[tuple[Direction, str, list[Share]]]:
        """What moves for each operand: a part again only where another was between."""
        for index, name in enumerate(self.op.inputs):
            if name in self.passing and name not in self.op.inputs[:index]:
                yield "load", name, _runs(self.op.reads(index, r, c) for r, c in self.tiles())
        for name in self.op.outputs:
            if name in self.passing:
                yield "store", name, _runs(self.op.writes(name, r, c) for r, c in self.tiles())

    @property
    def weights(self) -> int:
        return self.program.block_bytes(self.op)

    def slices(self) -> list[Share]:
        return _runs(weight_share(self.op, c) for _, c in self.tiles()) if self.weights else []

    def bytes(self) -> int:
        """The most that any tile takes, of its weights what is beyond one channel's."""
        own = (tile_bytes(self.program, self.op, self.passing, r, c) for r, c in self.tiles())
        slices = (weight_share(self.op, c).bytes(self.weights) for _, c in self.tiles())
        one = -(-self.weights // self.op.work.channels)
        return max(a + b for a, b in zip(own, slices, strict=True)) - one

    def npu(self) -> int:
        tiles = sum(op_cycles(self.chip.npu, self.op, len(r), len(c)) for r, c in self.tiles())
        return tiles - least_cycles(self.chip.npu, self.op)

    def moved(self) -> Fraction:
        """DMA cycles beside those of each tensor and the weights once."""
        costs, total = Costs(self.chip), Fraction(0)
        for direction, name, parts in self.lanes():
            size = self.program.tensors[name].bytes
            total += sum(transfer_cycles(self.chip, direction, part.bytes(size)) for part in parts)
            read = int(size * read_share(self.op, name, 1))
            total -= costs.load(read) if direction == "load" else costs.store(size)
        total += sum(transfer_cycles(self.chip, "load", part.bytes(self.weights)) for part in self.slices())
        return total - costs.load(self.weights) if self.weights else total

    def meanwhile(self, room: int) -> int:
        """Bytes that all tiles leave of ``room``, but for those that move again: what moves once can move
        meanwhile, if there is more than one tile."""
        tensors, tiles, slices = self.program.tensors, self.tiles(), self.slices()
        if len(tiles) == 1:
            return 0
        left = sum(
            room
            - tile_bytes(self.program, self.op, self.passing, rows, channels)
            - weight_share(self.op, channels).bytes(self.weights)
            for rows, channels in tiles
        )
        once = moved = sum(share.bytes(self.weights) for share in dict.fromkeys(slices))
        moved += sum(share.bytes(self.weights) for share in slices) - once
        for _, name, parts in self.lanes():
            once += int(tensors[name].bytes * (read_share(self.op, name, 1) or 1))
            moved += sum(part.bytes(tensors[name].bytes) for part in parts)
        return min(once, left - (moved - once))


def _runs(parts: Iterator[Share]) -> list[Share]:
    return [part for part, _ in groupby(parts)]


def case(seed: int) -> Case | None:
    """None where no op of the program has stripes."""
    random = Random(seed)
    side = random.choice((3, 6, 10))
    program = random_program(seed, Shape(ops=4, depth=0, side=side, channels=random.choice((4, 12))))
    chip = tiny_chip(random)
    chip = replace(chip, dma=replace(chip.dma, channels=Channels()))
    op = random.choice(list(ops(program.body)))
    names = [n for n in dict.fromkeys((*op.inputs, *op.outputs)) if program.tensors[n].bytes]
    if not names or op.absorbs or not op.work.rows:
        return None
    rows, channels = (random.randint(1, n) for n in (op.work.rows, op.work.channels))
    passing = frozenset(random.sample(names, random.randint(1, len(names))))
    tiling = Tiling(rows, channels, striped=True, channels_outer=random.random() < 0.5)
    return Case(program, chip, op, passing, tiling)


@settings(max_examples=250, deadline=None)
@given(st.integers(0, 10**6))
def test_every_tiling_is_no_better_than_some_way(seed: int) -> None:
    """One buffer for each operand: a second one only takes more."""
    real = case(seed)
    assume(real is not None)
    assert real is not None
    kept = frozenset((*real.op.inputs, *real.op.outputs)) - real.passing
    one = -(-real.weights // real.op.work.channels)
    for room in (real.bytes() + one, 2 * real.bytes() + one, 1 << 30):
        found = ways(real.program, real.chip, real.op, kept, room)
        assert 1 <= len(found) <= MOST
        least = Way(real.bytes(), real.npu(), int(real.moved()), real.meanwhile(room))
        assert any(_no_worse(way, least) for way in found), (real.tiling, room, least, found)
    tiles = real.tiles()
    end = tile_bytes(real.program, real.op, real.passing, *tiles[-1])
    assert last(real.program, real.op, real.passing) <= end
    most = max(tile_bytes(real.program, real.op, real.passing, r, c) for r, c in tiles)
    assert largest(real.program, real.op, real.passing, real.tiling.rows, real.tiling.channels) <= most


def _no_worse(way: Way, real: Way) -> bool:
    return all(w <= r for w, r in zip(way[:-1], real[:-1], strict=True)) and way.meanwhile >= real.meanwhile


def conv(channels: int = 4) -> tuple[Program, Op]:
    """x of 4 rows of 8 bytes, 3 x 3 kernels, y of 4 rows of 4 bytes a channel; weights of 18 bytes each."""
    builder = ProgramBuilder("conv")
    y = builder.conv("y", builder.input("x", (1, 2, 4, 4)), channels, 3, pad=1, bias=False)
    builder.output(y)
    program = builder.build()
    return program, next(ops(program.body))


def test_stripes_of_a_convolution_by_hand() -> None:
    """Two stripes read 3 rows each, so 16 bytes twice; four read up to 3 each, which is two rows twice at
    each of three borders. A load is set up in 10 cycles, a store in 5; a byte takes one. Three stripes are
    two."""
    program, op = conv(1)
    found = ways(program, PLAIN, op, frozenset(), 1 << 20)
    costs = [way[:-1] for way in found]
    assert costs == [(24 + 4, 0, 3 * (10 + 5 + 16)), (24 + 8, 0, 10 + 5 + 16), (32 + 16, 0, 0)]
    assert [way[:-1] for way in ways(program, PLAIN, op, frozenset(), 40)] == costs[:2]
    assert [way[:-1] for way in ways(program, PLAIN, op, frozenset(), 20)] == costs[:1]


def test_what_moves_while_stripes_compute_by_hand() -> None:
    """Of 40 bytes four stripes leave 4 * 40, less x's 32 and y's 16, less 18 of weights each; two rows of x
    come again at three borders, and both stripes have them. Of plenty all 66 bytes may move, but where there
    is one stripe."""
    program, op = conv(1)
    assert [way.meanwhile for way in ways(program, PLAIN, op, frozenset(), 40)] == [
        4 * 40 - 32 - 16 - 4 * 18 - 2 * 3 * 16,
        2 * 40 - 32 - 16 - 2 * 18 - 2 * 16,
    ]
    assert [way.meanwhile for way in ways(program, PLAIN, op, frozenset(), 1 << 20)] == [66, 66, 0]


def test_slices_of_weights_alone_by_hand() -> None:
    """Four blocks of 18 bytes: with two and three slices the largest has 36, with one 72. Of 40 bytes beside
    x and y three slices leave 3 * 40 - 72."""
    program, op = conv()
    assert sliced_ways(program, PLAIN, op, 1 << 20) == [
        Way(0, 0, 3 * 10, 72),
        Way(18, 0, 10, 72),
        Way(54, 0, 0, 0),
    ]
    assert sliced_ways(program, PLAIN, op, 40) == [
        Way(0, 0, 3 * 10, 72),
        Way(18, 0, 10, 2 * 40 - 72),
        Way(18, 0, 2 * 10, 3 * 40 - 72),
    ]


def test_slices_of_a_convolution_by_hand() -> None:
    """Two slices of 36 bytes, half of y each, x whole: two set-ups more, or with four slices six. One
    channel's 18 bytes are counted elsewhere. With x in two stripes as well, 16 bytes of it come twice, and
    either it comes again for three more slices (96 cycles), or the weights for another stripe (72)."""
    program, op = conv()
    found = ways(program, PLAIN, op, frozenset(), 1 << 20)
    costs = [way[:-1] for way in found]
    assert costs[-2:] == [(32 + 32 + 18, 0, 10 + 5), (32 + 64 + 54, 0, 0)]
    assert costs[-3] == (32 + 16, 0, 3 * (10 + 5))
    assert costs[-4] == (24 + 8, 0, 10 + 16 + 3 * 10 + 7 * 5 + 72)


def test_without_weights_the_ways_say_nothing_of_them() -> None:
    program, op = conv()
    found = ways(program, PLAIN, op, frozenset(), 1 << 20, weights=False)
    assert max(found) == Way(32 + 64, 0, 0, 0)


def test_the_largest_tile_and_the_last_by_hand() -> None:
    """One row reads 3 of 8 bytes within, 2 at the end; it makes 16 bytes, 4 of one channel."""
    program, op = conv()
    both = frozenset(("x", "y"))
    assert largest(program, op, both, 1, 4) == 24 + 16
    assert largest(program, op, both, 1, 1) == 24 + 4
    assert last(program, op, both) == 16 + 4
    assert last(program, op, frozenset("x")) == 16


def test_a_tensor_that_is_both_operands_is_there_once() -> None:
    builder = ProgramBuilder("twice")
    x = builder.input("x", (1, 4, 4, 4))
    builder.output(builder.elementwise("add", "y", [x, x]))
    program = builder.build()
    op = next(ops(program.body))
    rows = op.work.rows
    assert largest(program, op, frozenset(("x", "y")), rows, 1) == 128
    assert largest(program, op, frozenset("x"), 1, 1) == -(-64 // rows)
