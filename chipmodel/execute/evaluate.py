"""Evaluate a part of an op on bytes.

A plan decides which bytes an op reads, not what it computes of them. So no op computes its own function: each
is the same pseudo-random function of the bytes that it reads. Only a concat moves its inputs truly, as a plan
may let them lie where its output is. The layout of the bytes of tensors and weight blocks is that of
``chipmodel.geometry.layout``.

Each line of output depends on exactly the bytes that it may read: one row by one channel, or one row by one
column where a plan computes some columns at a time. Its bytes are pseudo-random, from a digest of the shares
of the inputs that ``Op.reads`` names for it and of its channel's weights. So a part that is computed from
wrong bytes comes out wrong, and one that is computed from the right bytes comes out right. A time step of a
recurrent layer depends on the one before, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from chipmodel.cascades.columns import part_reads, tensor_columns
from chipmodel.execute.byte_arrays import Bytes, Words, digests, key_of, mixed, put, stream, taken
from chipmodel.execute.op_part import OpPart, RecurrentState
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import WHOLE, Share, by_channels
from chipmodel.model.program import Op, Program, Tensor
from chipmodel.model.work import Conv, Matmul, Recurrent, Vector
from chipmodel.rewrites.in_place import runs_of_concat


def evaluate(
    op: Op, program: Program, inputs: Sequence[Bytes], weights: Bytes, part: OpPart
) -> tuple[Bytes, ...]:
    """All bytes of each output of ``op``, of which those of ``part`` are right.

    ``inputs`` are all bytes of each input, ``weights`` those of the op's weight block, or of the whole table
    of an op that gathers. Only the shares that ``op.reads`` names, and the weights of the part's channels,
    change the part. An op that moves one slice of a tensor moves the slice of the part's iteration, modulo
    their number; it keeps the other slices of a tensor that it collects.
    """
    if op.allocates:
        return tuple(np.zeros(program.tensors[name].bytes, np.uint8) for name in op.outputs)
    if (whole := _joined(op, program, inputs)) is not None:
        return (whole,)
    number = part.iteration % op.slices
    given = [
        _slice(op, array, number) if name == op.sliced else array
        for name, array in zip(op.inputs, inputs, strict=True)
    ]
    with np.errstate(over="ignore"):  # words are modulo 2^64
        written = mix(op, program, given, weights, part)
    return tuple(
        _collected(op, inputs, new, number) if name == op.sliced else new
        for name, new in zip(op.made(part.rows), written, strict=True)
    )


def _joined(op: Op, program: Program, inputs: Sequence[Bytes]) -> Bytes | None:
    """All bytes of the output of a concat; None for another op, and where the shapes do not tell the axis."""
    runs = joined_runs(op, program)
    if runs is None:
        return None
    return np.concatenate([each.reshape(runs, -1) for each in inputs], axis=1).reshape(-1)


def joined_runs(op: Op, program: Program) -> int | None:
    """The runs in which each input of a concat lies in its output; None as for ``_joined``."""
    if op.kind != "concat" or len(op.outputs) != 1 or op.weights or op.sliced is not None:
        return None
    runs, sizes = runs_of_concat(program, op), [program.tensors[name].bytes for name in op.inputs]
    total = program.tensors[op.outputs[0]].bytes
    return None if runs is None or sum(sizes) != total or any(size % runs for size in sizes) else runs


def _slice(op: Op, array: Bytes, number: int) -> Bytes:
    """The slice of ``array`` that is read: none where the op collects slices."""
    return array[:0] if op.collects else array.reshape(op.slices, -1)[number]


def _collected(op: Op, inputs: Sequence[Bytes], new: Bytes, number: int) -> Bytes:
    """The tensor that ``op`` collects, with ``new`` as its slice ``number``."""
    whole = inputs[op.inputs.index(op.sliced or "")].copy()
    whole.reshape(op.slices, -1)[number] = new
    return whole


_OPERAND = np.uint64(0xD1B54A32D192ED03)
"""Tells operands apart: an odd constant (Vigna, xoroshiro128+ jump constants)."""


def mix(op: Op, program: Program, inputs: Sequence[Bytes], weights: Bytes, part: OpPart) -> tuple[Bytes, ...]:
    """The part of each output; bytes outside of it are zero. Inputs are slices where the op is sliced."""
    if part.columns is not None:
        return (_in_columns(op, program, inputs, weights, part, part.columns),)
    words = np.full((len(part.rows), len(part.channels)), key_of(op.kind), np.uint64)
    for index, array in enumerate(inputs):
        if len(array):
            words = mixed(words * _OPERAND + _read(op, index, array, part))
    if len(weights):
        words = mixed(words * _OPERAND + _weighed(op, weights, part.channels)[None, :])
    if op.accumulator is not None:
        return (_added_up(op, program, words, op.accumulator.bytes, part),)
    recurrent = isinstance(op.work, Recurrent) and not op.work.solid
    if recurrent:
        words = _after_one_another(op, words, part, part.state)
    spread = _spread_by_share if recurrent else _spread
    made = tuple(
        spread(op, name, mixed(words + np.uint64(number)), _size(op, program, name), part)
        for number, name in enumerate(op.outputs)
    )
    if op.state is not None and part.rows.stop < op.work.rows:
        return (*made, _state(op.state, words[-1]))
    return made


# -- what a line reads -----------------------------------------------------------------------------

SHARES_AT_ONCE = 256
"""Shares whose bytes are in memory at once: thousands may each be most of a tensor."""


def _read(op: Op, index: int, array: Bytes, part: OpPart) -> Words:
    """A digest for each line of what it reads of input number ``index``."""
    lines = _own_lines(op, index)
    if lines is not None and not len(array) % (lines[0] * lines[1]):
        rows, channels = part.rows, part.channels if lines[1] > 1 else Interval(0, 1)
        grid = array.reshape(*lines, -1)
        return digests(grid[rows.start : rows.stop, channels.start : channels.stop])
    shares = [line_reads(op, index, Interval(row, row + 1), part.channels) for row in _numbers(part.rows)]
    different = list(dict.fromkeys(share for row in shares for share in row))
    words = dict(_share_digests(array, different))
    read = np.empty((len(part.rows), len(part.channels)), np.uint64)
    for line, row in zip(read, shares, strict=True):
        line[:] = [words[share] for share in row]
    return read


def _share_digests(array: Bytes, shares: Sequence[Share]) -> Iterator[tuple[Share, np.uint64]]:
    """A digest of each of ``shares``; those of one size at once, which is quicker, but not too many."""
    for first in range(0, len(shares), SHARES_AT_ONCE):
        by_size: dict[int, list[tuple[Share, Bytes]]] = {}
        for share in shares[first : first + SHARES_AT_ONCE]:
            content = _taken(array, share)
            by_size.setdefault(len(content), []).append((share, content))
        for same in by_size.values():
            names, contents = zip(*same, strict=True)
            yield from zip(names, digests(np.stack(contents)), strict=True)


def _own_lines(op: Op, index: int) -> tuple[int, int] | None:
    """The rows and channels of an operand of which each line reads its own; None where it may read others."""
    work = op.work
    if index in op.whole:
        return None
    if isinstance(work, Vector):
        moves = work.reach is not None or work.cut is not None or index in work.broadcast
        return None if moves else (work.rows, 1)
    further = (isinstance(work, Conv) and index > 0) or (isinstance(work, Matmul) and index > 1)
    return (work.rows, work.channels) if further else None


def line_reads(op: Op, index: int, row: Interval, channels: Interval) -> list[Share]:
    """What each of ``channels`` reads for ``row``, within a slice; one share where all of the op's read the
    same."""
    if index in op.whole:
        return [WHOLE]
    needs, last = op.work.needs, op.work.channels - 1
    every = needs(index, row, Interval(0, last + 1))
    if not last or all(needs(index, row, Interval(c, c + 1)) == every for c in (0, last)):
        return [every]
    return [needs(index, row, Interval(c, c + 1)) for c in _numbers(channels)]


def _taken(array: Bytes, share: Share) -> Bytes:
    """The same as ``taken``, without a loop, where rows, channels and columns are whole bytes."""
    lines = share.of_rows, share.of_channels, share.of_columns
    if len(array) % (lines[0] * lines[1] * lines[2]):
        return taken(array, share)
    rows, channels, columns = (slice(i.start, i.stop) for i in (share.rows, share.channels, share.columns))
    return array.reshape(*lines, -1)[rows, channels, columns].reshape(-1)


def _weighed(op: Op, weights: Bytes, channels: Interval) -> Words:
    if op.gathers:
        return digests(weights[None, :])
    own = (by_channels(Interval(c, c + 1), op.work.channels) for c in _numbers(channels))
    return np.array([digests(taken(weights, share)) for share in own], np.uint64)


def _added_up(op: Op, program: Program, words: Words, size: int, part: OpPart) -> Bytes:
    """The ``size`` bytes of accumulators after the part or, if it has the last row, the output: each row of
    ``words`` is mixed into the bytes that were there."""
    each = size // op.work.channels
    sums = np.zeros(size, np.uint8) if part.sums is None else part.sums
    for row in words:
        sums = _content(mixed(digests(sums.reshape(-1, each)) * _OPERAND + row)[:, None], each).reshape(-1)
    if part.rows.stop < op.work.rows:
        return sums
    made = _size(op, program, op.outputs[0])
    return _content(digests(sums.reshape(-1, each))[:, None], made // op.work.channels).reshape(-1)


def _after_one_another(op: Op, words: Words, part: OpPart, state: RecurrentState) -> Words:
    """The words of time steps, each with those of all units at the step before, or the bytes left by it."""
    result = words.copy()
    if op.state is not None:
        left = part.sums
        for row in result:
            row[:] = row if left is None else mixed(row + digests(left))
            left = _state(op.state, row)
        return result
    for index, row in enumerate(_numbers(part.rows)):
        before = state.steps.get(row - 1) if row else None
        if before is not None:
            result[index] = mixed(result[index] + digests(before.view(np.uint8)))
        units = state.steps.setdefault(row, np.zeros(op.work.channels, np.uint64))
        units[part.channels.start : part.channels.stop] = result[index]
    return result


def _state(state: Tensor, units: Words) -> Bytes:
    """The bytes of a ``state``, from the words of all ``units`` at a time step."""
    return _content(digests(units.view(np.uint8)), state.bytes)


# -- where the bytes of a line are -----------------------------------------------------------------


def _spread(op: Op, name: str, words: Words, size: int, part: OpPart) -> Bytes:
    """``size`` bytes of an output, of which those of the part are made from the words of their lines."""
    result = np.zeros(size, np.uint8)
    lines = op.work.rows * op.work.channels
    numbers = np.arange(part.rows.start, part.rows.stop)[:, None] * op.work.channels
    numbers = (numbers + np.arange(part.channels.start, part.channels.stop)[None, :]).reshape(-1)
    starts, stops = -(-size * numbers // lines), -(-size * (numbers + 1) // lines)
    lengths = stops - starts
    longest = int(lengths.max(initial=0))
    content = _content(words.reshape(-1)[:, None], longest)
    places = starts[:, None] + np.arange(longest)[None, :]
    own = np.arange(longest)[None, :] < lengths[:, None]
    result[places[own]] = content[own]
    return result


def _spread_by_share(op: Op, name: str, words: Words, size: int, part: OpPart) -> Bytes:
    """The same as ``_spread``, where the lines of the output do not lie one after another."""
    result = np.zeros(size, np.uint8)
    for index, row in enumerate(_numbers(part.rows)):
        for word, channel in zip(words[index], _numbers(part.channels), strict=True):
            share = op.writes(name, Interval(row, row + 1), Interval(channel, channel + 1))
            put(result, share, _content(word, share.bytes(size)))
    return result


def _content(words: Words | np.uint64, count: int) -> Bytes:
    """``count`` bytes for each word, on the last axis."""
    return np.asarray(mixed(np.asarray(words + stream(key_of("spread"), count))) >> np.uint64(56), np.uint8)


def _size(op: Op, program: Program, name: str) -> int:
    """Bytes that a run writes of output ``name``."""
    return program.tensors[name].bytes // (op.slices if name == op.sliced else 1)


def _in_columns(
    op: Op, program: Program, inputs: Sequence[Bytes], weights: Bytes, part: OpPart, columns: Interval
) -> Bytes:
    """All bytes of the output, of which those in the part's rows and ``columns`` are made from the words of
    each row by column, and the rest is zero."""
    out = program.tensors[op.outputs[0]]
    image_rows, image_channels, _ = out.stored.grid
    units = min(op.work.rows, image_rows)
    """Rows that are rows of the work, or several of them, as well as rows of the image."""
    each = op.work.rows // units
    shape = (units, image_rows // units * image_channels, tensor_columns(program, out.name), -1)
    result = np.zeros(out.bytes, np.uint8).reshape(shape)
    key = mixed(key_of(op.kind) + digests(weights)) if len(weights) else key_of(op.kind)
    for unit in range(part.rows.start // each, -(-part.rows.stop // each)):
        rows = Interval(unit * each, (unit + 1) * each)
        for column in _numbers(columns):
            word = key
            for index, array in enumerate(inputs):
                share = part_reads(program, op, index, rows, part.channels, Interval(column, column + 1))
                word = mixed(word * _OPERAND + digests(_taken(array, share)))
            size = result.shape[1] * result.shape[3]
            result[unit, :, column] = _content(word, size).reshape(result.shape[1], -1)
    return result.reshape(-1)


def _numbers(interval: Interval) -> range:
    return range(interval.start, interval.stop)
