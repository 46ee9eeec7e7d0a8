"""Heuristic orders of the ops of one segment of the graph, which run after the ops ``done``."""

from __future__ import annotations

from collections.abc import Sequence

from solvers.order.problem import OrderState, OrderTables, mask

BEAM_WIDTH = 64
"""Sets of ops kept (assumed; wider beams take proportionally longer)."""


def depth_first(
    tables: OrderTables, ops: Sequence[int], done: int, live: int, in_turn: bool = False
) -> tuple[int, ...]:
    """Run the op that became ready last, of several the first given: one branch is followed until it joins
    another, then the next begins. With ``in_turn``, run the one that became ready first: then branches
    take turns."""
    inside, state = mask(ops), tables.begin(ops, done, live)
    since = dict.fromkeys(state.ready, 0)
    for count in range(1, len(ops) + 1):
        op = min(state.ready, key=lambda op: (since[op] if in_turn else -since[op], op))
        state = tables.run(state, op, live, inside)
        for new in state.ready:
            since.setdefault(new, count)
    return state.order


def least_live(tables: OrderTables, ops: Sequence[int], done: int, live: int) -> tuple[int, ...]:
    """Greedy: run the op that leaves the fewest bytes alive, of several that with the fewest meanwhile."""
    inside, state = mask(ops), tables.begin(ops, done, live)
    for _ in ops:
        steps = {op: tables.step(state.done, state.live, op) for op in state.ready}
        best = min(steps, key=lambda op: (steps[op][1], steps[op][0], op))
        state = tables.run(state, best, steps[best][1], inside)
    return state.order


def beam(
    tables: OrderTables, ops: Sequence[int], done: int, live: int, width: int = BEAM_WIDTH
) -> tuple[int, ...]:
    """Beam search over sets of ops of one size: the ``width`` with least peak, then live bytes, stay."""
    inside = mask(ops)
    front: list[tuple[int, OrderState]] = [(0, tables.begin(ops, done, live))]
    for _ in ops:
        found: dict[int, tuple[int, int, OrderState, int]] = {}
        for peak, state in front:
            for op in state.ready:
                during, after = tables.step(state.done, state.live, op)
                reached, above = state.done | 1 << op, max(peak, during)
                if reached not in found or (above, after) < found[reached][:2]:
                    found[reached] = above, after, state, op
        best = sorted(found.values(), key=lambda entry: entry[:2])[:width]
        front = [(above, tables.run(state, op, after, inside)) for above, after, state, op in best]
    return front[0][1].order
