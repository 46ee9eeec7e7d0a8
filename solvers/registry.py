"""The table of packers, and the one way to run them: ``solve``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from time import perf_counter

from chipmodel.entry_points import plugin_rows
from chipmodel.errors import BadInput, TimeIsOver
from chipmodel.geometry.interval import Interval
from chipmodel.model.certificate import Certificate, Searched, excludes, rests_on
from chipmodel.model.plan import Plan, Problem, Solved, Status
from chipmodel.model.planner_table import imported, no_setting, row_or_plugin, whole_setting
from solvers.core.anytime import status_of
from solvers.core.bounds import largest_live_set
from solvers.core.bounds_certified import quick_bound
from solvers.core.deadline import Deadline
from solvers.core.dispatch import pack_plain, search_plain
from solvers.core.outcome import Limits, MemoryOverflow, Outcome, Report
from solvers.planner import Parse, Planner, by_name, read_planners
from solvers.plugin import packer_of, plugin_plan
from solvers.tiers.settings import tier_settings


def _reuse_threshold(packer: str, text: str) -> Mapping[str, object]:
    try:
        threshold = float(text)
    except ValueError:
        threshold = -1.0
    if not 0 <= threshold < 1:
        raise BadInput(
            f"{packer}:{text} is not a reuse threshold", hint=f"a share of 0 to below 1, as in {packer}:0.75"
        )
    return {"reuse_threshold": threshold}


def _look_ahead(packer: str, text: str) -> Mapping[str, object]:
    what, hint = "number of buffers to look ahead", f"0 or more, as in {packer}:8"
    return {"context": whole_setting(packer, text, Interval(0, 10**9), what, hint)}


def _look_ahead_or_core(packer: str, text: str) -> Mapping[str, object]:
    return {"in_core": True} if text == "core" else _look_ahead(packer, text)


SETTINGS: Mapping[str, Parse] = {
    "pool": _reuse_threshold,
    "context": _look_ahead_or_core,
    "context-pool": _look_ahead,
    "state-search": tier_settings,
}
"""What reads the text that a user may write after a packer's name and a colon."""
PACKERS = tuple(replace(row, parse=SETTINGS.get(row.name)) for row in read_planners() if row.kind != "merger")
FALLBACK = "solvers.core.start:start_plan"
"""Gives the plan that is returned where a search has none."""


def packers() -> Mapping[str, Planner]:
    """Return the packers by name, in the order in which they are listed; plug-ins come last."""
    built_in = by_name(PACKERS)
    return {**built_in, **plugin_rows("packer", built_in, packer_of)}


def packer_named(text: str) -> Planner:
    """Return the packer given as ``NAME`` or ``NAME:SETTING``. Raises BadInput where there is none."""
    packer, setting = row_or_plugin("packer", text, by_name(PACKERS), packer_of)
    if setting is None:
        return packer
    if packer.parse is None:
        raise no_setting("packer", packer.name, setting)
    return replace(packer, name=text, options=packer.parse(packer.name, setting))


def solve(
    problem: Problem, packer: str, limits: Limits | None = None, report: Report | None = None
) -> Solved:
    """Plan ``problem`` with the packer of that name (see ``packer_named``).

    A heuristic's ``status`` is infeasible where the largest live set exceeds the problem's capacity, optimal
    where the peak equals the bound, else feasible; if the peak exceeds the capacity it is unknown, as another
    plan might fit; one whose time ends puts what is left above the rest. A search keeps ``limits`` (its own
    if None), states what it proves, and calls ``report`` on the way. Where it has no plan, a heuristic's plan
    that keeps every constraint but the capacity is returned, or one without offsets.

    A plug-in that searches is judged as a heuristic: nothing that it might claim is believed.

    Raises BadInput for an unknown name, and where the packer does not support the problem's constraints;
    PluginFault where a plug-in fails or its plan is wrong.
    """
    chosen = packer_named(packer)
    began, limits = perf_counter(), limits or chosen.limits
    if chosen.searches and chosen.plugin is None:
        try:
            outcome = _search(chosen, problem, limits, report)
        except TimeIsOver:
            outcome = Outcome("unknown", None, 0)
        return _searched(problem, outcome, began, packer, limits.until(began))
    overflow = ""
    try:
        plan = _pack(chosen, problem, limits)
    except MemoryOverflow as reason:
        plan, overflow = Plan({}), str(reason)
    except TimeIsOver:
        plan = imported(FALLBACK)(problem, limits.until(began).to_place(problem.parts))
        if not plan.offsets:
            raise
    seconds = perf_counter() - began
    peak, certificate = 0 if overflow else plan.peak(problem), quick_bound(problem)
    bound = certificate.bytes or 0
    status: Status = "infeasible" if excludes(certificate, problem.capacity) else "unknown"
    if not overflow:
        status = status_of(problem, peak, bound)
    proof = rests_on(certificate) if status in ("optimal", "infeasible") else overflow
    return Solved(plan, status, bound, peak, seconds, packer, proof, certificate)


def _pack(packer: Planner, problem: Problem, limits: Limits) -> Plan:
    if packer.plugin:
        return plugin_plan(packer.plugin, problem, limits)
    until = {} if packer.instant else {"deadline": limits.until(perf_counter()).to_place(problem.parts)}
    function: Callable[[Problem], Plan] = partial(packer.load(), **until)
    if packer.keeps_constraints:
        return function(problem)
    return pack_plain(problem, packer.name.partition(":")[0], function)


def _search(packer: Planner, problem: Problem, limits: Limits, report: Report | None) -> Outcome:
    function: Callable[[Problem, Limits, Report | None], Outcome] = packer.load()
    if packer.keeps_constraints:
        return function(problem, limits, report)
    return search_plain(problem, packer.name.partition(":")[0], function, limits, report)


def _searched(problem: Problem, outcome: Outcome, began: float, packer: str, deadline: Deadline) -> Solved:
    late = deadline.to_place(problem.parts)
    plan: Plan = imported(FALLBACK)(problem, late) if outcome.plan is None else outcome.plan
    peak = plan.peak(problem) if plan.offsets else 0
    certificate: Certificate | None = outcome.certificate
    bound, status = outcome.lower_bound, outcome.status
    if outcome.plan is None and status == "unknown" and plan.offsets:
        status = status_of(problem, peak, bound)
    if certificate is None and status == "feasible":
        certificate = largest_live_set(problem)
        if certificate.bytes < bound:
            certificate = Searched(bound, packer, outcome.nodes, "offsets below the bound")
        bound = certificate.bytes or 0
        status = "optimal" if peak == bound else status
    return Solved(
        plan=plan,
        status=status,
        lower_bound=bound,
        peak=peak,
        seconds=perf_counter() - began,
        planner=outcome.planner or packer,
        proof=outcome.proof,
        certificate=certificate,
        explanation=outcome.explanation,
        nodes=outcome.nodes,
        trajectory=tuple((p.seconds, p.peak, p.lower_bound) for p in outcome.trajectory),
    )
