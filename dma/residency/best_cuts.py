"""The stripes of an op that take the least time: rows by output channels, order, and one or two buffers.

``dma.residency.tiling.striped`` moves the fewest bytes for given weight slices; here slices and stripes are
chosen together, counting halo rows, weights that are loaded again for every stripe, set-ups and the cycles
that the NPU loses with small tiles. The forecast is for the op alone: its loads and stores, and its
computing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, lru_cache

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share
from chipmodel.hardware.chip import Chip, Npu
from chipmodel.model.program import Op, Program
from chipmodel.model.schedule import Direction
from chipmodel.model.work import Recurrent
from chipmodel.npu.cycles import op_cycles
from chipmodel.records import dataclass
from chipmodel.timing.transfer import transfer_cycles
from dma.residency.loaded_rings import may_roll
from dma.residency.tiling import Tiling, slice_bytes, sliced, stripe_bytes

PIECE_COUNTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512, 1024, 2048, 4096)
"""Numbers of stripes, and of slices, that are tried: fine steps up to 4, coarse ones beyond."""


@dataclass(frozen=True, slots=True)
class TilingForecast:
    """A tiling with its forecast, in cycles and bytes."""

    tiling: Tiling
    bytes: int
    """SharedMemory for stripes and weight slices, without the operands that lie there whole."""
    npu: int
    dma: int
    ends: int
    """Cycles of the first step's loads and the last step's stores, during which the NPU is idle."""

    @property
    def cycles(self) -> int:
        """From the first load to the last store; only with two buffers each do transfers overlap."""
        if self.tiling.depth == 1:
            return self.npu + self.dma
        return max(self.npu + self.ends, self.dma)

    @property
    def cost(self) -> int:
        """The cycles, and half of those of the DMA engine."""
        return self.cycles + self.dma // 2


def best_cut(program: Program, chip: Chip, op: Op, room: int, kept: frozenset[str]) -> TilingForecast | None:
    """Return the tiling of a striped op that takes the least time within ``room`` bytes, besides its ``kept``
    operands, which lie whole in SharedMemory; None where not even one row by one channel fits.

    Half of the DMA cycles count in addition, for what they delay in neighbouring ops. So no tiling costs less
    than one and a half times its DMA cycles, and where these are too many its computing is not looked at.
    """
    key, best = _CutKey(program, chip, op, kept), None
    for cut in _tried(key):
        if cut.bytes <= room and (best is None or cut.least_cost <= best.cost):
            found = cut.forecast
            if best is None or (found.cost, found.bytes) < (best.cost, best.bytes):
                best = found
    return best and _filled(key, best, room)


def _filled(key: _CutKey, best: TilingForecast, room: int) -> TilingForecast:
    """Return ``best``, or a faster tiling with as many rows and the most channels that fit, or the other way
    round: numbers of parts are tried in coarse steps."""
    op, tiling = key.op, best.tiling
    rows, channels = op.work.rows, op.work.channels
    in_steps = isinstance(op.work, Recurrent) and tiling.channels < channels

    def fewest(low: int, total: int, cut: Callable[[int], Tiling]) -> Tiling:
        """The least size that makes no more parts than the largest that fits."""
        high = total
        while low < high:
            middle = (low + high + 1) // 2
            fits = _TriedCut(key, cut(middle)).bytes <= room
            low, high = (middle, high) if fits else (low, middle - 1)
        return cut(-(-total // -(-total // low)))

    found = [fewest(tiling.channels, channels, lambda n: replace(tiling, channels=n))]
    if not in_steps:
        found.append(fewest(tiling.rows, rows, lambda n: replace(tiling, rows=n)))
    others = (_TriedCut(key, each).forecast for each in found if each != tiling)
    return min((best, *others), key=lambda each: each.cost)


def whole_cut(program: Program, chip: Chip, op: Op, kept: frozenset[str]) -> TilingForecast:
    """Return the forecast of all of a striped op in one step."""
    return _TriedCut(_CutKey(program, chip, op, kept), Tiling(op.work.rows, op.work.channels, True)).forecast


def rolling_cut(program: Program, chip: Chip, op: Op, tiling: Tiling, kept: frozenset[str]) -> Tiling:
    """Return the stripes ``tiling`` of an op or, if there are faster ones with as wide slices in no more
    bytes, those of which each loads only the rows of its inputs that are new."""
    passing = [(n, program.tensors[name]) for n, name in enumerate(op.inputs) if name not in kept]
    rolling = [each for each in passing if may_roll(op, each[0])]
    if not rolling:
        return tiling
    key = _CutKey(program, chip, op, kept)
    given = _TriedCut(key, tiling)
    tried = (
        _TriedCut(key, replace(tiling, rows=rows, depth=depth, rolls=True))
        for rows in dict.fromkeys((tiling.rows, *_sizes(op.work.rows)))
        for depth in (1, 2)
    )
    rings = (cut for cut in tried if any(cut.tiling.ring(op, *each) for each in rolling))
    fits = (cut for cut in rings if cut.bytes <= given.bytes)
    found = (cut.forecast for cut in fits if cut.least_cost < given.forecast.cost)
    return min((given.forecast, *found), key=lambda each: each.cost).tiling


def cuts(program: Program, chip: Chip, op: Op, kept: frozenset[str]) -> tuple[TilingForecast, ...]:
    """Forecasts of all tilings with the numbers of stripes and slices in ``PIECE_COUNTS``."""
    return tuple(cut.forecast for cut in _tried(_CutKey(program, chip, op, kept)))


class _CutKey:
    """The arguments as a key, equal for ops that only differ in names."""

    def __init__(self, program: Program, chip: Chip, op: Op, kept: frozenset[str]) -> None:
        self.program, self.chip, self.op, self.kept = program, chip, op, kept
        operands = (*op.inputs, *op.outputs)
        names = (
            op
            if op.sliced or op.cascade
            else replace(op, name="", inputs=(), outputs=(), weights=(), place=None)
        )
        tensors = tuple((operands.index(n), program.tensors[n].bytes, n in kept) for n in operands)
        self.key = (id(chip), names, tensors, program.block_bytes(op))
        self.hash = hash(self.key)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _CutKey) and self.key == other.key


@lru_cache(maxsize=4096)
def _tried(key: _CutKey) -> tuple[_TriedCut, ...]:
    found: list[_TriedCut] = []
    for tiling in _tilings(key.op):
        before = found[-1] if found else None
        alike = before and (before.tiling.rows, before.tiling.channels) == (tiling.rows, tiling.channels)
        found.append(_TriedCut(key, tiling, before if alike else None))
    return tuple(found)


class _TriedCut:
    """A tiling of which no more is computed than is asked for, nor what is the same of ``alike``: another one
    with as many rows and channels."""

    def __init__(self, key: _CutKey, tiling: Tiling, alike: _TriedCut | None = None) -> None:
        self.key, self.tiling, self.alike = key, tiling, alike

    @cached_property
    def bytes(self) -> int:
        program, op, tiling = self.key.program, self.key.op, self.tiling
        depth = 1 if len(tiling.slices(op)) == 1 else tiling.depth
        weights = slice_bytes(program, op, tiling.channels)
        return stripe_bytes(program, op, tiling, self.key.kept) + weights * depth

    @cached_property
    def moved(self) -> tuple[int, int]:
        """DMA cycles, and those of them in which the NPU is idle."""
        alike = self.alike
        same = alike and alike.tiling.channels_outer == self.tiling.channels_outer
        return alike.moved if alike and same else _moved(self.key, self.tiling)

    @cached_property
    def npu(self) -> int:
        """Cycles of the NPU."""
        return self.alike.npu if self.alike else tiled_cycles(self.key.chip.npu, self.key.op, self.tiling)

    @property
    def least_cost(self) -> int:
        return self.moved[0] + self.moved[0] // 2

    @cached_property
    def forecast(self) -> TilingForecast:
        dma, ends = self.moved
        return TilingForecast(self.tiling, self.bytes, self.npu, dma, ends)


def _tilings(op: Op) -> Iterator[Tiling]:
    rows_of, channels_of = _sizes(op.work.rows), _sizes(op.work.channels)
    for channels in channels_of:
        for rows in (1,) if isinstance(op.work, Recurrent) and channels < op.work.channels else rows_of:
            grid = rows < op.work.rows and channels < op.work.channels
            for outer in (False, True) if grid else (False,):
                for depth in (1, 2):
                    yield Tiling(rows, channels, True, outer, depth)


def _sizes(total: int) -> list[int]:
    return list(dict.fromkeys(-(-total // parts) for parts in PIECE_COUNTS if parts <= total))


def _moved(key: _CutKey, tiling: Tiling) -> tuple[int, int]:
    program, chip, op, kept = key.program, key.chip, key.op, key.kept
    every, widths = tiling.stripes(op), tiling.slices(op)
    stripes, slices = len(every), len(widths)
    middle = every.piece((stripes - 1) // 2)  # never the last of several, which may be small
    channels, last = widths.piece(0), Interval(op.work.channels - tiling.channels, op.work.channels)

    def moved(direction: Direction, name: str, share: Share) -> int:
        size = share.bytes(program.tensors[name].bytes)
        return transfer_cycles(chip, direction, size, share.runs) if size else 0

    ends = dma = 0
    for index, name in enumerate(op.inputs):
        if name in kept or name in op.inputs[:index]:
            continue
        share = op.reads(index, middle, channels)
        by_channel = slices > 1 and share != op.reads(index, middle, last)
        again = slices if by_channel or (tiling.channels_outer and stripes > 1) else 1
        if ring := tiling.ring(op, index, program.tensors[name]):
            loads = Counter(len(rows) for _, new in ring.new for rows in ring.pieces(new))
            once = ((Share(Interval(0, rows), ring.of_rows), count) for rows, count in loads.items())
            dma += sum(moved("load", name, rows) * count for rows, count in once)
            ends += moved("load", name, share)
            continue
        each = moved("load", name, share)
        ends += each
        dma += each * stripes * again
    for name in op.outputs:
        if name not in kept:
            each = moved("store", name, op.writes(name, middle, channels))
            ends += each
            dma += each * stripes * slices
    weights = slice_bytes(program, op, tiling.channels)
    if weights:
        reloaded = stripes if slices > 1 and not tiling.channels_outer else 1
        dma += transfer_cycles(chip, "weights", weights) * slices * reloaded
    return dma, ends


def slices_cycles(chip: Chip, op: Op, width: int) -> int:
    """NPU cycles of ``op`` in slices of ``width`` output channels."""
    return tiled_cycles(chip.npu, op, Tiling(op.work.rows, width))


def quickest_slices(program: Program, chip: Chip, op: Op, limit: int) -> int | None:
    """Return the output channels of slices of weights of at most ``limit`` bytes (``tiling.sliced``).

    Of an op with one row, to which launches matter most, they are as many as fit where that takes the NPU
    less time than multiples of what its array computes at once.
    """
    even = sliced(program, op, limit, chip.npu.array[1])
    most = sliced(program, op, limit, 1)
    if op.work.rows > 1 or even is None or most is None:
        return even
    return min(even, most, key=lambda width: slices_cycles(chip, op, width))


def tiled_cycles(npu: Npu, op: Op, tiling: Tiling) -> int:
    """Return the NPU cycles of all tiles of ``op``."""
    return sum(
        count * times * op_cycles(npu, op, rows, channels)
        for rows, count in tiling.stripes(op).sizes().items()
        for channels, times in tiling.slices(op).sizes().items()
    )
