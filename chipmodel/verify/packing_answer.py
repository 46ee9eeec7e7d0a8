"""What ``chipmodel pack --json`` wrote against the problem; shares nothing with the packers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from chipmodel.errors import BadInput, Place
from chipmodel.files.suggestions import shown
from chipmodel.model.certificate import Certificate, Searched, excludes, from_record, rests_on
from chipmodel.model.plan import Memory, Plan, Problem
from chipmodel.verify.certificate import verify_certificate
from chipmodel.verify.offsets_sweep import check_fast

STATUSES = ("optimal", "feasible", "infeasible", "unknown")


@dataclass(frozen=True, slots=True)
class Claim:
    """What an answer says."""

    status: str
    peak: int | None
    lower_bound: int
    capacity: int | None
    memories: tuple[Memory, ...]
    offsets: Mapping[str, int] | None
    certificate: Certificate | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """``faults`` in words, none for a correct answer, and what its bound rests on."""

    faults: tuple[str, ...]
    ground: str


def read_claim(text: str, file: str) -> Claim:
    """The claim in a JSON document. Raises BadInput for what is not one."""
    hint = "give the file that chipmodel pack --json wrote"
    try:
        values: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise BadInput("this is no JSON document", where=Place(file), hint=hint) from None
    try:
        return _claim(cast("dict[str, Any]", values))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"this is no answer of chipmodel pack: {type(error).__name__} at {shown(str(error))}"
        raise BadInput(what, where=Place(file), hint=hint) from None


def _claim(values: dict[str, Any]) -> Claim:
    record = values["certificate"]
    offsets = values["offsets"]
    if values["status"] not in STATUSES:
        raise ValueError(values["status"])
    return Claim(
        status=values["status"],
        peak=_whole(values["peak_bytes"]),
        lower_bound=_whole(values["lower_bound_bytes"]) or 0,
        capacity=_whole(values["capacity_bytes"]),
        memories=tuple(Memory(m["name"], m["start"], m["stop"]) for m in values["memories"]),
        offsets=None if offsets is None else {str(k): _whole(v) or 0 for k, v in offsets.items()},
        certificate=None if record is None else from_record(record),
    )


def _whole(value: object) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise TypeError(str(value))


def judge(problem: Problem, claim: Claim) -> Verdict:
    """Whether ``claim`` holds for ``problem``, which is read with the claim's capacity and memories."""
    faults = list(_plan_faults(problem, claim))
    fits = claim.peak is not None and (claim.capacity is None or claim.peak <= claim.capacity)
    if claim.status in ("optimal", "feasible") and not fits:
        faults.append(f"it says {claim.status}, and has no plan that fits")
    if claim.status == "optimal" and claim.peak != claim.lower_bound and claim.capacity is None:
        faults.append(f"it says optimal, with a peak of {claim.peak} and a bound of {claim.lower_bound}")
    ground, wrong = _bound(problem, claim)
    return Verdict((*faults, *wrong), ground)


def _plan_faults(problem: Problem, claim: Claim) -> tuple[str, ...]:
    if claim.offsets is None:
        return () if claim.peak is None else (f"it says a peak of {claim.peak}, and has no offsets",)
    plan = Plan(claim.offsets)
    known = {b.name for b in problem.buffers}
    strange = [name for name in claim.offsets if name not in known]
    if strange:
        return (f"the problem has no buffer {shown(strange[0])}",)
    faults = check_fast(replace(problem, capacity=None), plan)
    if faults:
        return faults
    peak = plan.peak(problem)
    return () if peak == claim.peak else (f"its plan has a peak of {peak}, not of {claim.peak}",)


def _bound(problem: Problem, claim: Claim) -> tuple[str, tuple[str, ...]]:
    """What the bound rests on, and what is wrong with that."""
    certificate = claim.certificate
    needed = claim.status == "infeasible" and not excludes(certificate, claim.capacity)
    if certificate is None:
        missing = ("it says infeasible, and has no certificate",)
        return f"the bound of {claim.lower_bound:,} B has no certificate", missing if needed else ()
    if needed:
        return "", (f"its certificate of {certificate.bytes} bytes does not exclude a plan",)
    if isinstance(certificate, Searched):
        return f"the bound of {claim.lower_bound:,} B is not verified: {rests_on(certificate)}", ()
    faults = verify_certificate(problem, certificate)
    if certificate.bytes is not None and certificate.bytes < claim.lower_bound and not faults:
        proven = f"the certificate proves {certificate.bytes:,} B"
        return f"{proven}; the bound of {claim.lower_bound:,} B rests on the packer's word", ()
    if faults and faults[0].endswith("not verified"):
        return f"the bound of {claim.lower_bound:,} B is not verified: {faults[0]}", ()
    if certificate.bytes is None:
        return f"verified that there is no plan: {rests_on(certificate)}", faults
    return f"the bound of {claim.lower_bound:,} B is verified: {rests_on(certificate)}", faults
