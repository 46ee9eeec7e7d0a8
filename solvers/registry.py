"""Every packer by name, and the one way to run one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter

from chipmodel.errors import BadInput
from chipmodel.plan import Plan, Problem, Solved, Status
from solvers.bounds import contention


@dataclass(frozen=True, slots=True)
class Packer:
    """A planner of offsets: its name, what it does in a line, who published it, and the function."""

    name: str
    title: str
    source: str
    pack: Callable[[Problem], Plan]


def packers() -> Mapping[str, Packer]:
    """The packers by name, in the order in which they are listed."""
    paper = "S2 (control-flow paper), Algorithm 1"
    return {
        packer.name: packer
        for packer in (
            Packer("naive", "every buffer its own memory", "S2 (control-flow paper), baseline", _naive),
            Packer("sequential", "lowest fit in execution order", paper, _ordered("sequential")),
            Packer("large-first", "lowest fit, largest buffers first", paper, _ordered("large-first")),
            Packer("short-first", "lowest fit, shortest lifetimes first", paper, _ordered("short-first")),
        )
    }


def solve(problem: Problem, packer: str) -> Solved:
    """Plan ``problem`` with the packer of that name. Raises BadInput for an unknown name.

    ``status`` is infeasible where the contention bound exceeds the problem's capacity, optimal where
    the peak meets that bound, else feasible; a peak beyond the capacity leaves it unknown whether
    another plan would fit.
    """
    known = packers()
    if packer not in known:
        raise BadInput(f"unknown packer {packer!r}", mend=f"one of {', '.join(known)}")
    began = perf_counter()
    plan = known[packer].pack(problem)
    seconds = perf_counter() - began
    peak, bound = plan.peak(problem), contention(problem)
    return Solved(plan, _status(problem, peak, bound), bound, peak, seconds, packer)


def _status(problem: Problem, peak: int, bound: int) -> Status:
    capacity = problem.capacity
    if capacity is not None and bound > capacity:
        return "infeasible"
    if peak == bound:
        return "optimal"
    return "unknown" if capacity is not None and peak > capacity else "feasible"


def _naive(problem: Problem) -> Plan:
    from solvers.first_fit import naive

    return naive(problem)


def _ordered(name: str) -> Callable[[Problem], Plan]:
    def pack(problem: Problem) -> Plan:
        from solvers.first_fit import ORDERS, first_fit

        return first_fit(problem, ORDERS[name])

    return pack
