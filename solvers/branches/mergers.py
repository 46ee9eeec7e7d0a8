"""How the arms of a branch share memory: the mergers by name, each with any packer.

A merger gets the problem with the true conflicts (see ``chipmodel.passes.liveness``) and the nesting of arms
and loops; whatever it decides, the offsets that it returns keep every true conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter

from chipmodel.errors import BadInput
from chipmodel.files.suggestions import suggest
from chipmodel.model.nesting import Section
from chipmodel.model.plan import Plan, Problem, Solved
from solvers.branches.blocks import has_blocks, in_blocks
from solvers.core.bounds import largest_live_set
from solvers.core.outcome import Limits
from solvers.registry import judge, packer_named, solve

DEFAULT_MERGE = "conflict"
Merge = Callable[[Problem, Section, str, Limits | None], Solved]


@dataclass(frozen=True, slots=True)
class Merger:
    """A way to merge arms: its name, what it does in a line, who published it, and the function."""

    name: str
    title: str
    source: str
    merge: Merge


def mergers() -> Mapping[str, Merger]:
    """The mergers by name, in the order in which they are listed."""
    paper = "S2 (control-flow paper), Algorithm 2"
    return {
        merger.name: merger
        for merger in (
            Merger("none", "every arm a block of its own", f"{paper}, before it", _none),
            Merger("unified-block", "one block for all arms, as large as the largest", paper, _unified),
            Merger("conflict", "buffer by buffer; never worse than unified-block", "chipmodel", _conflict),
            Merger("exact", "the smallest peak with its proof", "chipmodel", _exact),
        )
    }


def merger_named(name: str) -> Merger:
    """Raises BadInput for an unknown ``name``."""
    known = mergers()
    if name not in known:
        hint = suggest(name, known, "mergers are") or f"one of {', '.join(known)}"
        raise BadInput(f"unknown merger {name!r}", hint=hint)
    return known[name]


def merge_arms(
    problem: Problem, nesting: Section, packer: str, merge: str, limits: Limits | None = None
) -> Solved:
    """Plan ``problem``, whose positions lie as ``nesting`` says, with a packer and a merger by name.

    ``limits`` are for every search of the packer, and for ``exact``. Raises BadInput for unknown names,
    for a packer that cannot keep the problem's constraints, and where a block cannot.
    """
    return merger_named(merge).merge(problem, nesting, packer, limits)


def _none(problem: Problem, nesting: Section, packer: str, limits: Limits | None) -> Solved:
    return _in_blocks(problem, nesting, packer, limits, False)


def _unified(problem: Problem, nesting: Section, packer: str, limits: Limits | None) -> Solved:
    return _in_blocks(problem, nesting, packer, limits, True)


def _in_blocks(
    problem: Problem, nesting: Section, packer: str, limits: Limits | None, unified: bool
) -> Solved:
    began = perf_counter()

    def pack(part: Problem) -> Plan:
        return solve(part, packer, limits).plan

    plan = in_blocks(problem, nesting, pack, unified)
    bound = largest_live_set(problem)
    peak = plan.peak(problem)
    status = judge(problem, peak, bound.bytes)
    proof = "a live set" if status in ("optimal", "infeasible") else ""
    return Solved(plan, status, bound.bytes, peak, perf_counter() - began, packer, proof, bound)


def _conflict(problem: Problem, nesting: Section, packer: str, limits: Limits | None) -> Solved:
    """The lower of two plans: the packer on all buffers at once, and the unified blocks' plan, which
    keeps every conflict too. So it is never worse than ``unified-block``, whatever the packer."""
    direct = solve(problem, packer, limits)
    if direct.status == "optimal" or not has_blocks(problem, nesting):
        return direct
    try:
        blocks = _unified(problem, nesting, packer, limits)
    except BadInput:
        return direct  # Blocks keep fewer constraints than packers do.
    if not direct.plan.offsets or blocks.peak < direct.peak:
        return _instead(problem, direct, blocks.plan)
    return direct


def _exact(problem: Problem, nesting: Section, packer: str, limits: Limits | None) -> Solved:
    """The smallest peak on the true conflicts by the exact portfolio. The packer's ``conflict`` plan counts
    where the search does not come as far within its limits, so it is never worse than that one."""
    from solvers.exact.portfolio import exact

    began = perf_counter()
    start = _conflict(problem, nesting, packer, limits)
    if start.status == "optimal":
        return start
    free = replace(problem, capacity=None)
    outcome = exact(free, limits or packer_named("exact").limits, None, "minimise")
    plan = start.plan if start.plan.offsets or outcome.plan is None else outcome.plan
    if outcome.plan is not None and outcome.plan.peak(problem) < plan.peak(problem):
        plan = outcome.plan
    better = outcome.lower_bound >= start.lower_bound
    known = outcome if better else start
    return Solved(
        plan=plan,
        status=judge(problem, plan.peak(problem), known.lower_bound) if plan.offsets else start.status,
        lower_bound=known.lower_bound,
        peak=plan.peak(problem) if plan.offsets else 0,
        seconds=perf_counter() - began,
        planner=packer,
        proof=known.proof,
        certificate=known.certificate,
        nodes=start.nodes + outcome.nodes,
    )


def _instead(problem: Problem, solved: Solved, plan: Plan) -> Solved:
    """``solved`` with another plan, which its bound holds for as well."""
    peak = plan.peak(problem)
    status = solved.status if solved.status == "infeasible" else judge(problem, peak, solved.lower_bound)
    return replace(solved, plan=plan, peak=peak, status=status)
