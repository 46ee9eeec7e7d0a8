"""Several runs as a group, a cascade: their parts take turns, and tensors between them never exist whole.

A group holds the weights of its runs from its begin to its end, or loads them for each of several turns
(``stripes.Turns``). A step of a run has room for a stripe of all that it reads and writes, and of what skips
it; it writes over none of that. What the group reads of its own and others need, too, is there as a whole:
no row of it goes to Psram meanwhile (``stripes.step_bytes``). What has been loaded for later runs only grows
inside a group, so the room for it at any of its moments is a limit at its begin, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from solvers.fluid.amounts import FluidAmounts
from solvers.fluid.problem import UNLIMITED
from solvers.fluid.residents import Move
from solvers.fluid.stripes import UNBOUNDED, StepBytes, least_stripes, step_bytes, stripe_choices
from solvers.fluid.table import COLUMNS, Table, Ways, move_columns, table_of

LONGEST_GROUP = 6
"""Runs of a group whose tensors and parts are looked at. Of a longer one what comes after the first so many
takes room for its weights only. With 12 the bounds of ResNet-18, MobileNetV2 and GoogLeNet rose by at most
0.3 %, and took 1.5 times as long."""
HELD_LEVELS = 64
"""Parts of SharedMemory in which the weights that a longer group holds are counted, rounded down for each run
(assumed)."""
ANY_AMOUNT = 1 << 50
"""DMA cycles: as many may be ahead, or behind, inside of a longer group."""
CHOSEN_WEIGHTS = 4
"""Ops of a group, those with the most weights, of which every choice is looked at. The other ones hold no
weights and load them once. Levels of what those hold together raised few bounds, and took twice as long."""


def group(amounts: FluidAmounts, start: int, stop: int) -> Table:
    """Return the ways over the runs ``[start, stop)`` as a group."""
    options = dict.fromkeys(_options(amounts, start, stop, stop))
    return _ways(amounts, start, stop, list(amounts.residents.moves(start, stop)), list(options))


def into_long_group(amounts: FluidAmounts, start: int) -> Table:
    """Return the ways over the first ``LONGEST_GROUP`` runs of a longer group. What is there after them is
    the weights that are held, in ``HELD_LEVELS``."""
    stop = start + LONGEST_GROUP
    moves = [m._replace(stores=0) for m in amounts.residents.moves(start, stop) if not m.after]
    options = dict.fromkeys(_options(amounts, start, stop, amounts.joined(start)[1]))
    levels = {option: _held_levels(amounts, option.held) for option in options}
    held = [option for option in options if levels[option] <= HELD_LEVELS]
    table = _ways(amounts, start, stop, moves, held, [levels[option] for option in held])
    table[:, 6:8] = ANY_AMOUNT, -ANY_AMOUNT
    return table


def through_long_group(amounts: FluidAmounts, run: int, levels: Sequence[int], sets: int) -> Table:
    """Return the ways over one run of a long group that holds weights of any of these ``levels``: to those
    after it, or with ``sets`` out of the group to each of so many sets of tensors.

    Runs take turns: while one computes in all its turns, others may load weights for all of theirs. So within
    the group loads may be any amount ahead or behind, and only the sums count.
    """
    op, joined, capacity = amounts.problem.ops[run], amounts.joined(run), amounts.problem.capacity
    least, turns = least_stripes(amounts.separations, run, *joined), amounts.turns
    known = max(joined[0], run + 1 - LONGEST_GROUP), run + 1 if sets else run + 2
    end = run + 1 if sets else joined[1]
    steps = {each: step_bytes(turns, each, *known, end) for each in range(*known)}
    size, whole = steps[run], max(each.whole for each in steps.values())
    others = amounts.turns.weighted.intersection(range(*joined))
    near = range(run + 1 - LONGEST_GROUP, run + 1 if sets else run + 2)
    beside = max(amounts.problem.ops[each].weights for each in near if each != run)
    rows: list[tuple[int, ...]] = []
    for level in levels:
        left = capacity - capacity * level // HELD_LEVELS
        again = max(
            2, _least_turns(amounts, run, level) or min(amounts.turns.least(run, others, (), left), default=2)
        )
        parts = max(least, size.stripes_in(left - op.weights))
        # Its weights are held, beside those of any other run, or loaded in several turns.
        choices = (op.weights, (run,), parts, 1), (0, (), max(parts, again), again)
        for held, runs, stripes, times in choices[: 2 if op.weights else 1]:
            stripes = max(stripes, *amounts.turns.least(run, near, runs, left - held))
            after = level + _held_levels(amounts, held)
            fits = op.weights <= left and held + beside <= capacity and after <= HELD_LEVELS
            fits = fits and held + whole <= left and stripes < UNLIMITED
            if not fits or (op.single and stripes > 1):
                continue
            last = amounts.last_stores(run) if stripes < 2 else amounts.last_part(run)
            cycles, loads = op.cycles + op.further(stripes) + last, times * int(amounts.loaded(op.weights))
            way = -ANY_AMOUNT, cycles, loads, ANY_AMOUNT
            if sets:
                ends = _ahead_after(amounts, run + 1, after, sets)
                rows += [(level, each, *way, ahead, -amounts.most, UNBOUNDED) for each, ahead in ends]
            else:
                rows.append((level, after, *way, ANY_AMOUNT, -ANY_AMOUNT, UNBOUNDED))
    return np.array(rows, np.int64).reshape(-1, COLUMNS)


def _least_turns(amounts: FluidAmounts, run: int, level: int) -> int:
    """Return how often the weights of ``run`` are loaded at least, if not held, by those of the runs just
    before it that cannot all be among what the group holds up to there; 0 where they can."""
    capacity, ops = amounts.problem.capacity, amounts.problem.ops
    before = [each for each in range(run + 1 - LONGEST_GROUP, run) if each in amounts.turns.weighted]
    sizes = [_held_levels(amounts, ops[each].weights) for each in before]
    left = capacity - capacity * level // HELD_LEVELS
    missing, most = sum(sizes) - level, 0
    for turns, size in sorted(zip(amounts.turns.least(run, before, (), left), sizes, strict=True)):
        if missing > 0:
            missing, most = missing - size, turns
    return most


def _ahead_after(amounts: FluidAmounts, border: int, level: int, sets: int) -> Iterator[tuple[int, int]]:
    """Each of the sets of tensors that has room where a group ends that holds weights up to then, and the DMA
    cycles that may be moved ahead beside it."""
    room = amounts.problem.capacity * (HELD_LEVELS - level) // HELD_LEVELS + 1
    tracked = amounts.residents.tracked[border]
    for chosen in range(sets):
        left = room - sum(tensor.bytes for bit, tensor in enumerate(tracked) if chosen >> bit & 1)
        if left >= 0:
            ahead = int(amounts.ahead_in(np.array(left), border)) if border < amounts.count else 0
            yield chosen, min(amounts.most, ahead + amounts.residents.early(border, chosen))


def _held_levels(amounts: FluidAmounts, held: int) -> int:
    return held * HELD_LEVELS // max(1, amounts.problem.capacity)


def may_be_group(amounts: FluidAmounts, start: int, stop: int) -> bool:
    """Return whether each run but the last makes what another one of the group reads."""
    making = amounts.residents.making
    return all(
        any(start <= reader < stop for tensor in making[run] for reader in tensor.reads)
        for run in range(start, stop - 1)
    )


class _Option(NamedTuple):
    """Which weights a group holds, and in how many stripes its runs are."""

    held: int
    """Bytes of weights, at least."""
    loads: int
    """DMA cycles of all loads of weights, without set-ups."""
    further: int
    """NPU cycles of further stripes, with what the results take that nothing can hide."""
    inside: int
    """Bytes that a step takes at least."""
    whole_input: int
    """1 where the first run begins with all that it reads."""
    first: int
    """The same as in ``_Weights``, like ``last``."""
    last: int


def _ways(
    amounts: FluidAmounts,
    start: int,
    stop: int,
    moves: Sequence[Move],
    options: Sequence[_Option],
    levels: Sequence[int] = (),
) -> Table:
    """Ways over ``[start, stop)`` of a group; of one that is longer ``levels`` are what options hold after
    them."""
    problem, ops = amounts.problem, amounts.problem.ops[start:stop]
    set_up = min((op.set_up for op in ops if op.weights), default=0)
    if not options:
        return np.zeros((0, COLUMNS), np.int64)
    held, loaded, further, inside, whole_input, first, last = np.array(options, np.int64).T[:, None, :]
    move = move_columns(moves)
    if levels:
        move = move._replace(after=np.array(levels, np.int64)[None, :])
    loads = set_up + loaded + move.loads
    needed = amounts.loaded(held + first) + whole_input * move.first_loads
    begin = problem.capacity - move.before_bytes - held - first
    during = problem.capacity - move.through_bytes - held - inside
    at_end = problem.capacity - move.after_bytes - held - last
    everything = loads + move.stores + amounts.ahead_in(during, start)
    ahead = np.minimum(needed + amounts.ahead_in(begin, start), everything)
    fits = np.minimum(np.minimum(begin, during), at_end)
    cycles = sum(op.cycles for op in ops) + further
    return table_of(amounts, move, Ways(needed, cycles, loads, ahead, at_end, fits), start, stop)


def _options(amounts: FluidAmounts, start: int, stop: int, end: int) -> Iterator[_Option]:
    """Every choice of the weights that are held, and of stripes, of a group that ends at ``end`` at the
    latest."""
    least = [least_stripes(amounts.separations, run, start, end) for run in range(start, stop)]
    sizes = [step_bytes(amounts.turns, run, start, stop, end) for run in range(start, stop)]
    choices = list(_weights(amounts, start, stop, end, sizes))
    # If nothing of the group can run before the program's first run, that has one stripe, which begins with
    # all that it reads, or more.
    first = not start and amounts.turns.begins(0, end) and bool(amounts.problem.ops[0].striped)
    for stripes in stripe_choices(amounts.problem.ops[start:stop], sizes, least):
        for weights in choices:
            counts = tuple(map(max, stripes.counts, weights.counts))
            whole = first and counts[0] == 1
            yield _option(amounts, start, counts, stripes.inside, weights, int(whole))
            if whole and not amounts.problem.ops[0].single:
                yield _option(amounts, start, (2, *counts[1:]), stripes.inside, weights, 0)


class _Weights(NamedTuple):
    """A choice of weights that a group holds."""

    held: int
    """Bytes of them, at least."""
    counts: tuple[int, ...]
    """The least stripes of each run."""
    loads: int
    """DMA cycles of all loads, without set-ups."""
    inside: int
    """The most bytes that are not held of one run, which are there at each of its steps."""
    first: int
    """Bytes of weights that are not held, but there when the group begins."""
    last: int
    """The same when it ends."""


def _weights(
    amounts: FluidAmounts, start: int, stop: int, end: int, sizes: Sequence[StepBytes]
) -> Iterator[_Weights]:
    """Every choice of the ops with the most weights. A step of a run has its share of ``sizes`` in the room
    that weights leave."""
    runs, ops = range(start, stop), amounts.problem.ops
    weighted = (run for run in runs if ops[run].weights)
    chosen = sorted(weighted, key=lambda run: -ops[run].weights)[:CHOSEN_WEIGHTS]
    unknown = amounts.turns.weighted.intersection(range(start, end)).difference(chosen)
    begins = amounts.turns.begins(start, end) * ops[start].weights
    ends = (stop == end and amounts.turns.ends(start, stop)) * ops[stop - 1].weights
    passing = [(a, b, size) for a, b in combinations(runs, 2) if (size := amounts.turns.between(a)[b])]
    for choice in range(1 << len(chosen)):
        again = {run for bit, run in enumerate(chosen) if choice >> bit & 1}
        if len(again) == 1 and not unknown:
            continue  # no other run's weights take their place: they are held
        held = set(chosen) - again
        size = sum(ops[run].weights for run in held)
        room = amounts.problem.capacity - size
        times = dict.fromkeys(runs, 1)
        for run in again:
            known = again if len(again) > 1 else unknown
            of = max if len(again) > 1 else min
            times[run] = max(2, of(amounts.turns.least(run, known, held, room), default=2))
        steps = dict(times)
        beside = {run: room if run in held else room - ops[run].weights for run in runs}
        for one, other, least in passing:  # as ``Turns.least`` has it, of two runs at once
            count = -(-least // max(1, min(beside[one], beside[other])))
            steps[one], steps[other] = max(steps[one], count), max(steps[other], count)
        for run, each in zip(runs, sizes, strict=True):
            steps[run] = max(steps[run], each.stripes_in(beside[run]))
        if any(count > 1 and (count >= UNLIMITED or ops[run].single) for run, count in steps.items()):
            continue
        yield _Weights(
            size,
            tuple(steps.values()),
            amounts.loaded(sum(ops[run].weights * each for run, each in times.items())),
            max((ops[run].weights for run in runs if run not in held), default=0),
            begins if start not in held else 0,
            ends if stop - 1 not in held else 0,
        )


def _option(
    amounts: FluidAmounts, start: int, counts: tuple[int, ...], inside: int, weights: _Weights, whole: int
) -> _Option:
    further = amounts.further(start, counts)
    inside = max(inside, weights.inside)  # A step has the weights of its run.
    return _Option(weights.held, weights.loads, further, inside, whole, weights.first, weights.last)
