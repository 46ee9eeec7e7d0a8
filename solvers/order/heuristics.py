"""A heuristic order of the ops of one segment of the graph, which run after the ops ``done``."""

from __future__ import annotations

from collections.abc import Sequence

from solvers.order.problem import OrderTables, mask


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
