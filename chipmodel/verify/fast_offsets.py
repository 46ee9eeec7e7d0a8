"""Check the offsets of large plans: NumPy finds the pairs of buffers that overlap.

Their violations are described as by ``check``, so both checks say the same.
"""

from __future__ import annotations

import numpy as np

from chipmodel.model.plan import Buffer, Plan, Problem
from chipmodel.verify.offsets import buffer_violations, check, pair_violations
from chipmodel.verify.overlapping_boxes import overlapping_owners

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
        for violation in _violations(problem, plan, problem.buffers[earlier], problem.buffers[later])
    ]
    return (*single, *found)


def _single_violations(problem: Problem, plan: Plan) -> list[str]:
    """The violations of buffers without an offset, then those of each buffer on its own."""
    missing = [f"buffer {b.name!r} has no offset" for b in problem.buffers if b.name not in plan.offsets]
    placed = ((b, plan.offsets[b.name]) for b in problem.buffers if b.name in plan.offsets)
    return missing + [text for b, offset in placed for text in buffer_violations(b, offset, problem)]


def _violations(problem: Problem, plan: Plan, a: Buffer, b: Buffer) -> list[str]:
    return pair_violations(problem, a, plan.offsets[a.name], b, plan.offsets[b.name])


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
