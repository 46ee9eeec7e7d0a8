"""A run on its own: in one part with all that it needs, or in several parts.

In one part it has all its weights and operands in SharedMemory from its begin to its end. In several parts it
begins with a share of its weights, and a tensor that is not kept passes. Its parts are alike, but for the
last one, which may be smaller.

What is loaded for a later part while one computes is there with it at its end, and what is stored of an
earlier one at its begin. So of n parts that divide D bytes in R bytes of room, at most n R - D bytes are
loaded meanwhile, and as many stored; all others move while the NPU waits, before the run, or after it.

A stripe has whole rows, and beside its share of them what it reads of its neighbours' (``whole_rows``). Parts
come stripe by stripe, or slice by slice: if both divide a run, either the weights that do not stay beside a
part come again for each stripe, or what all slices read comes again for each slice. A byte that stays from a
stripe to the next one, or from a slice, lies beside a part between them at least that does not use it: one
of another slice, or of another stripe, as each has its parts in the same order. Only rows that the first
and the last stripe of a slice both read may have no such part, and these two read so much more than all
rows. So of all bytes that could come again for further stripes, or slices, each either comes again or takes
room from what moves beside the parts. If the latter is what counts, all of them may as well come again.

Loads and stores share that room. Loads are issued before a step computes, stores after it, and both are
waited for before or after some step. A load has its bytes from its issue on, a store until its wait. So all
that moves while a step computes lies in SharedMemory throughout the step, each byte moves once meanwhile, and
none of them is an operand: what the step reads has arrived, and what it makes is not complete. R - D bytes
are left beside a step of D bytes, and the steps of n parts, each byte of whose operands belongs to one of
them at least, leave at most n R - D in all, less what stripes between others overlap, whether these bytes are
of this run, earlier or later ones. What the run itself loads has come before its last part, which is no
larger than the mean: at most (n - 1) (R - D / n). Only a program's first run may begin with a smaller stripe
and end with one above the mean. More parts only leave more. R is without tensors that are there before or
after, as all parts use them; so their loads and stores, and those of results that are read, are moved besides
(``Move.within``). A set-up counts with the last load, or the first store, of its tensor: then all of that is
in the room at once. Everything else that the run moves takes time in which nothing computes.

In stripes its output may take the memory of an input row by row, if both are kept. Of n stripes one makes a
share of 1 / n, at least, while all that it and later ones read is still there; and each needs all weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from solvers.fluid.amounts import FluidAmounts, Integers
from solvers.fluid.problem import UNLIMITED, FluidOp
from solvers.fluid.stripes import UNBOUNDED
from solvers.fluid.table import MoveColumns, Table, Ways, move_columns, table_of
from solvers.fluid.whole_rows import least_parts, least_stripes, of_stripe

STRIPES_APART = 3
"""So many neighbouring numbers of stripes are one choice, with the least and the most of them, where weights
come in slices, too (assumed)."""


def run_alone(amounts: FluidAmounts, run: int) -> Table:
    """Return the ways over one run."""
    op, capacity = amounts.problem.ops[run], amounts.problem.capacity
    move = move_columns(list(amounts.residents.moves(run, run + 1)))
    options = np.array(list(_options(amounts, run)), np.int64).T[:, None, :]
    whole, first, held, shared, passes, most, further, takes, reloads, slices, stripes = options[:-2]
    needed = first + whole * move.loads
    own = move.own_bytes - np.where(takes > 0, _saved_by_taking(move, np.maximum(takes, 1)), 0)
    room = capacity - move.other_bytes - np.where(whole == 1, 0, own) - held
    # Slices of a run that cannot be in stripes, too, all read the same.
    same = np.where((shared > 0) & op.single, move.again_bytes, 0)
    room -= same
    before = np.where(whole == 1, needed + amounts.ahead_in(room, run), amounts.most)
    tensors = passes * (move.passing_bytes - same)
    divided = shared + tensors
    # Each part has whole channels, and so has what is loaded meanwhile.
    channels, sliced = room - room % op.channel, np.where(takes > 0, 0, shared)
    # Each slice of a stripe reads all that the stripe reads of these.
    every = np.where((shared > 0) & (same == 0), passes * move.again_bytes, 0)
    fits = np.minimum(room - (tensors - every) // most - every // stripes - shared // slices, 0)
    there = np.where(takes > 0, 0, every + (tensors - every) // np.where(shared > 0, slices, 1))
    overlap = np.where((shared == 0) | ((every > 0) & _slices_overlap(amounts, run)), move.overlap_bytes, 0)
    least = least_stripes(op, room - shared // slices, there, overlap)
    fits = np.minimum(fits, most + (shared > 0) * (stripes - most) - least)
    if op.linear:
        parts = -(-(divided - np.where(takes > 0, shared, 0)) // np.maximum(room, 1))
        in_both = np.maximum(
            least_parts(op, room, every, tensors - every, overlap), -(-sliced // np.maximum(channels, 1))
        )
        parts = np.maximum(parts, np.where(sliced > 0, in_both, np.where(shared > 0, 1, least)))
        further = np.maximum(further, op.striped[0] * (parts - 1))
        fits = np.minimum(fits, most - parts)
    # What moves while a part computes has the room that the part leaves.
    there = shared * np.maximum(most // slices, 1)
    taken = tensors + every * (most // stripes - 1) + there
    inner = np.maximum(most - 2 * np.where(shared > 0, slices, 1), 0) * op.even
    taken += np.where(takes > 0, 0, inner * np.clip(room, 0, overlap))
    beside_part = room - of_stripe(op, every + (tensors - every) // slices, stripes)
    left = beside_part, room - shared // slices
    comes_again, stays = (
        np.where(takes > 0, 0, each) for each in _come_again(amounts, run, left, every, options[-2:])
    )
    unused = np.clip(most * room - taken, 0, UNBOUNDED)
    meanwhile = np.minimum(unused, np.where(comes_again > 0, UNLIMITED, divided))
    hidden = amounts.moved_by(meanwhile, run)
    before_last = np.minimum(meanwhile, np.clip(_before_last(run, most, room, taken), 0, UNBOUNDED))
    most_loaded = np.minimum(amounts.moved_by(before_last, run), amounts.moved_by(unused, run) - stays)
    own = np.minimum(before_last, _before_last(run, most, channels, there))
    idle = op.weights - np.clip(own, 0, op.weights)
    rate = amounts.rate(run)
    waits = np.where(sliced > 0, idle * rate.numerator // rate.denominator, 0)
    weights = amounts.weights_alone(run) if op.most_loaded else int(amounts.loaded(op.weights))
    loads = np.where(shared > 0, weights, first) + passes * move.passing_loads + comes_again
    # What every slice reads is there before the first one, and so was stored before.
    stored = (same > 0) & (len(amounts.residents.reading[run]) == 1)
    waited = loads - most_loaded - np.where((move.passing_behind > 0) & ~stored, hidden, 0)
    again = whole * needed + (1 - whole) * np.maximum(waited, waits)
    last = passes * move.passing_stores - hidden - amounts.moved_by(room, run)
    last = np.maximum(last, amounts.last_part(run))
    last = np.where(whole == 1, amounts.results(run), last)
    cycles = op.cycles + op.alone + further + last
    set_ups = _further_set_ups(amounts, run, options[-2] + 1, options[-1] + 1)
    loads = amounts.weights_alone(run) + move.loads + reloads + comes_again + set_ups
    beside = amounts.moved_beside(most * room - taken, run) - stays + move.within + set_ups + last
    known = (takes == 0) & (beside < cycles) & _is_steady(amounts, run)
    beside = np.where(known, beside, UNBOUNDED)
    fits = np.minimum(fits, channels - sliced // slices)
    fits = np.where((takes > 0) & (move.taken_bytes == 0), -1, fits)
    ways = Ways(needed, cycles, loads, before, room, fits, again, beside)
    return table_of(amounts, move, ways, run, run + 1)


def _before_last(run: int, most: Integers, room: Integers, taken: Integers) -> Integers:
    """The room beside so many parts but for the last one, which take so many bytes in all."""
    beside_last = room + -taken // most if run else 0
    left: Integers = most * room - taken - beside_last
    return left


def _is_steady(amounts: FluidAmounts, run: int) -> bool:
    """Whether each part of a run uses some of each tensor, so that what is kept is there in all parts."""
    reading, making = amounts.residents.reading[run], amounts.residents.making[run]
    return len(making) <= 1 and all(run in tensor.by_every_step for tensor, _ in reading)


def _slices_overlap(amounts: FluidAmounts, run: int) -> bool:
    """Whether a slice of a stripe reads as many bytes of its neighbours' rows as all its slices together."""
    reading = [t for t, _ in amounts.residents.reading[run] if t.overlaps and t.overlaps[t.reads.index(run)]]
    return all(run in tensor.by_all_slices for tensor in reading)


def _come_again(
    amounts: FluidAmounts, run: int, left: tuple[Integers, Integers], every: Integers, further: Integers
) -> tuple[Integers, Integers]:
    """DMA cycles of what comes again for each of ``further`` stripes, or for each of further slices: weights
    for which a part leaves no room, or ``every`` byte that all slices read for which a slice leaves none; and
    the most of what stays instead."""
    op = amounts.problem.ops[run]
    weights, inputs = (np.maximum(room, 0) for room in left)
    lost, unread = np.maximum(op.weights - weights, 0), np.maximum(every - inputs, 0)
    again = further[0] * amounts.loaded(lost), further[1] * amounts.loaded_inputs(run, unread)
    whole = further[0] * amounts.loaded(op.weights), further[1] * amounts.loaded_inputs(run, every)
    comes_again: Integers = np.minimum(*again) * op.even
    return comes_again, np.minimum(*whole) * op.even - comes_again


def _further_set_ups(amounts: FluidAmounts, run: int, stripes: Integers, slices: Integers) -> Integers:
    """DMA cycles to start transfers of which each brings, or stores, a part of what has no room as a whole.
    Parts that have room together may come before the run, or leave after it, and some are counted already."""
    problem, op = amounts.problem, amounts.problem.ops[run]

    def further(parts: Integers, size: int, counted: int = 1) -> Integers:
        left: Integers = parts - 1 - counted - parts * problem.capacity // max(1, size)
        return left * (left > 0)

    counted = -(-op.weights // op.most_loaded) if op.most_loaded else 1
    found: Integers = op.set_up * further(slices, op.weights, counted)
    parts, ends = stripes * slices, run + 1 == amounts.count  # What the last run makes is stored at its end.
    for tensor, _ in amounts.residents.reading[run]:
        size = tensor.read_bytes[tensor.reads.index(run)] if run in tensor.by_parts else 0
        found = found + problem.load_set_up * further(stripes, size)
    for tensor in amounts.residents.making[run] if op.even or op.channel > 1 else ():
        if (tensor.store or tensor.stored) and tensor.written > problem.capacity:
            left = np.maximum(parts - 1, 0) if ends else further(parts, tensor.written)
            found = found + problem.store_set_up * left
    return found


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
    slices: int = UNLIMITED
    """The most slices."""
    stripes: int = UNLIMITED
    """The most stripes."""
    further_stripes: int = 0
    """The least stripes but for the first one, of whole rows or of parts that are slices, too."""
    further_slices: int = 0
    """The least slices, but for the first one."""


def _options(amounts: FluidAmounts, run: int) -> Iterator[_Parts]:
    """One part, stripes that have all weights, and slices that divide them, in stripes or not."""
    op = amounts.problem.ops[run]
    weights = op.set_up + amounts.loaded(op.weights)
    operands = sum(tensor.bytes for tensor in amounts.residents.operands(run, True).values())
    yield _Parts(1, weights, operands + op.weights, 0, 0, 1, 0)
    none = (0,) * len(op.counts)
    most = (*(count - 1 for count in op.counts[1:]), UNLIMITED)
    for least, further, stripes in zip(op.counts, op.striped or none, most, strict=True):
        if op.even and least > op.rows:
            break
        stripes, again = (min(stripes, op.rows), least - 1) if op.even else (stripes, 0)
        yield _Parts(0, weights, op.weights, 0, 1, stripes, further, further_stripes=again)
    if op.weights:
        yield from _sliced(op, weights, most)
    if any(run in tensor.by_rows for tensor, _ in amounts.residents.reading[run]):
        yield from _taking(amounts, run, most)


def _sliced(op: FluidOp, weights: int, most: Sequence[int]) -> Iterator[_Parts]:
    """Slices, in stripes or not. If every part takes as long, their number may say it all."""
    none = (0,) * len(most)
    ranges = [(1, 1, op.sliced or none)]
    if not op.single:
        ranges += ((*each, op.in_both(number)) for number, each in enumerate(op.ranges))
    for least, stripes, further in ranges:
        for fewest, slices, cycles in zip(op.counts, most, further, strict=True):
            parts, again = min(stripes * slices, UNLIMITED), (least - 1, fewest - 1)
            rows = stripes if op.ranges else slices
            yield _Parts(0, weights // slices, 0, op.weights, 1, parts, cycles, 0, 0, slices, rows, *again)


def _taking(amounts: FluidAmounts, run: int, most: Sequence[int]) -> Iterator[_Parts]:
    """Stripes whose output takes the memory of an input. What is not held of the weights comes again for each
    of them: no slice has passed through all rows before the next one begins."""
    op = amounts.problem.ops[run]
    weights = op.set_up + amounts.loaded(op.weights)
    for at, least in enumerate(op.counts):
        if least > op.rows:
            break
        stripes, further = min(most[at], op.rows), op.striped[at] if op.striped else 0
        yield _Parts(0, weights, op.weights, 0, 1, stripes, further, stripes)
    for at in range(0, len(op.counts) if op.weights else 0, STRIPES_APART):
        least = op.counts[at]
        if least > op.rows:
            break
        stripes = min(most[min(at + STRIPES_APART, len(most)) - 1], op.rows)
        for number, slices in enumerate(most):
            further = _of_both(op, at, number)
            for half in (0, 1):
                # A slice may be part of the held half. Nothing is added: this choice has no ``slices``.
                held = max(op.weights * half // 2, op.weights // slices)
                again = (least - 1) * int(amounts.loaded(op.weights - op.weights * (half + 1) // 2))
                first = weights // slices
                parts = min(stripes * slices, UNLIMITED)
                yield _Parts(0, first, held, op.weights, 1, parts, further, stripes, again)


def _of_both(op: FluidOp, stripes: int, slices: int) -> int:
    """Further cycles in at least as many stripes, and in as many slices, as those numbers of ``counts``."""
    if op.linear:
        return op.striped[0] * (op.counts[stripes] * op.counts[slices] - 1)
    striped = op.striped[stripes] if op.striped else 0
    return max(striped, op.sliced[slices] if op.sliced else 0)
