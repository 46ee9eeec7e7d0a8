"""A run on its own: in one part with all that it needs, or in several parts.

In one part it has all its weights and operands in SharedMemory from its begin to its end. In several parts it
begins with a share of its weights, and a tensor that is not kept passes. Its parts are alike, but for the
last one, which may be smaller.

What is loaded for a later part while one computes is there with it at its end, and what is stored of an
earlier one at its begin. So of n parts that divide D bytes in R bytes of room, at most n R - D bytes are
loaded meanwhile, and as many stored; all others move while the NPU waits, before the run, or after it.

In stripes its output may take the memory of an input row by row, if both are kept. Of n stripes one makes a
share of 1 / n, at least, while all that it and later ones read is still there; and each needs all weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from solvers.fluid.amounts import FluidAmounts, Integers
from solvers.fluid.problem import FluidOp
from solvers.fluid.table import MoveColumns, Table, Ways, move_columns, table_of

UNLIMITED = 1 << 28
"""More parts than there are; times the bytes of any memory it is still a number of 64 bits."""
STRIPES_APART = 3
"""So many neighbouring numbers of stripes are one choice, with the least and the most of them, where weights
come in slices, too (assumed)."""


def run_alone(amounts: FluidAmounts, run: int) -> Table:
    """Return the ways over one run."""
    op, capacity = amounts.problem.ops[run], amounts.problem.capacity
    move = move_columns(list(amounts.residents.moves(run, run + 1)))
    options = np.array(list(_options(amounts, run)), np.int64).T[:, None, :]
    whole, first, held, shared, passes, most, further, takes, reloads = options
    needed = first + whole * move.loads
    own = move.own_bytes - np.where(takes > 0, _saved_by_taking(move, np.maximum(takes, 1)), 0)
    room = capacity - move.other_bytes - np.where(whole == 1, 0, own) - held
    # Slices of a run that cannot be in stripes, too, all read the same.
    same = np.where((shared > 0) & op.single, move.again_bytes, 0)
    room -= same
    before = np.where(whole == 1, needed + amounts.ahead_in(room, run), amounts.most)
    divided = shared + passes * (move.passing_bytes - same)
    # Where parts divide weights alone, each has whole channels, and so has what is loaded meanwhile.
    only_weights = (shared > 0) & (divided == shared)
    in_parts = room - only_weights * (room % op.channel)
    if op.linear:
        parts = -(-(divided - np.where(takes > 0, shared, 0)) // np.maximum(in_parts, 1))
        further = np.maximum(further, op.striped[0] * (parts - 1))
    # What moves while a part computes has the room that the part leaves.
    meanwhile = np.clip(most * in_parts - divided, 0, divided)
    hidden = amounts.moved_by(meanwhile, run)
    weights = int(amounts.loaded(op.weights))
    if op.most_loaded:
        hidden = np.where(only_weights, amounts.weights_moved_by(meanwhile, run), hidden)
        weights = amounts.weights_alone(run)
    loads = np.where(shared > 0, weights, first) + passes * move.passing_loads
    # What every slice reads is there before the first one, and so was stored before.
    stored = (same > 0) & (len(amounts.residents.reading[run]) == 1)
    waited = loads - hidden - np.where((move.passing_behind > 0) & ~stored, hidden, 0)
    again = whole * needed + (1 - whole) * waited
    last = passes * move.passing_stores - hidden - amounts.moved_by(room, run)
    last = np.maximum(last, amounts.last_part(run))
    cycles = op.cycles + op.alone + further + np.where(whole == 1, amounts.results(run), last)
    loads = amounts.weights_alone(run) + move.loads + reloads
    ways = Ways(needed, cycles, loads, before, room, in_parts - divided // most, again)
    return table_of(amounts, move, ways, run, run + 1)


def _saved_by_taking(move: MoveColumns, stripes: Integers) -> Integers:
    """Bytes that so many stripes save, at most, where a tensor takes the memory of another one."""
    small = np.minimum(move.taken_bytes, move.taking_bytes)
    large = np.maximum(move.taken_bytes, move.taking_bytes)
    saved: Integers = np.minimum(small, large - large // stripes * move.taken_alike)
    return saved


class _Parts(NamedTuple):
    """Numbers of parts. Of what they share, one of them has its share at least."""

    whole: int
    """1 for a single part, which needs all that it reads at its begin."""
    first: int
    """DMA cycles of the weights that the first part needs."""
    held: int
    """Bytes that are there in every part, beside tensors that are kept."""
    shared: int
    """Bytes of weights that the parts share."""
    passes: int
    """1 where they also share tensors that are not kept."""
    most: int
    """The most parts."""
    further: int
    """NPU cycles of further parts."""
    takes: int = 0
    """The most stripes in which the output takes the memory of an input, row by row; 0 where it does not."""
    reloads: int = 0
    """DMA cycles of weights that come again for each stripe."""


def _options(amounts: FluidAmounts, run: int) -> Iterator[_Parts]:
    """One part, stripes that have all weights, and slices that divide them, in stripes or not."""
    op = amounts.problem.ops[run]
    weights = op.set_up + amounts.loaded(op.weights)
    operands = sum(tensor.bytes for tensor in amounts.residents.operands(run).values())
    yield _Parts(1, weights, operands + op.weights, 0, 0, 1, 0)
    none = (0,) * len(op.counts)
    most = (*(count - 1 for count in op.counts[1:]), UNLIMITED)
    for further, stripes in zip(op.striped or none, most, strict=True):
        yield _Parts(0, weights, op.weights, 0, 1, stripes, further)
    if op.weights:
        # Slices may be in stripes, too, of which nothing is known unless every part takes as long.
        for further, slices in zip(op.sliced or none, most, strict=True):
            yield _Parts(0, weights // slices, 0, op.weights, int(op.linear), slices, further)
    if any(run in tensor.by_rows for tensor, _ in amounts.residents.reading[run]):
        yield from _taking(amounts, run, most)


def _taking(amounts: FluidAmounts, run: int, most: Sequence[int]) -> Iterator[_Parts]:
    """Stripes whose output takes the memory of an input. What is not held of the weights comes again for each
    of them: no slice has passed through all rows before the next one begins."""
    op = amounts.problem.ops[run]
    weights = op.set_up + amounts.loaded(op.weights)
    for at, least in enumerate(op.counts):
        if least > op.rows:
            break
        stripes, further = min(most[at], op.rows), op.further(least) if op.striped else 0
        yield _Parts(0, weights, op.weights, 0, 1, stripes, further, stripes)
    for at in range(0, len(op.counts) if op.weights else 0, STRIPES_APART):
        least = op.counts[at]
        if least > op.rows:
            break
        stripes = min(most[min(at + STRIPES_APART, len(most)) - 1], op.rows)
        for number, slices in enumerate(most):
            further = _of_both(op, at, number)
            for half in (0, 1):
                held = max(op.weights * half // 2, op.weights // slices)
                again = (least - 1) * int(amounts.loaded(op.weights - op.weights * (half + 1) // 2))
                first = weights // slices
                yield _Parts(0, first, held, op.weights, 1, UNLIMITED, further, stripes, again)


def _of_both(op: FluidOp, stripes: int, slices: int) -> int:
    """Further cycles in at least as many stripes, and in as many slices, as those numbers of ``counts``."""
    if op.linear:
        return op.striped[0] * (op.counts[stripes] * op.counts[slices] - 1)
    striped = op.striped[stripes] if op.striped else 0
    return max(striped, op.sliced[slices] if op.sliced else 0)
