"""Several runs as a group, a cascade: their parts take turns, and tensors between them never exist whole.

A group holds the weights of its runs from its begin to its end, or loads them at least twice. A tensor inside
lies in a buffer at least as large as one stripe of its maker's rows, until the last stripe of its last
reader. What has been loaded for later runs only grows inside a group, so the room for it at any of its
moments is a limit at its begin, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from solvers.fluid.amounts import FluidAmounts
from solvers.fluid.problem import PART_COUNTS
from solvers.fluid.residents import Move
from solvers.fluid.table import Table, Ways, move_columns, table_of

LONGEST_GROUP = 6
"""Runs of a group whose tensors, weights and parts are looked at. Of a longer one the first so many hold
their weights, and what comes after takes no room. With 12 the bounds of ResNet-18, MobileNetV2 and GoogLeNet
rose by at most 0.3 %, and took 1.5 times as long."""
CHOSEN_WEIGHTS = 3
"""Ops of a group, those with the most weights, of which every choice is looked at. The other ones hold no
weights and load them once."""
BUFFER_SHARES = (4, 3, 2, 1)
"""Quarters of the largest tensor inside a group that the largest buffer takes, and then less by halves."""
HALVINGS = 4


def group(amounts: FluidAmounts, start: int, stop: int) -> Table:
    """Return the ways over the runs ``[start, stop)`` as a group."""
    moves = list(amounts.residents.moves(start, stop))
    return _ways(amounts, start, stop, moves, list(_stripes(amounts, start, stop)))


def into_long_group(amounts: FluidAmounts, start: int) -> Table:
    """Return the ways over the first ``LONGEST_GROUP`` runs of a longer group."""
    stop = start + LONGEST_GROUP
    moves = [m._replace(stores=0) for m in amounts.residents.moves(start, stop) if not m.after]
    return _ways(amounts, start, stop, moves, list(_first_stripes(amounts, start)))


def through_long_group(amounts: FluidAmounts, run: int, sets: int) -> Table:
    """Return the way over one run of a long group, to each of so many sets of tensors after it."""
    op, most = amounts.problem.ops[run], amounts.most
    row = (op.cycles + amounts.last_stores(run), amounts.loaded(op.weights), most, most, -most)
    return np.array([(0, after, 0, *row) for after in range(sets)], np.int64)


def may_be_group(amounts: FluidAmounts, start: int, stop: int) -> bool:
    """Return whether each run but the last makes what another one of the group reads."""
    making = amounts.residents.making
    return all(
        any(start <= reader < stop for tensor in making[run] for reader in tensor.reads)
        for run in range(start, stop - 1)
    )


class _Weights(NamedTuple):
    """Which weights a group holds."""

    held: int
    """Bytes, at least."""
    loads: int
    """DMA cycles of all loads of weights, without set-ups."""
    further: int
    """NPU cycles of a second stripe of each op whose weights are loaded again."""
    last: int
    """The least cycles for the results, and for further stripes for them."""


class _Stripes(NamedTuple):
    further: int
    """NPU cycles of further stripes."""
    inside: int
    """Bytes that the largest buffer of a tensor inside has at least."""
    whole_input: int
    """1 where the first run begins with all that it reads."""


def _ways(
    amounts: FluidAmounts, start: int, stop: int, moves: Sequence[Move], stripes: Sequence[_Stripes]
) -> Table:
    problem, ops = amounts.problem, amounts.problem.ops[start:stop]
    set_up = min((op.set_up for op in ops if op.weights), default=0)
    options = [
        (
            each.held,
            each.loads,
            max(each.further, stripe.further) + each.last,
            stripe.inside,
            stripe.whole_input,
        )
        for each in _weights(amounts, start, stop)
        for stripe in stripes
    ]
    held, loaded, further, inside, whole_input = np.array(options, np.int64).T[:, None, :]
    move = move_columns(moves)
    loads = set_up + loaded + move.loads
    needed = amounts.loaded(held) + whole_input * move.first_loads
    begin = problem.capacity - move.before_bytes - held
    during = problem.capacity - move.through_bytes - held - inside
    end = problem.capacity - move.after_bytes - held
    everything = loads + move.stores + amounts.ahead_in(during, start)
    ahead = np.minimum(needed + amounts.ahead_in(begin, start), everything)
    fits = np.minimum(np.minimum(begin, during), end)
    cycles = sum(op.cycles for op in ops) + further
    return table_of(amounts, move, Ways(needed, cycles, loads, ahead, end, fits), start, stop)


def _weights(amounts: FluidAmounts, start: int, stop: int) -> Iterator[_Weights]:
    """Every choice of weights that are held; the others are loaded twice or more, for as many stripes."""
    ops = amounts.problem.ops
    weighted = sorted(
        (run for run in range(start, stop) if ops[run].weights), key=lambda run: -ops[run].weights
    )
    chosen = weighted[:CHOSEN_WEIGHTS]
    once = sum(ops[run].weights for run in weighted)
    part = min(amounts.results(stop - 1), amounts.problem.last_part)
    for choice in range(1 << len(chosen)):
        again = [run for bit, run in enumerate(chosen) if choice >> bit & 1]
        twice = sum(ops[run].weights for run in again)
        held = sum(ops[run].weights for run in chosen) - twice
        further = sum(ops[run].striped[0] for run in again if ops[run].striped)
        last = part if stop - 1 in again else amounts.last_stores(stop - 1)
        yield _Weights(held, amounts.loaded(once + twice), further, last)


def _stripes(amounts: FluidAmounts, start: int, stop: int) -> Iterator[_Stripes]:
    for further, inside in _buffers(amounts, start, stop):
        for first in _first_stripes(amounts, start, stop):
            yield _Stripes(max(first.further, further), inside, first.whole_input)


def _first_stripes(amounts: FluidAmounts, start: int, stop: int | None = None) -> Iterator[_Stripes]:
    """Stripes of the program's first run, if nothing of its group can run before it: one, which begins with
    all that it reads, or more. A long group has no ``stop``."""
    ops = amounts.problem.ops
    if stop is None:
        stop = next((n for n, op in enumerate(ops) if n > start and not op.joins), amounts.count)
    if start or not ops[0].striped or not _begins_with_first(amounts, stop):
        yield _Stripes(0, 0, 0)
        return
    yield _Stripes(0, 0, 1)
    yield _Stripes(ops[0].striped[0], 0, 0)


def _begins_with_first(amounts: FluidAmounts, stop: int) -> bool:
    """Whether the runs from 1 up to ``stop`` all need what run 0 makes."""
    needing = {0}
    for tensor in amounts.problem.tensors:
        if tensor.made in needing:
            needing.update(tensor.reads)
    return needing.issuperset(range(stop))


def _buffers(amounts: FluidAmounts, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """NPU cycles of further stripes, and bytes that the largest buffer of a tensor inside has at least."""
    ops = amounts.problem.ops
    inside = [
        (tensor.bytes, ops[run].striped)
        for run in range(start, stop - 1)
        for tensor in amounts.residents.making[run]
        if ops[run].striped and not tensor.stored and tensor.reads and tensor.reads[-1] < stop
    ]
    most = max((size for size, _ in inside), default=0)
    if not most:
        yield 0, 0
        return
    limits = [most * share // 4 for share in BUFFER_SHARES]
    limits += [limits[-1] >> halving for halving in range(1, HALVINGS)]
    for limit, less in pairwise((*limits, 0)):
        yield sum(_further(striped, -(-size // max(1, limit))) for size, striped in inside), less


def _further(striped: tuple[int, ...], stripes: int) -> int:
    """Cycles of at least so many stripes."""
    found = 0
    for count, cycles in zip(PART_COUNTS, striped, strict=True):
        if stripes >= count:
            found = cycles
    return found
