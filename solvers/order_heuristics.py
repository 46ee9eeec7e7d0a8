"""Orders without a proof, each for the ops of one part of the graph, run behind ``done``."""

from __future__ import annotations

from collections.abc import Sequence

from solvers.order_problem import Tables

BEAM_WIDTH = 32


def depth_first(tables: Tables, ops: Sequence[int], done: int) -> tuple[int, ...]:
    """Next comes an op that the latest op has made ready, of several the first given: one branch is followed
    to where it meets another before the next is begun."""
    since: dict[int, int] = {}
    order: list[int] = []
    while len(order) < len(ops):
        ready = tables.ready(done, ops)
        for op in ready:
            since.setdefault(op, len(order))
        order.append(min(ready, key=lambda op: (-since[op], op)))
        done |= 1 << order[-1]
    return tuple(order)


def least_live(tables: Tables, ops: Sequence[int], done: int, live: int) -> tuple[int, ...]:
    """Greedy: next comes the op behind which the fewest bytes are alive, of several the one with the fewest
    while it runs."""
    order: list[int] = []
    while len(order) < len(ops):
        steps = {op: tables.step(done, live, op) for op in tables.ready(done, ops)}
        best = min(steps, key=lambda op: (steps[op][1], steps[op][0], op))
        live = steps[best][1]
        done |= 1 << best
        order.append(best)
    return tuple(order)


def beam(
    tables: Tables, ops: Sequence[int], done: int, live: int, width: int = BEAM_WIDTH
) -> tuple[int, ...]:
    """All sets of ops of one size side by side, of which the ``width`` with the least peak, then the fewest
    live bytes, are kept."""
    front: dict[int, tuple[int, int, tuple[int, ...]]] = {done: (0, live, ())}
    for _ in ops:
        found: dict[int, tuple[int, int, tuple[int, ...]]] = {}
        for here, (peak, bytes_, order) in front.items():
            for op in tables.ready(here, ops):
                during, behind = tables.step(here, bytes_, op)
                entry = max(peak, during), behind, (*order, op)
                key = here | 1 << op
                if key not in found or entry < found[key]:
                    found[key] = entry
        front = dict(sorted(found.items(), key=lambda item: item[1])[:width])
    return min(front.values())[2]
