"""One packing problem through a packer: followed while it works, and every claim checked afterwards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from chipmodel.answers.packing import PackingAnswer
from chipmodel.errors import BadInput
from chipmodel.model.certificate import Certificate, Searched, as_record
from chipmodel.model.plan import PackingProgress, PackingTable, Plan, Problem, Solved
from chipmodel.terminal.progress import Say, stage
from chipmodel.verify.certificate import verify_certificate
from chipmodel.verify.fast_offsets import check_fast
from solvers.core.outcome import Limits
from solvers.registry import solve

SECONDS_PER_CHECK = 1.5e-5
"""Seconds that checking and writing an answer take for each part of a lifetime (measured on 62,185)."""


class WrongClaim(Exception):
    """A packer claimed what does not hold: a fault of chipmodel, never of the user."""


def checked_answer(table: PackingTable, source: str, packer: str, limits: Limits) -> PackingAnswer:
    """Pack ``table``'s problem, showing progress on the terminal, and check every claim of the packer.

    Raises BadInput for an unknown packer and for one that cannot keep the problem's constraints, WrongClaim
    for an answer that does not hold.
    """
    with stage("packing") as say:
        checking = SECONDS_PER_CHECK * table.problem.parts
        earlier = replace(limits, deadline=limits.deadline.before(checking))
        solved, trajectory = _solved(table.problem, packer, earlier, say)
        say("checking the answer")
        answer = PackingAnswer(
            source=Path(source).name or source,
            problem=table.problem,
            packer=solved.planner,
            status=solved.status,
            plan=_checked_plan(table.problem, solved, packer),
            lower_bound=solved.lower_bound,
            seconds=solved.seconds,
            proof=solved.proof,
            explanation=solved.explanation,
            certificate=None if solved.certificate is None else as_record(solved.certificate),
            verified=_certificate_holds(table.problem, solved),
            trajectory=trajectory,
            notes=table.notes,
            nodes=solved.nodes,
        )
        return _consistent(_with_hints(answer, table), table)


def _solved(
    problem: Problem, packer: str, limits: Limits, say: Say
) -> tuple[Solved, tuple[PackingProgress, ...]]:
    """The packer's result, and its progress reports without repetitions."""
    trajectory: list[PackingProgress] = []

    def report(progress: PackingProgress) -> None:
        say(progress_words(progress))
        if not trajectory or replace(trajectory[-1], seconds=progress.seconds) != progress:
            trajectory.append(progress)

    return solve(problem, packer, limits, report), tuple(trajectory)


def progress_words(progress: PackingProgress) -> str:
    """``best 1,050,624 B  bound 1,048,576 B  gap 0.2%  searching``."""
    peak, bound = progress.peak, progress.lower_bound
    parts = ["no plan yet" if peak is None else f"best {peak:,} B"]
    parts += [f"bound {bound:,} B"] if bound else []
    parts += [f"gap {(peak - bound) / bound:.2%}"] if bound and peak is not None else []
    return "  ".join(filter(None, [*parts, progress.stage]))


def _checked_plan(problem: Problem, solved: Solved, packer: str) -> Plan | None:
    """The plan, checked without the capacity, which ``PackingAnswer.fits`` is for; None where there is none.
    The plan of a packer that found none that fits may be wrong, and is dropped."""
    if problem.buffers and not solved.plan.offsets:
        return None
    faults = _faults(problem, solved.plan)
    if not faults:
        return solved.plan
    if problem.plain:
        raise WrongClaim(f"the plan of packer {packer!r} is wrong: {faults[0]}")
    if solved.status in ("infeasible", "unknown"):
        return None
    what = f"packer {packer!r} cannot keep all constraints: {faults[0]}"
    raise BadInput(what, hint="use --packer exact, which keeps them all")


def _faults(problem: Problem, plan: Plan) -> tuple[str, ...]:
    """What is wrong with the plan, its peak aside."""
    return check_fast(replace(problem, capacity=None), plan)


def _certificate_holds(problem: Problem, solved: Solved) -> bool | None:
    """Whether a verifier that shares no code with the packers accepts the certificate; None where there is
    none, or where it is only a search that would have to be repeated."""
    certificate: Certificate | None = solved.certificate
    if certificate is None or isinstance(certificate, Searched):
        return None
    if certificate.bytes is not None and certificate.bytes < solved.lower_bound:
        return False
    faults = verify_certificate(problem, certificate)
    if faults and not faults[0].endswith("not verified"):
        raise WrongClaim(f"the certificate of packer {solved.planner!r} is wrong: {faults[0]}")
    return not faults


def _with_hints(answer: PackingAnswer, table: PackingTable) -> PackingAnswer:
    """The answer, or the plan that the file hints at where that one is better."""
    if not table.hints:
        return answer
    if len(table.hints) < len(answer.problem.buffers):
        return _noted(answer, "not all rows have a hint, so none is used")
    plan = Plan(dict(table.hints))
    if faults := _faults(answer.problem, plan):
        return _noted(answer, f"the hints make no plan: {faults[0]}")
    hinted = replace(answer, plan=plan)
    if not hinted.fits or (answer.fits and (answer.peak or 0) <= (hinted.peak or 0)):
        return answer
    if answer.status in ("infeasible", "optimal") or (hinted.peak or 0) < answer.lower_bound:
        raise WrongClaim(f"packer {answer.packer!r} excludes the hinted plan of {hinted.peak} bytes")
    optimal = hinted.peak == answer.lower_bound
    hinted = replace(hinted, status="optimal" if optimal else "feasible", proof="")
    return _noted(hinted, "the plan is the one that the file hints at")


def _noted(answer: PackingAnswer, note: str) -> PackingAnswer:
    return replace(answer, notes=(*answer.notes, note))


def _consistent(answer: PackingAnswer, table: PackingTable) -> PackingAnswer:
    """The answer with the known optimum, if any. Raises WrongClaim where parts of it contradict it."""
    if wrong := _contradiction(answer) or _disproven(answer, table.known_optimum):
        raise WrongClaim(f"packer {answer.packer!r} claims {wrong}")
    return replace(answer, known_optimum_bytes=table.known_optimum)


def _contradiction(answer: PackingAnswer) -> str:
    if answer.peak is not None and answer.peak < answer.lower_bound and answer.status != "infeasible":
        return f"a peak of {answer.peak} below the bound {answer.lower_bound}"
    if answer.status in ("optimal", "feasible") and not answer.fits:
        return f"{answer.status}, with no plan that fits"
    if answer.status == "infeasible" and answer.fits:
        return "infeasible, with a plan that fits"
    return ""


def _disproven(answer: PackingAnswer, known: int | None) -> str:
    if known is None:
        return ""
    capacity = answer.problem.capacity
    if answer.lower_bound > known and answer.status != "infeasible":
        return f"a bound of {answer.lower_bound}, where {known} is the optimum by construction"
    if answer.status == "optimal" and answer.lower_bound == answer.peak != known:
        return f"an optimum of {answer.peak}, where it is {known} by construction"
    if answer.status == "infeasible" and (capacity is None or capacity >= known):
        return f"infeasible, where a plan of {known} bytes is known"
    return ""
