"""The least peak of live bytes over all orders that the graph allows, with its proof.

The graph falls into parts at its articulation points: an op that every other op comes before or after runs at
one fixed place of every order, so each part between two of them is a problem of its own, and the peak is the
largest of theirs (the divide and conquer of Ahn et al. 2020, arXiv:2003.02369).

Within a part, states are sets of ops that have run, looked at from the lowest peak up (dynamic programming
over downsets as a bottleneck shortest path): whoever comes out of the queue has the least peak of all ways to
its set, and no order that is not yet complete has a lower one, which is the bound where the limit comes
first. Two rules:

* An op that fits under the peak so far and leaves no more bytes alive than before runs at once. It is safe:
  the more ops have run, the less an op adds to what is alive (touched buffers are alive already) and the more
  it frees, so an order that runs it later has nowhere fewer bytes alive than the same order with it here.
* What cannot be better than the best known order is left out.

Liberis and Lane 2019 (arXiv:1910.05110) have the same dynamic programme, over sets of tensors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush

from solvers.order.heuristics import beam, depth_first, least_live
from solvers.order.problem import Ordered, OrderProblem, OrderState, OrderTables, mask

MAX_STATES = 100_000
"""Sets of ops to look at in each part; some seconds."""
BUDGET_SHARE = 10
"""A search under a budget gets one part in so many of the states."""


def least_peak_order(problem: OrderProblem, states: int = MAX_STATES) -> Ordered:
    """The order with the least peak; where ``states`` come first in a part, the best of the search and the
    heuristics. A part whose given order is as good as any stays as it is."""
    tables = OrderTables(problem)
    order: list[int] = []
    done, live = 0, tables.at_start
    found: list[Ordered] = []
    for part in parts(problem):
        found.append(_least(tables, _OrderSegment(part, done, live), states))
        live = tables.live_behind(found[-1].order, done, live)
        done |= mask(part)
        order += found[-1].order
    peak = max((each.peak for each in found), default=tables.at_start)
    bound = max((each.lower_bound for each in found), default=tables.at_start)
    return Ordered(tuple(order), peak, bound, sum(each.states for each in found))


def depth_first_order(problem: OrderProblem) -> tuple[int, ...]:
    """One branch after another, without regard to bytes."""
    tables = OrderTables(problem)
    return depth_first(tables, range(len(problem.after)), 0, tables.at_start)


def parts(problem: OrderProblem) -> Iterator[tuple[int, ...]]:
    """The ops between the articulation points of the order, and each of these alone, in order."""
    count = len(problem.after)
    before = _closed(count, problem.after)
    behind = [0] * count
    for op in reversed(range(count)):
        behind[op] |= 1 << op
        for earlier in problem.after[op]:
            behind[earlier] |= behind[op]
    fixed = [op for op in range(count) if (before[op] | behind[op]).bit_count() == count]
    done = 0
    for op in fixed:
        yield from _segment(before[op] & ~(1 << op) & ~done)
        yield (op,)
        done = before[op]
    yield from _segment(((1 << count) - 1) & ~done)


def _closed(count: int, after: Sequence[Iterable[int]]) -> list[int]:
    """Each op with all that must run before it, as bits."""
    result = [1 << op for op in range(count)]
    for op in range(count):
        for earlier in after[op]:
            result[op] |= result[earlier]
    return result


def _segment(ops: int) -> Iterator[tuple[int, ...]]:
    if ops:
        yield tuple(op for op in range(ops.bit_length()) if ops >> op & 1)


@dataclass(frozen=True, slots=True)
class _OrderSegment:
    ops: tuple[int, ...]
    done: int
    live: int


def _least(tables: OrderTables, part: _OrderSegment, states: int) -> Ordered:
    """The part by heuristics, then by search below the best of them."""
    candidates = [part.ops]
    if len(part.ops) > 1:
        candidates.append(depth_first(tables, part.ops, part.done, part.live))
        candidates.append(least_live(tables, part.ops, part.done, part.live))
        candidates.append(beam(tables, part.ops, part.done, part.live))
    peaks = [tables.peak(order, part.done, part.live) for order in candidates]
    peak = min(peaks)
    best = candidates[peaks.index(peak)]
    floor = max(_least_of(tables, part, op) for op in part.ops)
    if peak == floor:
        return Ordered(best, peak, floor)
    known = _budgeted(tables, part, Ordered(best, peak, floor), states // 2)
    if known.peak == known.lower_bound:
        return known
    proven = _search(tables, part, known, states - known.states)
    return replace(proven, states=known.states + proven.states)


def _least_of(tables: OrderTables, part: _OrderSegment, op: int) -> int:
    """What ``op`` needs in any order of the part: its operands, or all that is alive where it is the first
    and the last."""
    if len(part.ops) == 1:
        return tables.step(part.done, part.live, op)[0]
    return tables.alone(op)


def _budgeted(tables: OrderTables, part: _OrderSegment, best: Ordered, states: int) -> Ordered:
    """``best``, or what searches under a budget of bytes find below it: the budget is halved between the
    bound and the best known peak, as in the adaptive soft budgeting of Ahn et al."""
    low, looked_at = best.lower_bound, 0
    while low < best.peak and looked_at < states:
        budget = (low + best.peak - 1) // 2
        limit = min(max(1, states // BUDGET_SHARE), states - looked_at)
        tried = _search(tables, part, replace(best, peak=budget + 1, lower_bound=budget), limit)
        looked_at += tried.states
        if tried.peak <= budget:
            best = replace(best, order=tried.order, peak=tables.peak(tried.order, part.done, part.live))
        else:
            low = budget + 1
            if tried.lower_bound > budget:
                best = replace(best, lower_bound=low)
    return replace(best, states=looked_at)


def _search(tables: OrderTables, part: _OrderSegment, best: Ordered, states: int) -> Ordered:
    """The least peak between ``best``'s bound and its peak, or ``best`` with what is proven of it."""
    inside = mask(part.ops)
    end, level = part.done | inside, best.lower_bound
    start = tables.begin(part.ops, part.done, part.live)
    queue: list[tuple[int, int, int, int, OrderState]] = [(level, 0, part.live, 0, start)]
    least: dict[int, int] = {}
    seen: set[int] = set()
    serial = 0
    while queue and len(seen) < states:
        level, _, _, _, state = heappop(queue)
        state = tables.run_free(state, inside, level)
        if state.done == end:
            return Ordered(state.order, level, level, len(seen))
        if state.done in seen:
            continue
        seen.add(state.done)
        for op in state.ready:
            during, behind = tables.step(state.done, state.live, op)
            reached, above = state.done | 1 << op, max(level, during)
            if above < least.get(reached, best.peak):
                least[reached] = above
                serial += 1
                entry = tables.run(state, op, behind, inside)
                heappush(queue, (above, -reached.bit_count(), behind, serial, entry))
    bound = min(best.peak, queue[0][0]) if queue else best.peak
    return replace(best, lower_bound=bound, states=len(seen))
