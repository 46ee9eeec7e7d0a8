"""The bound of a result over the listed ways to run its ops, where it is higher than that of any plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from chipmodel.answers.result import Result
from chipmodel.bounds.columns import ListedInstance, listed_bound, listed_instance
from chipmodel.bounds.fluid import tensors_along
from chipmodel.errors import TimeIsOver
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Program
from chipmodel.model.time_bound import TimeBound, has_turns
from chipmodel.rewrites.steady_state import inferences_of, unrolled
from dma.columns.plan_ways import PlanWays, plan_ways
from solvers.columns.kernel import Rates
from solvers.columns.path import PathProof, prove
from solvers.core.deadline import NO_DEADLINE, Deadline

PART = "a bound over the listed ways"
ENOUGH = 1.01
"""How many times the bound for any plan a plan may take without a higher bound (assumed)."""


def with_listed_bound(result: Result, deadline: Deadline = NO_DEADLINE) -> Result:
    """Return ``result`` with the higher bound of the listed plans, its own plan among them, if there is one:
    on one core, with the compiled kernel, and in time."""
    try:
        bound = higher_bound(result, result.bound, result.trace.path, result.trace.cycles, deadline)
    except TimeIsOver:
        deadline.ended(PART)
        return result
    return replace(result, bound=bound)


def higher_bound(
    result: Result,
    bound: TimeBound,
    path: Mapping[str, str],
    cycles: int,
    deadline: Deadline = NO_DEADLINE,
) -> TimeBound:
    """Return the bound along ``path`` over the listed ways, if it is higher than the one of any plan, and not
    above the ``cycles`` of the result's own: its plan runs ops twice, or in some way that is not listed."""
    if result.cores or cycles <= ENOUGH * bound.of_any_plan:
        return bound
    listed = listed_bound(*_asked(result, bound, path), deadline, cycles)
    if listed is None or not bound.of_any_plan < listed.cycles <= cycles:
        return bound
    return replace(listed, any_plan=bound.of_any_plan)


_Asked = tuple[Program, Chip, Mapping[str, str], bool, PlanWays, int]


def _asked(result: Result, bound: TimeBound, path: Mapping[str, str]) -> _Asked:
    """What bounds over the listed ways take."""
    made = inferences_of(result.program, path)
    program, own = unrolled(result.program, made), plan_ways(result.schedule)
    return program, result.chip, path, has_turns(bound.space), own, made or 1


class ListedProof(NamedTuple):
    """A proof over listed ways, with the names of its runs and of the tensors of its sets."""

    proof: PathProof
    rates: Rates
    runs: list[str]
    tracked: list[list[str]]


def listed_proof(result: Result, deadline: Deadline = NO_DEADLINE) -> ListedProof | None:
    """Return the proof of the bound of ``result`` that is over listed ways; None for one of any plan. Raises
    TimeIsOver."""
    if result.cores or not result.bound.ways:
        return None
    asked = _asked(result, result.bound, result.trace.path)
    made = listed_instance(*asked, deadline)
    return None if made is None else proof_of(asked[0], made, deadline)


def proof_of(program: Program, made: ListedInstance, deadline: Deadline = NO_DEADLINE) -> ListedProof:
    """Return the proof of what ``made`` of ``program`` takes at least. Raises TimeIsOver."""
    proof = prove(made.problem, made.columns, deadline=deadline)
    names = [each.name for each in tensors_along(program, made.ops)]
    tracked = [[names[number] for number in border] for border in proof.tracked]
    return ListedProof(proof, made.columns.rates, [op.name for op in made.ops], tracked)
