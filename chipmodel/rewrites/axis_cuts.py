"""Cut an op along any axes of its output: which digits of its axes its tensors have in memory, and which of
them make the rows and channels of its parts.

A tensor lies in memory as an array of *digits*: its axes, of which some are split where a view or another
order of memory mixes them. A digit is told by its axis and its step, the number of indices from one of its
values to the next. Two tensors of which one follows an axis of the other are split alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from math import prod

from chipmodel.geometry.aligned_cuts import aligned_cuts
from chipmodel.geometry.axis_cut import AxisCut, OperandAxes, OperandAxis
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import WHOLE, Share, by_rows_and_channels
from chipmodel.geometry.window import Reach
from chipmodel.model.program import DTYPE_BITS
from chipmodel.records import dataclass
from chipmodel.rewrites.axis_relations import AxisRelation, Relations
from chipmodel.rewrites.op_shapes import SeenTensor

TILE_SHARE = 4
"""The tile that a cut is chosen by takes at most the capacity by this: there is another one of each buffer in
flight, and weights or slices that stay (chosen)."""
LINE_BYTES = 32
RUN_BYTES = 23
SETUP_BYTES = 680
"""What a run and a transfer cost, in bytes: as ``dma.residency.tiling``, where they come from."""


@dataclass(frozen=True, slots=True)
class Digit:
    """``size`` values of a digit of ``axis`` with this ``step``; see above."""

    axis: int
    size: int
    step: int


@dataclass(frozen=True, slots=True)
class CutNeeds:
    """What a cut has to keep to, besides the tensors: whether weights follow the channels (``weighted``), so
    that there is one row, or all of them are needed by every part (``fixed``), so that there is one
    channel."""

    weighted: bool = False
    fixed: bool = False
    channels: int = 0
    """The number of channels that there must be; 0 for any."""


@lru_cache(maxsize=1024)
def axis_cut(
    inputs: tuple[SeenTensor, ...],
    outputs: tuple[SeenTensor, ...],
    follows: tuple[Relations, ...],
    capacity: int,
    needs: CutNeeds,
) -> AxisCut | None:
    """The cut whose parts of about a quarter of ``capacity`` bytes move in the least time; None where the
    bytes of the outputs lie in an order that axes do not describe, or differently from each other."""
    made = memory_digits(outputs[0])
    if made is None or any(memory_digits(output) != made for output in outputs[1:]):
        return None
    steps = _common_steps(made, inputs, follows, outputs[0].shape)
    digits = [digit for each in made for digit in _split(each, steps.get(each.axis, ()))]
    operands = [
        _operand_axes(each, relation, digits, steps) for each, relation in zip(inputs, follows, strict=True)
    ]
    best: tuple[int, int, AxisCut] | None = None
    sizes = tuple(digit.size for digit in digits)
    for rows, channels in _divisions(digits, outputs, needs):
        cut = AxisCut(sizes, rows, channels, tuple(None if a is None else OperandAxes(a) for a in operands))
        for tile in _tiles(cut):
            best = _with_splits(cut, tile, (inputs, outputs), capacity // TILE_SHARE, best)
    return best[2] if best else None


def memory_digits(tensor: SeenTensor) -> list[Digit] | None:
    """The digits of a tensor's axes, as the op sees them, in the order of memory; None where an axis of one
    shape is mixed of parts of several axes of the other."""
    stored, shape = tensor.stored, tensor.shape
    each = [prod(stored.shape[axis + 1 :]) for axis in range(len(stored.shape))]
    steps = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    found: list[Digit] = []
    for place in stored.order:
        size, step = stored.shape[place], each[place]
        if size == 1:
            continue
        bounds = sorted({step, step * size, *(s for s in steps if step < s < step * size)}, reverse=True)
        for high, low in pairwise(bounds):
            axis = next(a for a, s in enumerate(steps) if s <= low and shape[a] > 1)
            if high % low or low % steps[axis] or high > steps[axis] * shape[axis]:
                return None
            found.append(Digit(axis, high // low, low // steps[axis]))
    return _joined(found)


def _joined(digits: Sequence[Digit]) -> list[Digit]:
    """Digits of one axis that follow one another in memory as they count are one."""
    found: list[Digit] = []
    for digit in digits:
        last = found[-1] if found else None
        if last and last.axis == digit.axis and last.step == digit.step * digit.size:
            found[-1] = Digit(digit.axis, last.size * digit.size, digit.step)
        else:
            found.append(digit)
    return found


def _common_steps(
    made: Sequence[Digit], inputs: Sequence[SeenTensor], follows: Sequence[Relations], shape: tuple[int, ...]
) -> dict[int, tuple[int, ...]]:
    """For each axis of the output, the steps at which a tensor splits it, as far as each divides the next."""
    steps: dict[int, set[int]] = {}
    for digit in made:
        steps.setdefault(digit.axis, {1, shape[digit.axis]}).update((digit.step, digit.step * digit.size))
    for tensor, relation in zip(inputs, follows, strict=True):
        for axis, known in _followed(tensor, relation):
            wanted = {known.outer, tensor.shape[axis]}
            wanted |= {d.step for d in memory_digits(tensor) or () if d.axis == axis}
            together = steps.get(known.axis, set()) | wanted
            if not known.plain or not _divide(sorted(together)):
                continue
            steps[known.axis] = together
    return {axis: tuple(sorted(each)) for axis, each in steps.items()}


def _followed(tensor: SeenTensor, relation: Relations) -> Iterator[tuple[int, AxisRelation]]:
    for axis, known in enumerate(relation):
        if known is not None and tensor.shape[axis] > 1:
            yield axis, known


def _divide(steps: Sequence[int]) -> bool:
    return not any(high % low for low, high in pairwise(steps))


def _split(digit: Digit, steps: Sequence[int]) -> list[Digit]:
    """A digit split at ``steps`` of its axis, the outermost first."""
    low, high = digit.step, digit.step * digit.size
    ends = sorted({low, high, *(step for step in steps if low < step < high)}, reverse=True)
    return [Digit(digit.axis, high // low, low) for high, low in pairwise(ends)]


def _operand_axes(
    tensor: SeenTensor, relation: Relations, digits: Sequence[Digit], steps: Mapping[int, Sequence[int]]
) -> tuple[OperandAxis, ...] | None:
    """The axes of an operand, each with the digit of the output that it follows; None if unknown."""
    own = memory_digits(tensor)
    if own is None:
        return None
    numbers = {(digit.axis, digit.step): number for number, digit in enumerate(digits)}
    found: list[OperandAxis] = []
    for digit in own:
        known = relation[digit.axis]
        if known is None:
            found.append(OperandAxis(digit.size))
        elif not known.plain:
            found.append(_moved_axis(digit, known, tensor, digits))
        else:
            found += _plain_axes(digit, known, numbers, digits, steps.get(known.axis, ()))
    return tuple(found)


def _plain_axes(
    digit: Digit,
    known: AxisRelation,
    numbers: Mapping[tuple[int, int], int],
    digits: Sequence[Digit],
    steps: Sequence[int],
) -> list[OperandAxis]:
    found: list[OperandAxis] = []
    pieces = _split(digit, steps)
    for piece in pieces:
        number = numbers.get((known.axis, piece.step))
        alike = number is not None and digits[number].size == piece.size and piece.step >= known.outer
        found.append(OperandAxis(piece.size, number if alike else None))
    return found


def _moved_axis(
    digit: Digit, known: AxisRelation, tensor: SeenTensor, digits: Sequence[Digit]
) -> OperandAxis:
    """An axis that is moved, if it is a single digit in both tensors."""
    number = next((n for n, each in enumerate(digits) if each.axis == known.axis), None)
    split = sum(each.axis == known.axis for each in digits) != 1 or digit.size != tensor.shape[digit.axis]
    if number is None or split:
        return OperandAxis(digit.size)
    return OperandAxis(digit.size, number, known.reach, known.apart)


def _divisions(
    digits: Sequence[Digit], outputs: Sequence[SeenTensor], needs: CutNeeds
) -> Iterator[tuple[int, int]]:
    """How many digits may make rows and how many channels, where a part has whole bytes."""
    sizes = [digit.size for digit in digits]
    for rows in range(1 if needs.weighted else len(sizes) + 1):
        for channels in range(1 if needs.fixed else len(sizes) - rows + 1):
            inside = prod(sizes[rows + channels :])
            if any(inside * DTYPE_BITS[output.dtype] % 8 for output in outputs):
                continue
            if needs.channels and prod(sizes[rows : rows + channels]) != needs.channels:
                continue
            yield rows, channels


def _tiles(cut: AxisCut) -> Iterator[tuple[int, int]]:
    """Numbers of rows and channels of a part that are tried: whole blocks, and some of them."""
    for rows in _ladder(cut.rows, cut.row_blocks):
        for channels in _ladder(cut.channels, cut.channel_blocks):
            yield rows, channels


def _ladder(total: int, blocks: Sequence[int]) -> list[int]:
    found = {total}
    for outer, inner in pairwise(blocks):
        size = inner
        while size < outer:
            found.add(size)
            size *= 4
    return sorted(found)


def _with_splits(
    cut: AxisCut,
    tile: tuple[int, int],
    tensors: tuple[Sequence[SeenTensor], Sequence[SeenTensor]],
    limit: int,
    best: tuple[int, int, AxisCut] | None,
) -> tuple[int, int, AxisCut] | None:
    """The better of ``best`` and ``cut`` with each operand split into rows and channels so that the tile
    moves in the least time: the bytes of the tile beyond ``limit``, then the time of all tiles, in bytes
    that would move in it."""
    rows = aligned_cuts(cut.rows, tile[0], cut.row_blocks)
    channels = aligned_cuts(cut.channels, tile[1], cut.channel_blocks)
    place = rows.piece(len(rows) // 2), channels.piece(len(channels) // 2)
    count = len(rows) * len(channels)
    inputs, outputs = tensors
    made = by_rows_and_channels(place[0], cut.rows, place[1], cut.channels)
    size = sum(made.bytes(output.bytes) for output in outputs)
    cost = count * sum(_cost(made, output.bytes) for output in outputs)
    operands: list[OperandAxes | None] = []
    box = cut.box(*place)
    for axes, tensor in zip(cut.operands, inputs, strict=True):
        if best and (max(0, size - limit), cost) >= best[:2]:
            return best
        split, share = _split_best(axes, box, tensor) if axes else (None, WHOLE)
        operands.append(split)
        size += share.bytes(tensor.bytes)
        cost += count * _cost(share, tensor.bytes)
    found = max(0, size - limit), cost
    if best and found >= best[:2]:
        return best
    return (*found, AxisCut(cut.sizes, cut.row_axes, cut.channel_axes, tuple(operands)))


def _split_best(axes: OperandAxes, box: Sequence[Interval], tensor: SeenTensor) -> tuple[OperandAxes, Share]:
    """The operand's axes split so that its share of a part moves in the least time, and that share."""
    found = [_placed(axes, split, box) for split in range(len(axes.axes) + 1)]
    return min(found, key=lambda each: _cost(each[1], tensor.bytes))


def _placed(axes: OperandAxes, split: int, box: Sequence[Interval]) -> tuple[OperandAxes, Share]:
    """The operand's axes split there, and its share of a part, or where it is read if it lies apart."""
    shifted = [replace(a, reach=Reach() if a.apart else a.reach, apart=False) for a in axes.axes]
    return OperandAxes(axes.axes, split), OperandAxes(tuple(shifted), split).share(_within(axes, box))


def _within(axes: OperandAxes, box: Sequence[Interval]) -> list[Interval]:
    """The box, where an operand lies apart moved to its beginning."""
    found = list(box)
    for axis in axes.axes:
        if axis.apart and axis.follows is not None:
            found[axis.follows] = Interval(0, min(axis.size, len(box[axis.follows])))
    return found


def _cost(share: Share, total: int) -> int:
    """The time of a transfer of ``share``, in bytes; see above."""
    size, runs = share.bytes(total), share.runs
    if not size:
        return 0
    lines = -(-size // (runs * LINE_BYTES))
    return runs * (lines * LINE_BYTES + RUN_BYTES) + SETUP_BYTES
