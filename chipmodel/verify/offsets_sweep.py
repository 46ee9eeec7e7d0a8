"""``plan.check`` for large problems: the same verdicts, by a sweep over time instead of every pair.

A sweep keeps the live buffers sorted by offset. While no two of them collide, one that starts can only
collide with its neighbours; so the first collision is seen by looking at those, and a plan without any
is told from one with some in O(n log n). The violations themselves are then put into words by ``check``
on the buffers that are involved.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import replace

from chipmodel.model.interval import merged
from chipmodel.model.plan import Buffer, Plan, Problem
from chipmodel.verify.offsets import check

FROM_BUFFERS = 2000
"""From this many buffers on the sweep is worth its while; ``check`` takes about a second for as many."""


def check_fast(problem: Problem, plan: Plan) -> tuple[str, ...]:
    """Every way in which ``plan`` is wrong, as ``check`` says it; in the same order."""
    if len(problem.buffers) < FROM_BUFFERS:
        return check(problem, plan)
    return check_by_sweep(problem, plan)


def check_by_sweep(problem: Problem, plan: Plan) -> tuple[str, ...]:
    """``check_fast`` whatever the number of buffers."""
    alone = _alone(problem, plan)
    placed = [i for i, b in enumerate(problem.buffers) if b.name in plan.offsets]
    pairs = _collisions(problem, plan, placed) | _listed(problem, plan)
    found = [
        fault
        for later, earlier in sorted(pairs)
        for fault in _pair_faults(problem, plan, problem.buffers[earlier], problem.buffers[later])
    ]
    return (*alone, *found)


def _alone(problem: Problem, plan: Plan) -> list[str]:
    """What ``check`` says of buffers without offsets, and of each buffer by itself."""
    bare = replace(problem, colocated=(), separated=(), apart=())
    missing: list[str] = []
    alone: list[str] = []
    for buffer in problem.buffers:
        faults = check(replace(bare, buffers=(buffer,)), plan)
        (alone if buffer.name in plan.offsets else missing).extend(faults)
    return missing + alone


def _pair_faults(problem: Problem, plan: Plan, a: Buffer, b: Buffer) -> Iterable[str]:
    """What ``check`` says of two buffers together, without what it says of each."""
    names = {a.name, b.name}
    part = replace(
        problem,
        buffers=(replace(a, pinned=None, alignment=1), replace(b, pinned=None, alignment=1)),
        capacity=None,
        colocated=tuple(group for group in problem.colocated if names.issubset(group)),
        separated=tuple(pair for pair in problem.separated if names == set(pair)),
        apart=tuple(pair for pair in problem.apart if names == set(pair)),
    )
    singles = _alone(part, plan)
    return check(part, plan)[len(singles) :]


def _listed(problem: Problem, plan: Plan) -> set[tuple[int, int]]:
    """Pairs that some constraint names, as (later, earlier)."""
    index = {b.name: i for i, b in enumerate(problem.buffers) if b.name in plan.offsets}
    pairs: set[tuple[int, int]] = set()
    for names in (*problem.colocated, *problem.separated, *problem.apart):
        known = sorted({index[name] for name in names if name in index})
        pairs |= {(b, a) for i, b in enumerate(known) for a in known[:i]}
    return pairs


def _collisions(problem: Problem, plan: Plan, placed: list[int]) -> set[tuple[int, int]]:
    """Pairs, as (later, earlier), that share a byte while both are alive, colocated or not."""
    if not problem.colocated and not _collides(problem, plan, placed):
        return set()
    events: list[tuple[int, bool, int, int]] = []
    key = 0
    for i in placed:
        for interval in merged(problem.buffers[i].live) if problem.buffers[i].bytes else ():
            events += [(interval.start, True, key, i), (interval.stop, False, key, i)]
            key += 1
    return _all_collisions(problem, plan, sorted(events))


def _all_collisions(
    problem: Problem, plan: Plan, events: list[tuple[int, bool, int, int]]
) -> set[tuple[int, int]]:
    """Every live buffer that begins below the end of one that starts is looked at."""
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


def _collides(problem: Problem, plan: Plan, placed: list[int]) -> bool:
    """Whether some two buffers that are alive together share a byte; only neighbours are looked at."""
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
