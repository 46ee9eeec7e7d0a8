"""Every packer by name, and the one way to run one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter

from chipmodel.errors import BadInput
from chipmodel.model.certificate import Certificate, excludes, rests_on
from chipmodel.model.plan import Plan, Problem, Solved, Status
from solvers.context.packers import (
    context,
    context_evolutionary,
    context_pool,
    context_pool_with,
    context_rl,
    context_with,
)
from solvers.core.bounds import largest_live_set
from solvers.core.dispatch import Search, climbing, plainly
from solvers.core.outcome import Limits, MemoryOverflow, Outcome, Report

DEFAULT_LIMITS = Limits(nodes=2_000_000)
"""Of an exact packer where none are given: by nodes, so that the same problem has the same plan always."""


@dataclass(frozen=True, slots=True)
class Packer:
    """A planner of offsets: its name, what it does in a line, who published it, and the function."""

    name: str
    title: str
    source: str
    pack: Callable[[Problem], Plan]
    search: Search | None = None
    """What answers instead of ``pack`` where the packer keeps limits and proves what it says."""
    limits: Limits = DEFAULT_LIMITS
    """Of ``search`` where none are given."""
    configured: Callable[[str], Callable[[Problem], Plan]] | None = None
    """``pack`` with the setting that a user writes after the name and a colon."""
    tiers: bool = False
    """Whether it decides as well what stays in SharedMemory and what waits in Psram."""


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
            Packer("free-list", "best fit in a free list, stretched", "S0 (pre-allocation)", _free_list),
            Packer(
                "pool",
                "nodes of a pool, reused from 75 % full on; pool:0.25 from 25 % on",
                "S4 (inference frameworks), baseline; ncnn",
                _pool,
                configured=_pool_with,
            ),
            Packer("buckets", "shared buckets: best of three orders", "LISTENAI thinker", _buckets),
            Packer(
                "greedy-best-fit", "smallest gap, largest buffers first", "S4; TensorFlow Lite", _best_fit
            ),
            Packer(
                "conflict-first", "on top of its conflicts, most first", "Apache TVM USMP", _conflict_first
            ),
            Packer("linear", "a stack: only its top is given back", "after Arm Vela's LinearAlloc", _linear),
            Packer(
                "context",
                "combinations with the 16 buffers after each; context:4 with 4",
                "S3 (many cores), heuristic",
                context,
                configured=context_with,
            ),
            Packer(
                "context-pool",
                "nodes of a pool, chosen with the 4 after each; context-pool:8 with 8",
                "S3 (many cores), resource pool",
                context_pool,
                configured=context_pool_with,
            ),
            Packer(
                "context-evolutionary",
                "a genetic algorithm over orders, seeded",
                "S3 (many cores), evolutionary; Holland, Davis",
                _some,
                context_evolutionary,
                Limits(),
            ),
            Packer(
                "context-rl",
                "a policy that learns on the problem, seeded",
                "S3 (many cores), reinforcement learning",
                _some,
                context_rl,
                Limits(),
            ),
            Packer(
                "hill-climb",
                "swaps in the order of lowest fits, seeded",
                "Apache TVM USMP; Arm Vela",
                _some,
                _hill_climb,
                Limits(),
            ),
            Packer(
                "state-search",
                "states of both memories, action by action",
                "S1 (state search over memory tiers)",
                _some,
                _state_search,
                Limits(),
                tiers=True,
            ),
            Packer("exact", "proven: bounds, heuristics, search, CP-SAT", "chipmodel", _some, _exact),
            Packer(
                "search", "the specialised search alone", "after MiniMalloc and TelaMalloc", _some, _search
            ),
            Packer("cp-sat", "a constraint program alone", "OR-Tools CP-SAT", _some, _cp_sat),
        )
    }


def packer_named(text: str) -> Packer:
    """The packer that a user means by ``NAME`` or ``NAME:SETTING``. Raises BadInput where there is none."""
    known = packers()
    name, colon, setting = text.partition(":")
    if name not in known:
        raise BadInput(f"unknown packer {text!r}", hint=f"one of {', '.join(known)}")
    packer = known[name]
    if not colon:
        return packer
    if packer.configured is None:
        raise BadInput(f"packer {name!r} has no setting, but {setting!r} is given", hint=f"write {name}")
    return replace(packer, name=text, pack=packer.configured(setting))


def solve(
    problem: Problem, packer: str, limits: Limits | None = None, report: Report | None = None
) -> Solved:
    """Plan ``problem`` with the packer of that name (see ``packer_named``). Raises BadInput for an unknown
    name, and for a packer that cannot keep the problem's constraints.

    A heuristic's ``status`` is infeasible where the contention bound exceeds the problem's capacity,
    optimal where the peak meets that bound, else feasible; a peak beyond the capacity leaves it unknown
    whether another plan would fit. An exact or anytime packer keeps ``limits`` (its own if None), says
    what it proves, and tells ``report`` on the way. Where it has no plan, the one that is returned is a
    heuristic's that keeps every constraint but the capacity, or else has no offsets.
    """
    chosen = packer_named(packer)
    began = perf_counter()
    if chosen.search is not None:
        outcome = chosen.search(problem, limits or chosen.limits, report)
        return _proven(problem, outcome, began, packer)
    try:
        plan, overflow = chosen.pack(problem), ""
    except MemoryOverflow as met:
        plan, overflow = Plan({}), str(met)
    seconds = perf_counter() - began
    peak, certificate = 0 if overflow else plan.peak(problem), _bound(problem)
    bound = certificate.bytes or 0
    status: Status = "infeasible" if excludes(certificate, problem.capacity) else "unknown"
    if not overflow:
        status = judge(problem, peak, bound)
    proof = rests_on(certificate) if status in ("optimal", "infeasible") else overflow
    return Solved(plan, status, bound, peak, seconds, packer, proof, certificate)


def _bound(problem: Problem) -> Certificate:
    if not problem.memories:
        return largest_live_set(problem)
    from solvers.core.bounds_certified import best_bound

    return best_bound(problem, problem.capacity)


def _proven(problem: Problem, outcome: Outcome, began: float, packer: str) -> Solved:
    plan = _some(problem) if outcome.plan is None else outcome.plan
    peak = plan.peak(problem) if plan.offsets else 0
    certificate, bound, status = outcome.certificate, outcome.lower_bound, outcome.status
    if certificate is None and status == "feasible":
        certificate = largest_live_set(problem)
        bound = max(bound, certificate.bytes)
        status = "optimal" if peak == bound else status
    return Solved(
        plan=plan,
        status=status,
        lower_bound=bound,
        peak=peak,
        seconds=perf_counter() - began,
        planner=packer,
        proof=outcome.proof,
        certificate=certificate,
        explanation=outcome.explanation,
        nodes=outcome.nodes,
        trajectory=tuple((p.seconds, p.peak, p.lower_bound) for p in outcome.trajectory),
    )


def judge(problem: Problem, peak: int, bound: int) -> Status:
    """What a plan's ``peak`` and a proven ``bound``, both in bytes, say of ``problem``."""
    capacity = problem.capacity
    if capacity is not None and bound > capacity:
        return "infeasible"
    if peak == bound:
        return "optimal"
    return "unknown" if capacity is not None and peak > capacity else "feasible"


def _naive(problem: Problem) -> Plan:
    from solvers.core.first_fit import naive

    return plainly(problem, "naive", naive)


def _free_list(problem: Problem) -> Plan:
    from solvers.heuristics.free_list import free_list

    return plainly(problem, "free-list", free_list)


def _pool(problem: Problem) -> Plan:
    from solvers.heuristics.pool import pool

    return plainly(problem, "pool", pool)


def _pool_with(setting: str) -> Callable[[Problem], Plan]:
    try:
        threshold = float(setting)
    except ValueError:
        threshold = -1.0
    if not 0 <= threshold < 1:
        raise BadInput(
            f"pool:{setting} is no reuse threshold", hint="a share of 0 to below 1, as in pool:0.75"
        )

    def pack(problem: Problem) -> Plan:
        from solvers.heuristics.pool import pool

        return plainly(problem, "pool", lambda part: pool(part, threshold))

    return pack


def _buckets(problem: Problem) -> Plan:
    from solvers.heuristics.buckets import buckets

    return plainly(problem, "buckets", buckets)


def _best_fit(problem: Problem) -> Plan:
    from solvers.heuristics.best_fit import greedy_best_fit

    return plainly(problem, "greedy-best-fit", greedy_best_fit)


def _conflict_first(problem: Problem) -> Plan:
    from solvers.heuristics.conflict_first import conflict_first

    return plainly(problem, "conflict-first", conflict_first)


def _linear(problem: Problem) -> Plan:
    from solvers.heuristics.linear import linear

    return plainly(problem, "linear", linear)


def _hill_climb(problem: Problem, limits: Limits, report: Report | None) -> Outcome:
    from solvers.heuristics.hill_climb import hill_climb

    return climbing(problem, "hill-climb", hill_climb, limits, report)


def _state_search(problem: Problem, limits: Limits, report: Report | None) -> Outcome:
    from solvers.tiers.packer import state_search

    return climbing(problem, "state-search", state_search, limits, report)


def _ordered(name: str) -> Callable[[Problem], Plan]:
    def pack(problem: Problem) -> Plan:
        from solvers.core.first_fit import ORDERS, first_fit

        def lowest(part: Problem) -> Plan:
            return first_fit(part, ORDERS[name])

        refused: BadInput | MemoryOverflow
        try:
            return plainly(problem, name, lowest)
        except MemoryOverflow as overflow:
            refused = overflow
        except BadInput:
            refused = BadInput(
                f"packer {name!r} finds no plan that keeps all constraints",
                hint="use --packer exact, which finds one if there is one",
            )
        from solvers.core.constrained_fit import in_order

        plan = in_order(problem, ORDERS[name])
        if plan is None:
            raise refused
        return plan

    return pack


def _some(problem: Problem) -> Plan:
    from solvers.core.start import some_plan

    return some_plan(problem)


def _exact(problem: Problem, limits: Limits, report: Report | None) -> Outcome:
    from solvers.exact.portfolio import exact

    return exact(problem, limits, report)


def _search(problem: Problem, limits: Limits, report: Report | None) -> Outcome:
    from solvers.core.preprocess import validate
    from solvers.search import complete as search

    validate(problem)
    if problem.capacity is None:
        return search.minimise(problem, limits, report)
    return search.fit(problem, problem.capacity, limits, report)


def _cp_sat(problem: Problem, limits: Limits, report: Report | None) -> Outcome:
    from solvers.core.preprocess import validate
    from solvers.exact import cp_sat

    validate(problem)
    if problem.capacity is None:
        return cp_sat.minimise(problem, limits, report)
    return cp_sat.fit(problem, problem.capacity, limits, report)
