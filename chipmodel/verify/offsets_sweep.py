"""Check the offsets of large plans by a sweep over time instead of every pair of buffers.

The sweep keeps the live buffers sorted by offset. While no two of them overlap, a buffer that starts can
overlap its neighbours only, so comparing neighbours finds the first overlap: a correct plan is accepted in
O(n log n). ``check`` then describes the violations of the buffers that are involved, so both checks say
the same.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import replace

from chipmodel.geometry.interval import merged
from chipmodel.model.plan import Buffer, Plan, Problem
from chipmodel.verify.offsets import check

SWEEP_MIN_BUFFERS = 100
"""Number of buffers from which the sweep is used: for fewer both take milliseconds."""


def check_fast(problem: Problem, plan: Plan) -> tuple[str, ...]:
    """Return the violations that ``check`` finds, in the same order."""
    if len(problem.buffers) < SWEEP_MIN_BUFFERS:
        return check(problem, plan)
    return check_by_sweep(problem, plan)


def check_by_sweep(problem: Problem, plan: Plan) -> tuple[str, ...]:
    """Check as ``check_fast`` does, by the sweep for any number of buffers."""
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
    if not problem.colocated and not _any_overlap(problem, plan, placed):
        return set()
    events: list[tuple[int, bool, int, int]] = []
    key = 0
    for i in placed:
        for interval in merged(problem.buffers[i].live) if problem.buffers[i].bytes else ():
            events += [(interval.start, True, key, i), (interval.stop, False, key, i)]
            key += 1
    return _all_overlaps(problem, plan, sorted(events))


def _all_overlaps(
    problem: Problem, plan: Plan, events: list[tuple[int, bool, int, int]]
) -> set[tuple[int, int]]:
    """Compare each buffer that starts with all live ones whose offset is near enough to overlap it."""
    pairs: set[tuple[int, int]] = set()
    live: list[tuple[int, int]] = []
    tallest = max((problem.buffers[i].bytes for _, _, _, i in events), default=0)
    for _, starts, _, i in events:
        low = plan.offsets[problem.buffers[i].name]
        if not starts:
            del live[bisect_left(live, (low, i))]
            continue
        high = low + problem.buffers[i].bytes
        for other_low, j in live[bisect_left(live, (low - tallest, -1)) : bisect_left(live, (high, -1))]:
            if other_low + problem.buffers[j].bytes > low and j != i:
                pairs.add((max(i, j), min(i, j)))
        insort(live, (low, i))
    return pairs


def _any_overlap(problem: Problem, plan: Plan, placed: list[int]) -> bool:
    """Whether some two buffers that are alive together share a byte; compares neighbours only."""
    events: list[tuple[int, bool, int, int]] = []
    for i in placed:
        buffer = problem.buffers[i]
        low = plan.offsets[buffer.name]
        for interval in merged(buffer.live) if buffer.bytes else ():
            events += [(interval.start, True, low, low + buffer.bytes)]
            events += [(interval.stop, False, low, low + buffer.bytes)]
    live: list[tuple[int, int]] = []
    for _, starts, low, high in sorted(events):
        at = bisect_left(live, (low, high))
        if not starts:
            del live[at]
        elif (at and live[at - 1][1] > low) or (at < len(live) and live[at][0] < high):
            return True
        else:
            live.insert(at, (low, high))
    return False
