"""Place buffers one by one, each at its lowest free offset; the planners differ in the order.

Where there are constraints besides lifetimes, ``solvers.core.constrained_fit`` keeps them in the same order.

Source: Wang et al. 2025, Algorithm 1; ``naive`` is its baseline (docs/references.md).
"""

from __future__ import annotations

from chipmodel.errors import BadInput
from chipmodel.model.plan import Plan, Problem
from solvers.core.constrained_fit import in_order
from solvers.core.deadline import NO_DEADLINE, Deadline
from solvers.core.dispatch import pack_plain
from solvers.core.first_fit import ORDERS, first_fit
from solvers.core.outcome import MemoryOverflow
from solvers.heuristics.pool import in_a_row


def naive(problem: Problem) -> Plan:
    """No reuse: every buffer has its own bytes; the peak is the sum of the sizes, but for alignment."""
    starts = in_a_row((b.bytes for b in problem.buffers), (b.alignment for b in problem.buffers))
    return Plan({b.name: start for b, start in zip(problem.buffers, starts, strict=True)})


def lowest_fit(problem: Problem, name: str, deadline: Deadline = NO_DEADLINE) -> Plan:
    """Place buffers in the order of that name. Raises BadInput or MemoryOverflow where no plan was found."""
    if problem.nested:
        return first_fit(problem, ORDERS[name], deadline)
    refused: BadInput | MemoryOverflow
    try:
        return pack_plain(problem, name, lambda part: first_fit(part, ORDERS[name], deadline))
    except MemoryOverflow as overflow:
        refused = overflow
    except BadInput:
        refused = BadInput(
            f"packer {name!r} finds no plan that keeps all constraints",
            hint="use --packer exact, which finds one if there is one",
        )
    plan = in_order(problem, ORDERS[name], deadline)
    if plan is None:
        raise refused
    return plan
