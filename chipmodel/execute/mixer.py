"""Ops whose meaning is not known: every line of output bytes depends on exactly the bytes that it may read.

A line is one row by one channel of an output. Its bytes are pseudo-random, from a digest of the shares of the
inputs that ``Op.reads`` names for it and of its channel's weights. So a part that is computed from wrong
bytes comes out wrong, and one that is computed from the right bytes comes out right.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chipmodel.execute.byte_arrays import Bytes, Words, digests, key_of, mixed, stream, taken
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import WHOLE, Share, by_channels, by_rows
from chipmodel.model.program import Op, Program
from chipmodel.model.work import Conv, Pool, Vector

_OPERAND = np.uint64(0xD1B54A32D192ED03)
"""Tells operands apart: an odd constant (Vigna, xoroshiro128+ jump constants)."""


def mix(
    op: Op, program: Program, inputs: Sequence[Bytes], weights: Bytes, rows: Interval, channels: Interval
) -> tuple[Bytes, ...]:
    """The part ``rows`` x ``channels`` of each output; bytes outside of it are zero. Inputs are slices where
    the op is sliced."""
    words = np.full((len(rows), len(channels)), key_of(op.kind), np.uint64)
    for index, array in enumerate(inputs):
        if not len(array):
            continue
        words = mixed(words * _OPERAND + _read(op, index, array, rows, channels))
    if len(weights):
        words = mixed(words * _OPERAND + _weighed(op, weights, channels)[None, :])
    return tuple(
        _spread(op, mixed(words + np.uint64(number)), _size(op, program, name), rows, channels)
        for number, name in enumerate(op.outputs)
    )


def _read(op: Op, index: int, array: Bytes, rows: Interval, channels: Interval) -> Words:
    """A digest for each line of what it reads of input number ``index``."""
    total = op.work.rows
    first = _needs(op, index, Interval(rows.start, rows.start + 1), Interval(0, op.work.channels))
    # The first row may read one row, and the others more.
    windowed = isinstance(op.work, Conv | Pool) or (
        isinstance(op.work, Vector) and (op.work.reach is not None or op.work.cut is not None)
    )
    own_row = by_rows(Interval(rows.start, rows.start + 1), total)
    if not windowed and first == own_row != WHOLE and len(array) % total == 0:
        own = array.reshape(total, -1)[rows.start : rows.stop]
        return digests(own)[:, None]
    known: dict[Share, np.uint64] = {}

    def digest(row: int, channel: int) -> np.uint64:
        share = _needs(op, index, Interval(row, row + 1), Interval(channel, channel + 1))
        if share not in known:
            known[share] = digests(taken(array, share)[None, :])[0]
        return known[share]

    cells = [[digest(r, c) for c in range(*_ends(channels))] for r in range(*_ends(rows))]
    return np.array(cells, np.uint64)


def _needs(op: Op, index: int, rows: Interval, channels: Interval) -> Share:
    """As ``Op.reads``, within a slice."""
    return WHOLE if index in op.whole else op.work.needs(index, rows, channels)


def _weighed(op: Op, weights: Bytes, channels: Interval) -> Words:
    if op.gathers:
        return digests(weights[None, :])
    slices = (
        taken(weights, by_channels(Interval(c, c + 1), op.work.channels)) for c in range(*_ends(channels))
    )
    return np.array([digests(own[None, :])[0] for own in slices], np.uint64)


def _spread(op: Op, words: Words, size: int, rows: Interval, channels: Interval) -> Bytes:
    """``size`` bytes, of which those of the part are made from the words of their lines."""
    result = np.zeros(size, np.uint8)
    lines = op.work.rows * op.work.channels
    numbers = np.arange(rows.start, rows.stop)[:, None] * op.work.channels
    numbers = (numbers + np.arange(channels.start, channels.stop)[None, :]).reshape(-1)
    starts, stops = -(-size * numbers // lines), -(-size * (numbers + 1) // lines)
    lengths = stops - starts
    longest = int(lengths.max(initial=0))
    content = mixed(words.reshape(-1)[:, None] + stream(key_of("spread"), longest)[None, :])
    places = starts[:, None] + np.arange(longest)[None, :]
    own = np.arange(longest)[None, :] < lengths[:, None]
    result[places[own]] = (content[own] >> np.uint64(56)).astype(np.uint8)
    return result


def _size(op: Op, program: Program, name: str) -> int:
    """Bytes that a run writes of output ``name``."""
    return program.tensors[name].bytes // (op.slices if name == op.sliced else 1)


def _ends(interval: Interval) -> tuple[int, int]:
    return interval.start, interval.stop
