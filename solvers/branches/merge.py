"""Merge the arms of a branch: six ways, each with any packer.

Source: ``unified_block`` and ``unified_results`` are two readings of Algorithm 2 of Wang et al. 2025,
``straight_line`` and ``separate_blocks`` two of what it is compared with (docs/references.md); the others are
this project's.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from time import perf_counter

from chipmodel.errors import BadInput, PluginFault
from chipmodel.geometry.interval import hull
from chipmodel.model.nesting import Section
from chipmodel.model.plan import Plan, Problem, Solved
from solvers.branches.blocks import has_blocks, in_blocks
from solvers.core.anytime import status_of
from solvers.core.bounds import largest_live_set
from solvers.core.outcome import Limits
from solvers.registry import solve


def separate_blocks(problem: Problem, nesting: Section, packer: str, limits: Limits | None) -> Solved:
    """One block of memory for each arm."""
    return _in_blocks(problem, nesting, packer, limits, False)


def unified_block(problem: Problem, nesting: Section, packer: str, limits: Limits | None) -> Solved:
    """One block for all arms of a fork, as large as the largest arm."""
    return _in_blocks(problem, nesting, packer, limits, True)


def unified_results(problem: Problem, nesting: Section, packer: str, limits: Limits | None) -> Solved:
    """One block for all arms of a fork, with what they leave for after it."""
    return _in_blocks(problem, nesting, packer, limits, True, True)


def straight_line(problem: Problem, nesting: Section, packer: str, limits: Limits | None) -> Solved:
    """Pack the arms as straight code, one after another: a buffer lives from its first position to its last,
    so what is read after the ``if`` lives through all later arms."""
    began = perf_counter()
    whole = tuple(replace(b, live=(hull(b.live),) if b.live else ()) for b in problem.buffers)
    straight = solve(replace(problem, buffers=whole), packer, limits)
    plan = straight.plan
    if len(plan.offsets) < len(whole):
        what = "the packer has no plan for the arms as straight code"
        raise BadInput(what, hint="use --merge conflict or --merge exact")
    return replace(_solved(problem, plan, packer, began), merger_bound=straight.lower_bound)


def _in_blocks(
    problem: Problem,
    nesting: Section,
    packer: str,
    limits: Limits | None,
    unified: bool,
    results: bool = False,
) -> Solved:
    began, proven_all = perf_counter(), True

    def pack(part: Problem) -> Plan:
        nonlocal proven_all
        solved = solve(part, packer, limits)
        proven_all &= solved.status == "optimal"
        return solved.plan

    solved = _solved(problem, in_blocks(problem, nesting, pack, unified, results), packer, began)
    return replace(solved, merger_bound=solved.peak if proven_all else None)


def _solved(problem: Problem, plan: Plan, packer: str, began: float) -> Solved:
    """Return ``plan`` with the bound that the true conflicts give."""
    bound = largest_live_set(problem)
    peak = plan.peak(problem)
    status = status_of(problem, peak, bound.bytes)
    proof = "a live set" if status in ("optimal", "infeasible") else ""
    return Solved(plan, status, bound.bytes, peak, perf_counter() - began, packer, proof, bound)


def by_conflicts(problem: Problem, nesting: Section, packer: str, limits: Limits | None) -> Solved:
    """Return the lower of two plans: the packer's on all buffers at once, and that with unified blocks, which
    keeps every conflict too. So it is never worse than ``unified-block``, whatever the packer.

    ``auto`` aims at the capacity: where its plan fits, no lower one is sought.
    """
    direct = solve(problem, packer, limits)
    fits = problem.capacity is not None and bool(direct.plan.offsets) and direct.peak <= problem.capacity
    if direct.status == "optimal" or (fits and packer == "auto") or not has_blocks(problem, nesting):
        return direct
    try:
        blocks = unified_block(problem, nesting, packer, limits)
    except PluginFault:
        raise
    except BadInput:
        return direct  # Blocks support fewer constraints than packers.
    if not direct.plan.offsets or blocks.peak < direct.peak:
        return _with_plan(problem, direct, blocks.plan)
    return direct


def proven(problem: Problem, nesting: Section, packer: str, limits: Limits | None) -> Solved:
    """Return the smallest peak by the exact portfolio, whatever the ``packer``; where the limits end it
    first, large-first's plan with unified blocks if that is lower."""
    solved = solve(replace(problem, capacity=None), "exact", limits)
    if solved.status != "optimal" and has_blocks(problem, nesting):
        with suppress(BadInput):
            blocks = unified_block(problem, nesting, "large-first", limits)
            if not solved.plan.offsets or blocks.peak < solved.peak:
                solved = _with_plan(problem, solved, blocks.plan)
    return _with_plan(problem, solved, solved.plan) if solved.plan.offsets else solved


def _with_plan(problem: Problem, solved: Solved, plan: Plan) -> Solved:
    """``solved`` with another plan of the same problem, for which its bound holds too."""
    peak = plan.peak(problem)
    status = solved.status if solved.status == "infeasible" else status_of(problem, peak, solved.lower_bound)
    return replace(solved, plan=plan, peak=peak, status=status, merger_bound=None)
