"""The order with the least peak of live bytes among all that the graph allows, with its proof.

The graph is divided at its articulation points: an op that every other op must precede or follow has the same
position in every order, so the segments between two of them are independent problems, and the peak is the
largest of theirs (the divide and conquer of Ahn et al. 2020, arXiv:2003.02369).

Within a segment, states are sets of ops that have run, examined from the lowest peak up (dynamic programming
over downsets as a bottleneck shortest path): a state taken from the queue has the least peak of all orders of
its set, and no incomplete order has a lower one, which is the bound if the limit is reached. Two rules:

* An op that fits under the peak so far and leaves no more bytes alive than before runs at once. This is safe:
  the more ops have run, the fewer bytes an op adds (its buffers may be alive already) and the more it frees,
  so an order that runs it later nowhere has fewer bytes alive than the same order with it here.
* States that cannot be better than the best known order are dropped.

Source: Ahn et al. 2020 (SERENITY); Liberis and Lane 2019 (arXiv:1910.05110) have the same dynamic program,
over sets of tensors (docs/references.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush

from chipmodel.records import dataclass
from solvers.order.heuristics import depth_first
from solvers.order.problem import Ordered, OrderProblem, OrderState, OrderTables, mask

MAX_STATES = 100_000
"""Sets of ops to examine in each segment; takes some seconds."""
BUDGET_SHARE = 10
"""A search under a budget of bytes gets one in so many of the states."""


def least_peak_order(problem: OrderProblem, states: int = MAX_STATES) -> Ordered:
    """Return the order with the least peak; in a segment where ``states`` are reached first, the best found.
    A segment whose given order is optimal keeps it."""
    tables = OrderTables(problem)
    order: list[int] = []
    done, live = 0, tables.at_start
    found: list[Ordered] = []
    for part in segments(problem):
        found.append(_least(tables, _OrderSegment(part, done, live), states))
        live = tables.live_after(found[-1].order, done, live)
        done |= mask(part)
        order += found[-1].order
    peak = max((each.peak for each in found), default=tables.at_start)
    bound = max((each.lower_bound for each in found), default=tables.at_start)
    return Ordered(tuple(order), peak, bound, sum(each.states for each in found))


def depth_first_order(problem: OrderProblem, in_turn: bool = False) -> tuple[int, ...]:
    """Return the order that follows one branch after another, or with ``in_turn`` an op of each at a time,
    without regard to bytes."""
    tables = OrderTables(problem)
    return depth_first(tables, range(len(problem.after)), 0, tables.at_start, in_turn)


def segments(problem: OrderProblem) -> Iterator[tuple[int, ...]]:
    """Yield the segments between articulation points, and each articulation point alone, in order.

    Sets of ops are bits, as in the search: of 200 ops the closure takes 0.2 ms, and NetworkX's 150 ms.
    """
    count = len(problem.after)
    before = _closed(count, problem.after)
    following = [0] * count
    for op in reversed(range(count)):
        following[op] |= 1 << op
        for earlier in problem.after[op]:
            following[earlier] |= following[op]
    fixed = [op for op in range(count) if (before[op] | following[op]).bit_count() == count]
    done = 0
    for op in fixed:
        yield from _segment(before[op] & ~(1 << op) & ~done)
        yield (op,)
        done = before[op]
    yield from _segment(((1 << count) - 1) & ~done)


def _closed(count: int, after: Sequence[Iterable[int]]) -> list[int]:
    """For each op, as bits, itself and all that must run before it."""
    result = [1 << op for op in range(count)]
    for op in range(count):
        for earlier in after[op]:
            result[op] |= result[earlier]
    return result


def _segment(ops: int) -> Iterator[tuple[int, ...]]:
    """The ops of a set in order, or nothing if it is empty."""
    if ops:
        yield tuple(op for op in range(ops.bit_length()) if ops >> op & 1)


@dataclass(frozen=True, slots=True)
class _OrderSegment:
    ops: tuple[int, ...]
    done: int
    live: int


def _least(tables: OrderTables, part: _OrderSegment, states: int) -> Ordered:
    """The best order of a segment: the given one or by branches, then by search below the better one."""
    candidates = [part.ops]
    if len(part.ops) > 1:
        candidates.append(depth_first(tables, part.ops, part.done, part.live))
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
    """Bytes that ``op`` needs in any order of the segment: its operands, or all live bytes if it is alone."""
    if len(part.ops) == 1:
        return tables.step(part.done, part.live, op)[0]
    return tables.alone(op)


def _budgeted(tables: OrderTables, part: _OrderSegment, best: Ordered, states: int) -> Ordered:
    """``best``, or a better order found by searches under a budget of bytes: the budget is bisected between
    the bound and the best known peak, as in the adaptive soft budgeting of Ahn et al. 2020."""
    low, examined = best.lower_bound, 0
    while low < best.peak and examined < states:
        budget = (low + best.peak - 1) // 2
        limit = min(max(1, states // BUDGET_SHARE), states - examined)
        tried = _search(tables, part, replace(best, peak=budget + 1, lower_bound=budget), limit)
        examined += tried.states
        if tried.peak <= budget:
            best = replace(best, order=tried.order, peak=tables.peak(tried.order, part.done, part.live))
        else:
            low = budget + 1
            if tried.lower_bound > budget:
                best = replace(best, lower_bound=low)
    return replace(best, states=examined)


def _search(tables: OrderTables, part: _OrderSegment, best: Ordered, states: int) -> Ordered:
    """The order with the least peak below ``best``'s, or ``best`` with an improved bound."""
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
            during, following = tables.step(state.done, state.live, op)
            reached, above = state.done | 1 << op, max(level, during)
            if above < least.get(reached, best.peak):
                least[reached] = above
                serial += 1
                entry = tables.run(state, op, following, inside)
                heappush(queue, (above, -reached.bit_count(), following, serial, entry))
    bound = min(best.peak, queue[0][0]) if queue else best.peak
    return replace(best, lower_bound=bound, states=len(seen))
