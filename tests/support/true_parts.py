"""Check that parts of ops are true: computed from what they say that they read, they equal the whole's."""

from __future__ import annotations

from random import Random

import numpy as np

from chipmodel.execute.byte_arrays import Bytes, put, random_bytes, taken
from chipmodel.execute.evaluate import evaluate
from chipmodel.execute.request import RecurrentState
from chipmodel.execute.weights import weight_block
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share, by_channels
from chipmodel.model.program import Op, Program, Weight

MOST_BYTES = 1 << 21
"""Larger ops take too long."""


def random_part(random: Random, total: int) -> Interval:
    """A range of rows or channels, not empty."""
    start = random.randrange(total)
    return Interval(start, random.randint(start + 1, total) if random.random() < 0.7 else start + 1)


def garbled(array: Bytes, kept: Share, seed: int) -> Bytes:
    """``array`` with random bytes everywhere but in the share ``kept``."""
    changed = random_bytes("garbage", len(array), seed)
    put(changed, kept, taken(array, kept))
    return changed


def size_of(program: Program, op: Op) -> int:
    """Bytes of the operands and weights of ``op``."""
    return program.table_bytes(op) + sum(program.tensors[n].bytes for n in (*op.inputs, *op.outputs))


def random_operands(program: Program, op: Op, seed: int) -> tuple[list[Bytes], Bytes]:
    """Bytes of all inputs, and of the weight block."""
    inputs = [random_bytes(f"{seed}/{i}", program.tensors[n].bytes) for i, n in enumerate(op.inputs)]
    own: dict[str, Weight] = {name: program.weights[name] for name in op.weights}
    held = {name: random_bytes(name, weight.bytes, seed) for name, weight in own.items()}
    return inputs, weight_block(program, op, held)


def check_part(program: Program, op: Op, seed: int) -> None:
    """Compare a random part of ``op``, computed with garbage around what it reads, with the whole."""
    random = Random(seed)
    inputs, block = random_operands(program, op, seed)
    rows, channels = random_part(random, op.work.rows), random_part(random, op.work.channels)
    iteration = random.randrange(op.slices)
    whole = evaluate(op, program, inputs, block, iteration=iteration)
    for garbage in (1, 2):
        given = [garbled(a, reads(op, i, rows, channels, iteration), garbage) for i, a in enumerate(inputs)]
        weights = block
        if not op.gathers and len(block):
            weights = garbled(block, by_channels(channels, op.work.channels), garbage)
        state = RecurrentState()
        if rows.start:
            evaluate(op, program, inputs, block, Interval(0, rows.start), None, iteration, state)
        part = evaluate(op, program, given, weights, rows, channels, iteration, state)
        for name, expected, found in zip(op.outputs, whole, part, strict=True):
            share = of_slice(op, name, op.writes(name, rows, channels), iteration)
            assert np.array_equal(taken(found, share), taken(expected, share)), (op, rows, channels)


def of_slice(op: Op, name: str, share: Share, iteration: int) -> Share:
    """``share`` of the first slice as one of slice ``iteration``."""
    if name != op.sliced or not len(share.rows):
        return share
    first = iteration * (share.of_rows // op.slices)
    rows = Interval(share.rows.start + first, share.rows.stop + first)
    return Share(rows, share.of_rows, share.channels, share.of_channels)


def reads(op: Op, index: int, rows: Interval, channels: Interval, iteration: int) -> Share:
    """What a part reads of an input in ``iteration``."""
    return of_slice(op, op.inputs[index], op.reads(index, rows, channels), iteration)
