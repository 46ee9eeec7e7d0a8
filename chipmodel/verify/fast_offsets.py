"""Check the offsets of plans: NumPy finds the pairs of buffers of large ones that overlap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from chipmodel.model.plan import Buffer, Plan, Problem
from chipmodel.verify.offsets import buffer_violations, pair_violations

Integers = npt.NDArray[np.int64]
Boxes = npt.NDArray[Any]
"""A box per column: owner, first position, position after the last, first byte, byte after the last. Python's
integers where 64 bits do not hold them."""
TIME, SPACE = (1, 2, 3, 4), (3, 4, 1, 2)
MOST_AT_ONCE = 1 << 20
"""Candidates that are compared in one go, so that memory stays small."""


def overlapping_owners(boxes: Boxes) -> set[tuple[int, int]]:
    """Return all pairs of owners, the later one first, that have a box each with a common point, without
    looking at every pair. No box is empty.

    Sorted by their first positions, a box meets only those in time that follow up to its last one; sorted by
    first bytes likewise. Of the two orders the one with fewer such candidates is taken.
    """
    overlapping: set[tuple[int, int]] = set()
    sweep = min((Sweep(boxes, axes) for axes in (TIME, SPACE)), key=lambda each: each.total)
    for first, second in sweep.pairs():
        one, other = boxes[0, first], boxes[0, second]
        pairs = zip(np.maximum(one, other).tolist(), np.minimum(one, other).tolist(), strict=True)
        overlapping.update((later, earlier) for later, earlier in pairs if later != earlier)
    return overlapping


class Sweep:
    """Boxes sorted along one axis, with the number of later ones that each meets on it."""

    def __init__(self, boxes: Boxes, axes: tuple[int, int, int, int]) -> None:
        start, stop, low, high = (boxes[axis] for axis in axes)
        self.order = np.argsort(start, kind="stable")
        ends = np.asarray(start[self.order].searchsorted(stop[self.order]), np.int64)
        self.later: Integers = ends - np.arange(len(ends)) - 1
        self.low, self.high = low[self.order], high[self.order]
        self.total = int(self.later.sum())

    def pairs(self) -> Iterator[tuple[Integers, Integers]]:
        """Those that also meet on the other axis."""
        before: Integers = np.cumsum(self.later) - self.later
        begin = 0
        while begin < len(before):
            end = max(begin + 1, int(np.searchsorted(before, before[begin] + MOST_AT_ONCE)))
            one = np.repeat(np.arange(begin, end), self.later[begin:end])
            other: Integers = np.arange(len(one)) + before[begin] - before[one] + one + 1
            meet = (self.low[one] < self.high[other]) & (self.low[other] < self.high[one])
            yield self.order[one[meet]], self.order[other[meet]]
            begin = end


MIN_BUFFERS = 10
"""Number of buffers from which NumPy is faster, on networks of MLPerf Tiny."""


def check_fast(problem: Problem, plan: Plan) -> tuple[str, ...]:
    """Describe every violation of ``problem`` by ``plan``; empty for a correct plan."""
    placed = [i for i, b in enumerate(problem.buffers) if b.name in plan.offsets]
    if len(placed) < MIN_BUFFERS:
        pairs = {(later, earlier) for earlier, later in combinations(placed, 2)}
    else:
        pairs = _overlapping_pairs(problem, plan, placed) | _constrained_pairs(problem, plan)
        pairs -= _together(problem, plan)
    overlaps = [
        violation
        for later, earlier in sorted(pairs)
        for violation in _violations(problem, plan, problem.buffers[earlier], problem.buffers[later])
    ]
    return (*_single_violations(problem, plan), *overlaps)


def _single_violations(problem: Problem, plan: Plan) -> list[str]:
    """The violations of buffers without an offset, then those of each buffer on its own."""
    missing = [f"buffer {b.name!r} has no offset" for b in problem.buffers if b.name not in plan.offsets]
    placed = ((b, plan.offsets[b.name]) for b in problem.buffers if b.name in plan.offsets)
    return missing + [text for b, offset in placed for text in buffer_violations(b, offset, problem)]


def _violations(problem: Problem, plan: Plan, a: Buffer, b: Buffer) -> list[str]:
    return pair_violations(problem, a, plan.offsets[a.name], b, plan.offsets[b.name])


def _together(problem: Problem, plan: Plan) -> set[tuple[int, int]]:
    """Pairs of colocated buffers with one offset, as (later, earlier) indices: nothing is wrong with them."""
    kept = replace(problem, separated=(), apart=())
    offsets = [plan.offsets.get(b.name) for b in problem.buffers]
    return {(b, a) for b, a in _constrained_pairs(kept, plan) if offsets[a] == offsets[b]}


def _constrained_pairs(problem: Problem, plan: Plan) -> set[tuple[int, int]]:
    """Pairs that some constraint names, as (later, earlier) indices of buffers."""
    index = {b.name: i for i, b in enumerate(problem.buffers) if b.name in plan.offsets}
    pairs: set[tuple[int, int]] = set()
    for names in (*problem.colocated, *problem.separated, *problem.apart):
        known = sorted({index[name] for name in names if name in index})
        pairs |= {(b, a) for i, b in enumerate(known) for a in known[:i]}
    return pairs


def _overlapping_pairs(problem: Problem, plan: Plan, placed: list[int]) -> set[tuple[int, int]]:
    """Pairs, as (later, earlier), that share a byte while both are alive, colocated or not."""
    boxes = [
        (i, live.start, live.stop, plan.offsets[buffer.name], plan.offsets[buffer.name] + buffer.bytes)
        for i, buffer in ((i, problem.buffers[i]) for i in placed)
        for live in buffer.live
        if buffer.bytes and len(live)
    ]
    if not boxes:
        return set()
    # 64 bits hold all numbers of a sound plan; a plan file may have others.
    if max(map(max, boxes)) < 1 << 62:
        return overlapping_owners(np.array(boxes, np.int64).T)
    return overlapping_owners(np.array(boxes, np.object_).T)
