"""Verify the answer that ``chipmodel pack --json`` wrote; shares nothing with the packers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from chipmodel.errors import BadInput, Place
from chipmodel.files.json_file import read_json
from chipmodel.files.suggestions import shown
from chipmodel.model.certificate import Certificate, Searched, excludes, from_record, rests_on
from chipmodel.model.plan import Memory, Plan, Problem
from chipmodel.verify.certificate import verify_certificate
from chipmodel.verify.offsets_sweep import check_fast

STATUSES = ("optimal", "feasible", "infeasible", "unknown")


@dataclass(frozen=True, slots=True)
class Claim:
    """A packer's answer to a problem; sizes in bytes."""

    status: str
    peak: int | None
    lower_bound: int
    capacity: int | None
    memories: tuple[Memory, ...]
    offsets: Mapping[str, int] | None
    certificate: Certificate | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The faults of an answer, none for a correct one, and in ``ground`` what its lower bound rests on."""

    faults: tuple[str, ...]
    ground: str


def read_claim(text: str, file: str) -> Claim:
    """Read a JSON document. Raises BadInput where it is not an answer of ``chipmodel pack``."""
    hint = "give the file that chipmodel pack --json wrote"
    document = read_json(text, file, hint)
    try:
        return _claim(cast("dict[str, Any]", document.value))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"this is not an answer of chipmodel pack: {type(error).__name__} at {shown(str(error))}"
        raise BadInput(what, where=Place(file), hint=hint) from None


def _claim(values: dict[str, Any]) -> Claim:
    record = values["certificate"]
    offsets = values["offsets"]
    if values["status"] not in STATUSES:
        raise ValueError(values["status"])
    return Claim(
        status=values["status"],
        peak=_int_or_none(values["peak_bytes"]),
        lower_bound=_int_or_none(values["lower_bound_bytes"]) or 0,
        capacity=_int_or_none(values["capacity_bytes"]),
        memories=tuple(Memory(m["name"], m["start"], m["stop"]) for m in values["memories"]),
        offsets=None if offsets is None else {str(k): _int_or_none(v) or 0 for k, v in offsets.items()},
        certificate=None if record is None else from_record(record),
    )


def _int_or_none(value: object) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise TypeError(str(value))


def judge(problem: Problem, claim: Claim) -> Verdict:
    """Verify ``claim`` for ``problem``, which has the claim's capacity and memories."""
    faults = list(_plan_faults(problem, claim))
    fits = claim.peak is not None and (claim.capacity is None or claim.peak <= claim.capacity)
    if claim.status in ("optimal", "feasible") and not fits:
        faults.append(f"its status is {claim.status}, but it has no plan that fits")
    if claim.status == "optimal" and claim.peak != claim.lower_bound and claim.capacity is None:
        bounds = f"a peak of {claim.peak} and a lower bound of {claim.lower_bound} bytes"
        faults.append(f"its status is optimal, but it has {bounds}")
    ground, bound_faults = _bound(problem, claim)
    return Verdict((*faults, *bound_faults), ground)


def _plan_faults(problem: Problem, claim: Claim) -> tuple[str, ...]:
    if claim.offsets is None:
        return () if claim.peak is None else (f"it states a peak of {claim.peak}, but has no offsets",)
    plan = Plan(claim.offsets)
    known = {b.name for b in problem.buffers}
    unknown = [name for name in claim.offsets if name not in known]
    if unknown:
        return (f"the problem has no buffer {shown(unknown[0])}",)
    faults = check_fast(replace(problem, capacity=None), plan)
    if faults:
        return faults
    peak = plan.peak(problem)
    return () if peak == claim.peak else (f"its plan has a peak of {peak} bytes, not {claim.peak}",)


def _bound(problem: Problem, claim: Claim) -> tuple[str, tuple[str, ...]]:
    """What the bound rests on, and the faults of that."""
    certificate = claim.certificate
    needed = claim.status == "infeasible" and not excludes(certificate, claim.capacity)
    if certificate is None:
        missing = ("its status is infeasible, but it has no certificate",)
        return f"the bound of {claim.lower_bound:,} B has no certificate", missing if needed else ()
    if needed:
        return "", (f"its certificate of {certificate.bytes} bytes does not exclude a plan that fits",)
    if isinstance(certificate, Searched):
        return f"the bound of {claim.lower_bound:,} B is not verified: {rests_on(certificate)}", ()
    faults = verify_certificate(problem, certificate)
    if certificate.bytes is not None and certificate.bytes < claim.lower_bound and not faults:
        proven = f"the certificate proves {certificate.bytes:,} B"
        return f"{proven}; the bound of {claim.lower_bound:,} B is the packer's statement, not verified", ()
    if faults and faults[0].endswith("not verified"):
        return f"the bound of {claim.lower_bound:,} B is not verified: {faults[0]}", ()
    if certificate.bytes is None:
        return f"verified that there is no plan: {rests_on(certificate)}", faults
    return f"the bound of {claim.lower_bound:,} B is verified: {rests_on(certificate)}", faults
