"""How an op is cut into steps: rows per stripe, output channels per weight slice, and their order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from chipmodel.geometry.aligned_cuts import AlignedCuts, aligned_cuts
from chipmodel.geometry.axis_cut import AxisCut
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import WHOLE, Share, by_channels
from chipmodel.model.cascade_work import CascadeWork
from chipmodel.model.program import Op, Program, Tensor
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, Vector, Work
from chipmodel.records import dataclass
from dma.residency.loaded_rings import LoadedRing, loaded_ring, may_roll

NONE_KEPT: frozenset[str] = frozenset()
"""Operands of a striped op that stay whole in SharedMemory: none."""


@dataclass(frozen=True, slots=True)
class Tiling:
    """``rows`` output rows by ``channels`` output channels a step, at most.

    ``striped`` says that the op's tensors stay in Psram and pass through stripe buffers, ``depth``
    of them for each operand (2 lets the DMA work while the NPU computes); if it ``rolls``, inputs pass
    through rolling buffers where they may.
    """

    rows: int
    channels: int
    striped: bool = False
    channels_outer: bool = False
    depth: int = 1
    rolls: bool = False

    def tiles(self, op: Op) -> Iterator[tuple[Interval, Interval]]:
        """(rows, channels) of each step, in order of execution."""
        rows = list(self.stripes(op))
        channels = list(self.slices(op))
        if self.channels_outer:
            yield from ((r, c) for c in channels for r in rows)
        else:
            yield from ((r, c) for r in rows for c in channels)

    def stripes(self, op: Op) -> AlignedCuts:
        """The rows of each stripe: of an op that is cut along axes, or that has several images or products
        with a right matrix each, none lies across two blocks of them."""
        return aligned_cuts(op.work.rows, self.rows, row_blocks(op.work))

    def slices(self, op: Op) -> AlignedCuts:
        """The channels of each slice, as ``stripes``."""
        cut = op.work.cut if isinstance(op.work, Vector) else None
        return aligned_cuts(op.work.channels, self.channels, cut.channel_blocks if cut else ())

    def count(self, op: Op) -> int:
        """Number of steps."""
        return len(self.stripes(op)) * len(self.slices(op))

    def ring(self, op: Op, index: int, tensor: Tensor) -> LoadedRing | None:
        """The rolling buffer for input ``index`` of ``op``, a ``tensor``; None for stripe buffers."""
        outer = self.channels_outer and self.channels < op.work.channels
        if not self.rolls or outer or not may_roll(op, index):
            return None
        ring = loaded_ring(op, index, self.stripes(op), self.depth)
        whole = ring and tensor.bytes % ring.of_rows == tensor.stored.grid[0] % ring.of_rows == 0
        return ring if whole else None


def row_blocks(work: Work) -> tuple[int, ...]:
    """Sizes of blocks of rows within blocks, from all rows down to one, where parts in two blocks need
    different parts of an operand; none where all rows are alike.

    A stripe across two images, products, or bands of a cascade, would need the halo rows, the right matrices,
    or the columns of both and the rows between them.
    """
    match work:
        case Vector(cut=AxisCut() as cut):
            return cut.row_blocks
        case Conv() | Pool() if work.batch > 1:
            blocks = work.batch
        case Matmul(shared_right=False) if work.batch > 1:
            blocks = work.batch
        case CascadeWork() if work.bands > 1:
            blocks = work.bands
        case _:
            return ()
    return () if work.rows == 1 else (work.rows, work.rows // blocks, 1)


def sliced(program: Program, op: Op, limit: int, granule: int) -> int | None:
    """Return the most output channels whose share of the weight block is at most ``limit`` bytes.

    Slices are equal but for the last and, where there is room for it, multiples of the array's
    ``granule``. None where not even one channel's weights fit.
    """
    block = program.block_bytes(op)
    total = op.work.channels
    if block <= limit:
        return total
    most = limit * total // block
    if most < 1:
        return None
    if most >= granule:
        most -= most % granule
    pieces = -(-total // most)
    even = -(-total // pieces)
    return min(most, -(-even // granule) * granule)


def slice_bytes(program: Program, op: Op, channels: int) -> int:
    """Return bytes of the largest weight slice of ``channels`` output channels."""
    total = op.work.channels
    return -(-program.block_bytes(op) * min(channels, total) // total)


def least_weights(program: Program, op: Op, weight_floor: int) -> int:
    """Return the bytes to keep free for one weight buffer of ``op``: its block, but at most ``weight_floor``
    bytes and at least one output channel of it."""
    block = program.block_bytes(op)
    channel = slice_bytes(program, op, 1) if op.work.channels > 1 else block
    return min(block, max(channel, weight_floor))


def whole_tiling(op: Op, channels: int) -> Tiling:
    """Return the tiling of ``op`` with all operands in SharedMemory. A recurrent op whose weights are cut
    needs each slice again on every time step."""
    cut = channels < op.work.channels
    rows = 1 if cut and isinstance(op.work, Recurrent) else op.work.rows
    return Tiling(rows, channels)


def stripe_bytes(program: Program, op: Op, tiling: Tiling, kept: frozenset[str] = NONE_KEPT) -> int:
    """Return bytes that the stripe buffers of ``op`` take, without weights and without operands that are
    ``kept`` whole in SharedMemory.

    An operand that every step needs in the same part has one buffer, whatever the depth.
    """
    operands = (*op.inputs, *op.outputs)
    sizes = tuple(program.tensors[name].bytes for name in operands)
    stripes = _operand_stripes(op, tiling.rows, tiling.channels, sizes)
    taken = [min(tiling.depth, stripe.parts) * stripe.bytes for stripe in stripes]
    for index, name in enumerate(op.inputs) if tiling.rolls else ():
        if ring := tiling.ring(op, index, program.tensors[name]):
            taken[index] = ring.bytes(sizes[index])
    return sum(size for name, size in zip(operands, taken, strict=True) if name not in kept)


class _OperandStripes(NamedTuple):
    """An operand's stripes: how many different ``parts`` are seen of it, at most, and the largest's bytes."""

    parts: int
    bytes: int


@lru_cache(maxsize=1 << 16)
def _operand_stripes(op: Op, rows: int, channels: int, sizes: tuple[int, ...]) -> tuple[_OperandStripes, ...]:
    """For each input and output, of ``sizes`` bytes, its stripes; many rounds ask for the same ones."""
    sampled, again = samples(op, Tiling(rows, channels)), read_again(op)
    made = sampled if op.cascade else sampled[:2]
    shares = [{op.reads(index, r, c) for r, c in sampled} for index in range(len(op.inputs))]
    shares += [{WHOLE} if name in again else {op.writes(name, r, c) for r, c in made} for name in op.outputs]
    return tuple(
        _OperandStripes(len(each), max(share.bytes(size) for share in each))
        for each, size in zip(shares, sizes, strict=True)
    )


def striped(
    program: Program, op: Op, room: int, channels: int, double: bool, kept: frozenset[str] = NONE_KEPT
) -> Tiling | None:
    """Return the stripes of ``op`` within ``room`` bytes that load the fewest bytes, or None where not even
    one row by one channel fits.

    With double buffers transfers overlap with computing, so single ones must save half of the bytes to win
    (assumed).
    """
    best: tuple[int, Tiling] | None = None
    for depth in (2, 1) if double else (1,):
        width = channels
        while width >= 1:
            rows = _most_rows(program, op, room, width, depth, kept)
            if rows:
                tiling = _ordered(program, op, rows, width, depth, kept)
                cost = _moved(program, op, tiling, kept) * (1 if depth == 2 or not double else 2)
                if best is None or cost < best[0]:
                    best = cost, tiling
            width //= 2
    return best[1] if best else None


def least_parts(program: Program, op: Op) -> list[tuple[str, int]]:
    """Return the operands of ``op``, each with the bytes of its part in the smallest step."""
    operands = (*op.inputs, *op.outputs)
    sizes = tuple(program.tensors[name].bytes for name in operands)
    return [
        (name, part.bytes) for name, part in zip(operands, _operand_stripes(op, 1, 1, sizes), strict=True)
    ]


def least_stripe(program: Program, op: Op, kept: frozenset[str] = NONE_KEPT) -> int:
    """Return bytes of the smallest stripe buffers that ``op`` can run with."""
    return stripe_bytes(program, op, Tiling(1, 1, striped=True), kept)


def read_again(op: Op) -> frozenset[str]:
    """Return the outputs of a cascade that it reads again, for which they have to be there whole."""
    return frozenset(name for inner in op.cascade for name in inner.inputs if name in op.outputs)


def cascade_bytes(program: Program, op: Op, kept: frozenset[str] = NONE_KEPT) -> int:
    """Return the bytes of a cascade beside its ``kept`` operands, the others in the smallest stripes."""
    assert isinstance(op.work, CascadeWork)
    return op.work.workspace + program.block_bytes(op) + least_stripe(program, op, kept)


def _most_rows(program: Program, op: Op, room: int, channels: int, depth: int, kept: frozenset[str]) -> int:
    highest = _highest(program, op, room, channels, depth, kept)
    return _even(op, highest) if highest else 0


def _highest(program: Program, op: Op, room: int, channels: int, depth: int, kept: frozenset[str]) -> int:
    """The most rows of a stripe; 0 where not even one fits."""

    def fits(rows: int) -> bool:
        return stripe_bytes(program, op, Tiling(rows, channels, striped=True, depth=depth), kept) <= room

    low, high = 0, op.work.rows
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _even(op: Op, most: int) -> int:
    """Rows of equal stripes: no more stripes than with ``most`` rows, none much smaller than the rest."""
    blocks = row_blocks(op.work)
    block = min((each for each in blocks if most < each), default=op.work.rows)
    rows = -(-block // -(-block // most))

    def count(size: int) -> int:
        return len(aligned_cuts(op.work.rows, size, blocks))

    return rows if count(rows) <= count(most) else most


def _ordered(program: Program, op: Op, rows: int, channels: int, depth: int, kept: frozenset[str]) -> Tiling:
    """The cheaper order: stripes within slices load inputs again, slices within stripes the weights."""
    by_rows = Tiling(rows, channels, True, False, depth)
    if isinstance(op.work, Recurrent) and channels < op.work.channels:
        return replace(by_rows, rows=1)
    by_slices = replace(by_rows, channels_outer=True)
    return min(by_rows, by_slices, key=lambda tiling: _moved(program, op, tiling, kept))


SETUP_BYTES = 680
"""Bytes that a long load moves in the time of one set-up: 656 / (30.891 / 32) on LUNA ARCS."""
RUN_BYTES = 23
"""Bytes that a long load moves while a run's first burst opens: 22.5 / (30.891 / 32) on LUNA ARCS."""
LINE_BYTES = 32
"""Bytes of a line, of which a run moves whole ones: those of LUNA ARCS."""


def transfer_bytes(size: int, runs: int) -> int:
    """Return bytes that a long load moves in the time of ``size`` bytes in ``runs`` runs with set-up."""
    if runs == 1:
        return size + SETUP_BYTES
    lines = -(-size // (runs * LINE_BYTES))
    return runs * (lines * LINE_BYTES + RUN_BYTES) + SETUP_BYTES


def _moved(program: Program, op: Op, tiling: Tiling, kept: frozenset[str]) -> int:
    """Bytes that the steps of ``op`` load, without halo rows. Set-ups and runs, those of the stores too,
    count as the bytes that could be loaded in their time (``transfer_bytes``)."""
    fetched = [name for name in op.inputs if name not in kept]
    stored = [name for name in op.outputs if name not in kept]
    slices, stripes = len(tiling.slices(op)), len(tiling.stripes(op))
    if isinstance(op.work, Vector) and op.work.cut:
        return _moved_in_tiles(program, op, tiling, kept)
    passes = slices if tiling.channels_outer and stripes > 1 else 1
    reloads = stripes if slices > 1 and not tiling.channels_outer else 1
    inputs = sum(_fetched(program, op, name) for name in fetched)
    weights = program.block_bytes(op)
    transfers = passes * stripes * len(fetched) + reloads * slices * bool(weights)
    transfers += slices * stripes * len(stored)
    runs = slices * stripes * _lost_in_runs(program, op, tiling, kept) if slices > 1 else 0
    return inputs * passes + weights * reloads + SETUP_BYTES * transfers + runs


def _moved_in_tiles(program: Program, op: Op, tiling: Tiling, kept: frozenset[str]) -> int:
    """Return ``_moved`` of an op that is cut along axes, each of whose tiles loads its own parts."""
    each = _moved_parts(program, op, tiling.stripes(op).piece(0), tiling.slices(op).piece(0), kept)
    once = sum(transfer_bytes(size, runs) for size, runs in each if size)
    return once * tiling.count(op) + program.block_bytes(op)


def _lost_in_runs(program: Program, op: Op, tiling: Tiling, kept: frozenset[str]) -> int:
    """What moving the tensors of a tile in runs costs beyond one run each."""
    cut = _moved_parts(program, op, Interval(0, tiling.rows), Interval(0, tiling.channels), kept)
    return sum(transfer_bytes(size, runs) - transfer_bytes(size, 1) for size, runs in cut)


def _moved_parts(
    program: Program, op: Op, rows: Interval, channels: Interval, kept: frozenset[str]
) -> list[tuple[int, int]]:
    """Return bytes and runs of what a tile loads and stores."""
    shares = [(name, op.reads(index, rows, channels)) for index, name in enumerate(op.inputs)]
    shares += [(name, op.writes(name, rows, channels)) for name in op.outputs]
    return [(share.bytes(program.tensors[n].bytes), share.runs) for n, share in shares if n not in kept]


def _fetched(program: Program, op: Op, name: str) -> int:
    size = program.tensors[name].bytes
    if name != op.sliced:
        return size
    return 0 if op.collects else size // op.slices


def samples(op: Op, tiling: Tiling) -> list[tuple[Interval, Interval]]:
    """Return a few tiles that include the largest: a halo is widest away from the image's edges, and from
    there on the tiles repeat. (Buffers are sized by the parts that really pass through them.)"""
    stripes, slices = tiling.stripes(op), tiling.slices(op)
    bands, period = (op.work.bands, op.work.period) if isinstance(op.work, CascadeWork) else (1, 1)
    row_places: list[int] = []
    channel_places: list[int] = []
    if isinstance(op.work, Vector) and op.work.cut:
        row_places, channel_places = op.work.cut.beginnings()
    chosen = {*_sampled(len(stripes), bands, 1 + -(-period // tiling.rows)), *_around(stripes, row_places)}
    rows = [stripes.piece(i) for i in sorted(chosen) if i < len(stripes)]
    first = {0, 1, *_around(slices, channel_places)}
    channels = [slices.piece(i) for i in sorted(first) if i < len(slices)]
    return [(r, c) for r in rows for c in channels]


def _around(cuts: AlignedCuts, places: Iterable[int]) -> Iterator[int]:
    """The pieces that have ``places``, and the ones after them."""
    for place in places:
        number = cuts.number_at(place)
        yield from (number, number + 1)


def _sampled(count: int, bands: int, many: int) -> Iterator[int]:
    """The first tiles and so ``many`` in the middle, of each band of columns."""
    for band in range(bands):
        first, last = count * band // bands, count * (band + 1) // bands
        yield from (first, first + 1, *range((first + last) // 2, (first + last) // 2 + many))


def weight_share(op: Op, channels: Interval) -> Share:
    """Return the share of the op's weight block that a slice of ``channels`` needs."""
    return by_channels(channels, op.work.channels)
