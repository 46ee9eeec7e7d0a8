"""Plans to start from: lowest fit in several orders, or a heuristic that keeps all constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from chipmodel.model.plan import Buffer, Plan, Problem
from solvers.core.constrained_fit import constrained_fit
from solvers.core.deadline import NO_DEADLINE, Deadline
from solvers.core.first_fit import ORDERS, first_fit

MAX_BUFFERS_ALL_ORDERS = 20_000
"""Above it, where each order takes seconds, only the first is tried."""

EXTRA_ORDERS: dict[str, Callable[[Buffer], int]] = {
    "area-first": lambda buffer: -buffer.bytes * sum(map(len, buffer.live)),
    "long-first": lambda buffer: -sum(map(len, buffer.live)),
    "last-first": lambda buffer: -max((i.stop for i in buffer.live), default=0),
}


def start_plans(problem: Problem, deadline: Deadline = NO_DEADLINE) -> Iterator[Plan]:
    """Plans that satisfy every constraint except perhaps the capacity, the cheapest to compute first; maybe
    none. At the ``deadline`` a plan of a plain problem is finished without reuse, and is the last."""
    if not problem.nested:
        plan = constrained_fit(problem, deadline)
        if plan is None and problem.capacity is not None:
            plan = constrained_fit(replace(problem, capacity=None), deadline)
        if plan is not None:
            yield plan
        return
    orders = [ORDERS["large-first"], EXTRA_ORDERS["area-first"], ORDERS["sequential"]]
    orders += [ORDERS["short-first"], EXTRA_ORDERS["long-first"], EXTRA_ORDERS["last-first"]]
    for key in orders[: 1 if len(problem.buffers) > MAX_BUFFERS_ALL_ORDERS else None]:
        yield first_fit(problem, key, deadline)
        if deadline.over:
            return


def start_plan(problem: Problem, deadline: Deadline = NO_DEADLINE) -> Plan:
    """Return the start plan with the lowest peak; one without offsets where there is none."""
    plans = list(start_plans(problem, deadline))
    return min(plans, key=lambda plan: plan.peak(problem), default=Plan({}))
