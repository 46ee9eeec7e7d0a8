"""Check the offsets of large plans: NumPy finds the pairs of buffers that overlap, a buffer at a time.

``check`` then describes the violations of the buffers that are involved, so both checks say the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from chipmodel.model.plan import Buffer, Plan, Problem
from chipmodel.verify.offsets import check

MIN_BUFFERS = 100
"""Number of buffers from which NumPy is used: for fewer both take milliseconds."""


def check_fast(problem: Problem, plan: Plan) -> tuple[str, ...]:
    """Return the violations that ``check`` finds, in the same order."""
    if len(problem.buffers) < MIN_BUFFERS:
        return check(problem, plan)
    return check_by_numpy(problem, plan)


def check_by_numpy(problem: Problem, plan: Plan) -> tuple[str, ...]:
    """Check as ``check_fast`` does, by NumPy for any number of buffers."""
    single = _single_violations(problem, plan)
    placed = [i for i, b in enumerate(problem.buffers) if b.name in plan.offsets]
    pairs = _overlapping_pairs(problem, plan, placed) | _constrained_pairs(problem, plan)
    found = [
        violation
        for later, earlier in sorted(pairs)
        for violation in _pair_violations(problem, plan, problem.buffers[earlier], problem.buffers[later])
    ]
    return (*single, *found)


def _single_violations(problem: Problem, plan: Plan) -> list[str]:
    """The violations of buffers without an offset, then those of each buffer on its own."""
    bare = replace(problem, colocated=(), separated=(), apart=())
    missing: list[str] = []
    single: list[str] = []
    for buffer in problem.buffers:
        found = check(replace(bare, buffers=(buffer,)), plan)
        (single if buffer.name in plan.offsets else missing).extend(found)
    return missing + single


def _pair_violations(problem: Problem, plan: Plan, a: Buffer, b: Buffer) -> Iterable[str]:
    """The violations of two buffers as a pair, without those of each on its own."""
    names = {a.name, b.name}
    part = replace(
        problem,
        buffers=(replace(a, pinned=None, alignment=1), replace(b, pinned=None, alignment=1)),
        capacity=None,
        colocated=tuple(group for group in problem.colocated if names.issubset(group)),
        separated=tuple(pair for pair in problem.separated if names == set(pair)),
        apart=tuple(pair for pair in problem.apart if names == set(pair)),
    )
    single = _single_violations(part, plan)
    return check(part, plan)[len(single) :]


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
    kind = np.int64 if max(map(max, boxes)) < 1 << 62 else np.object_
    owner, start, stop, low, high = (np.array(column, kind) for column in zip(*boxes, strict=True))
    pairs: set[tuple[int, int]] = set()
    for k, (i, *_) in enumerate(boxes):
        in_time = (start[:k] < stop[k]) & (start[k] < stop[:k])
        for j in owner[:k][in_time & (low[:k] < high[k]) & (low[k] < high[:k])]:
            if i != j:
                pairs.add((max(i, int(j)), min(i, int(j))))
    return pairs
